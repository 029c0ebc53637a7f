"""A release whose operator is killed after its nth write comes to the same in the end, whatever n is."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import structlog

from stackwright.adapters.helm import Renderer
from stackwright.controllers.release import Wanted, record
from stackwright.controllers.release.history import DESCRIPTION
from stackwright.kube.builtin import Secret
from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.kube.controller import Context
from stackwright.kube.errors import Retry
from stackwright.kube.events import EventRecorder
from stackwright.kube.informers import Informers
from tests.functional.conftest import fresh_namespace
from tests.functional.dying import EVERY_POINT
from tests.functional.handovers import OBJECTS, assert_helms, assert_operators, settled_pods
from tests.functional.mortal import Mortal
from tests.functional.releases import CHART, Hand, ask, hand, pods, revisions, runtime, until, without_extra
from tests.functional.running import running
from tests.functional.watching import PATIENCE

__all__ = ["hand"]

SLACK = 4
# How many writes there are between two deaths.
STRIDE = 1 if EVERY_POINT else 3


@contextlib.asynccontextmanager
async def killed(connection: Connection, place: Hand, after: int) -> AsyncIterator[Mortal]:
    """Run an operator that is killed after some writes."""
    async with Client(connection) as client:
        mortal = Mortal(client, after)
        async with running(runtime(client, place.program, place.namespace)):
            yield mortal


async def survives(mortal: Mortal, client: Client, place: Hand, reason: str) -> bool:
    """Return whether the operator got to the end before it was killed."""
    ended = asyncio.create_task(until(client, place.namespace, reason))
    died = asyncio.create_task(mortal.dead.wait())
    done, pending = await asyncio.wait({ended, died}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    assert done
    return died not in done


@contextlib.asynccontextmanager
async def elsewhere(client: Client, place: Hand, number: int) -> AsyncIterator[Hand]:
    """Give the hand a fresh namespace."""
    namespace = await fresh_namespace(client, f"crash-{number}")
    yield Hand(place.program, place.kubeconfig, place.home, namespace)


async def every(one: Callable[[int], Awaitable[bool]], writes: int) -> None:
    """Try numbers of writes, side by side: fewer than it takes must not be enough to get to the end.

    A write that meets another's is made again, so it may take a few more.
    """
    numbers = [*sorted({*range(0, writes, STRIDE), writes - 1}), writes + SLACK - 1]
    *died, survived = await asyncio.gather(*(one(number) for number in numbers))
    assert not any(died)
    assert survived


async def test_taking_over_survives_a_crash(client: Client, connection: Connection, hand: Hand) -> None:
    async def one(number: int) -> bool:
        async with elsewhere(client, hand, number) as place:
            await place("install", "small", CHART, "--set", "extra=true,greeting=hello")
            before = await settled_pods(client, place.namespace)
            small = await ask(client, place.namespace, owner="operator")
            async with killed(connection, place, number) as mortal:
                survived = await survives(mortal, client, place, "Ready")
            async with running(runtime(client, place.program, place.namespace)):
                await until(client, place.namespace, "Ready")
                await revisions(client, place.namespace, "superseded", "deployed")
            await assert_operators(client, small)
            await without_extra(client, place.namespace)
            assert await place.history() == [(1, "superseded", "Install complete"), (2, "deployed", DESCRIPTION)]
            assert await pods(client, place.namespace) == before
            return survived

    # Each object changes hands and is applied, one is deleted, two records are written; and the status.
    await every(one, 2 * len(OBJECTS) + 1 + 2 + 1)


async def test_giving_back_survives_a_crash(client: Client, connection: Connection, hand: Hand) -> None:
    async def one(number: int) -> bool:
        async with elsewhere(client, hand, number) as place:
            await ask(client, place.namespace)
            async with running(runtime(client, place.program, place.namespace)):
                await until(client, place.namespace, "Ready")
            before = await settled_pods(client, place.namespace)
            await ask(client, place.namespace, owner="helm")
            async with killed(connection, place, number) as mortal:
                survived = await survives(mortal, client, place, "GivenToHelm")
            async with running(runtime(client, place.program, place.namespace)):
                await until(client, place.namespace, "GivenToHelm")
            await assert_helms(client, place.namespace)
            assert await place.history() == [(1, "deployed", DESCRIPTION)]
            assert await pods(client, place.namespace) == before
            await place("upgrade", "small", CHART, "--set", "replicas=2")
            return survived

    # Each object changes hands, the record is left alone; and the status.
    await every(one, len(OBJECTS) + 1 + 1)


async def test_a_record_whose_answer_was_lost_is_not_written_twice(client: Client, hand: Hand) -> None:
    small = await ask(client, hand.namespace)
    rendered = await Renderer(hand.program).render(CHART, "small", hand.namespace, {})
    informers = Informers(client)
    # A cache that never hears of anything is behind for sure.
    informers.of(Secret)
    context = Context(client, informers, EventRecorder(client, "test"), "test", structlog.get_logger())
    for _ in range(2):
        assert await record(Wanted(small, rendered, {}), context) is None
    with pytest.raises(Retry, match="revision 1 of the release was written by another"):
        await record(Wanted(small, rendered, {"replicas": 2}), context)
    assert await hand.history() == [(1, "deployed", DESCRIPTION)]

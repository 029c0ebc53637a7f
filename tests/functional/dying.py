"""Operators that are killed after their nth write: whoever comes after them brings everything to the same end."""

import asyncio
import os
import random
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.kube.controller import Controller
from stackwright.kube.resource import JsonObject
from stackwright.kube.runtime import Runtime
from tests.functional.mortal import Mortal
from tests.functional.normal import credentials, everything
from tests.functional.running import quiet, running

SEED = 15
# Whether they are killed after every write, as in `make everything`; CI tries some.
EVERY_POINT = bool(os.environ.get("STACKWRIGHT_EVERYTHING"))
# More writes than it takes.
NEVER = 1_000_000
# A scene is a whole cloud, and several come up beside each other on one server: a loaded machine takes minutes.
PATIENCE = 240.0


class Scene(Protocol):
    """What is brought up, and what outlives the operators that do it."""

    def place(self, client: Client, name: str) -> AbstractAsyncContextManager[str]:
        """Give a namespace in which everything else is played."""

    async def ask(self, client: Client, namespace: str) -> None:
        """Ask for it, as a user does."""

    async def ready(self, client: Client, namespace: str) -> None:
        """Wait until it is ready, or fail when that does not come within PATIENCE."""

    def controllers(self, client: Client, /, life: int) -> tuple[Controller, ...]:
        """Return the controllers of an operator, which in another life makes up other passwords."""

    async def check(self, client: Client, namespace: str) -> None:
        """See that what is outside of Kubernetes is as what is inside says."""


def chosen(written: Sequence[str], deaths: int) -> list[int]:
    """Return after how many writes to die: before the first write of each kind, and before others by chance."""
    first = {written.index(what) for what in written}
    others = [number for number in range(len(written)) if number not in first]
    more = min(len(others), max(0, deaths - len(first)))
    return sorted(first | set(random.Random(SEED).sample(others, more)))  # noqa: S311  the same in every run


def spread(written: Sequence[str], deaths: int) -> list[int]:
    """Return after how many writes to die: evenly from the first to the last."""
    return sorted({number * len(written) // deaths for number in range(deaths)})


async def killed_after(connection: Connection, scene: Scene, namespace: str, writes: int, client: Client) -> Mortal:
    """Run an operator that dies after some writes, or until it is done."""
    async with Client(connection) as own:
        mortal = Mortal(own, writes)
        async with running(Runtime(own, scene.controllers(own, life=1), namespace=namespace)):
            ended = asyncio.create_task(scene.ready(client, namespace))
            died = asyncio.create_task(mortal.dead.wait())
            await asyncio.wait({ended, died}, return_when=asyncio.FIRST_COMPLETED)
            for task in (ended, died):
                task.cancel()
            outcome, _ = await asyncio.gather(ended, died, return_exceptions=True)
        # One that neither died nor came up in time proves nothing, and is not taken for one that was done.
        if isinstance(outcome, Exception) and not mortal.dead.is_set():
            raise outcome
        return mortal


async def settled(
    client: Client, scene: Scene, namespace: str, expected: dict[str, JsonObject] | None = None
) -> dict[str, JsonObject]:
    """Run an operator that lives until all is ready and as expected, or nothing changes any more."""
    runtime = Runtime(client, scene.controllers(client, life=2), namespace=namespace)
    async with running(runtime):
        await scene.ready(client, namespace)
        await quiet(runtime)
        before: object = None
        async with asyncio.timeout(PATIENCE):
            while (now := await everything(client, namespace)) not in (before, expected):
                before = now
                await asyncio.sleep(0.3)  # What others do at times of their own, controllers of Kubernetes say.
    return now


def differences(found: Any, expected: Any, place: str = "") -> list[str]:
    """Return what differs between two worlds, each with where it is: the worlds themselves fill screens."""
    if isinstance(found, dict) and isinstance(expected, dict):
        names = sorted(found.keys() | expected.keys())
        return [line for name in names for line in differences(found.get(name), expected.get(name), f"{place}/{name}")]
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        pairs = enumerate(zip(found, expected, strict=True))
        return [line for number, pair in pairs for line in differences(*pair, f"{place}[{number}]")]
    return [] if found == expected else [f"{place}: {found} instead of {expected}"]


async def whole(
    client: Client, connection: Connection, scene: Scene, name: str
) -> tuple[Mortal, dict[str, JsonObject]]:
    """Bring it up once without a death; return what was written for it, and what came of that."""
    async with scene.place(client, name) as namespace:
        await scene.ask(client, namespace)
        written = await killed_after(connection, scene, namespace, NEVER, client)
        assert not written.dead.is_set()
        return written, await settled(client, scene, namespace)


async def die(
    client: Client,
    connection: Connection,
    scenes: Iterable[tuple[int, Scene]],
    expected: dict[str, JsonObject],
    name: str,
) -> list[str]:
    """Kill an operator after so many writes, in a fresh scene each; return which writes did not arrive."""
    cut: list[str] = []
    for writes, scene in scenes:
        async with scene.place(client, f"{name}-{writes}") as namespace:
            await scene.ask(client, namespace)
            mortal = await killed_after(connection, scene, namespace, writes, client)
            before = await credentials(client, namespace)
            differing = differences(await settled(client, scene, namespace, expected), expected)
            assert differing == [], "\n".join((f"killed after {writes} writes", *differing))
            # What was generated before the death is still valid.
            after = await credentials(client, namespace)
            assert {place: after.get(place) for place in before} == before
            await scene.check(client, namespace)
        if not mortal.dead.is_set():
            break
        assert mortal.left == 0
        cut.append(mortal.cut)
    return cut

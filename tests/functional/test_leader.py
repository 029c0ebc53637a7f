"""Leader election on the real API server, in real time."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace

import pytest

from stackwright.kube.builtin import Lease
from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.kube.leader import Election
from tests.runtime.cable import Cable

PATIENCE = 180.0


@dataclass
class Candidate:
    """An election whose work only notes when it ran."""

    election: Election
    run: "asyncio.Task[None]" = field(init=False)
    started: float = 0.0
    stopped: float = 0.0
    leads: asyncio.Event = field(default_factory=asyncio.Event)

    async def lead(self) -> None:
        self.started = time.monotonic()
        self.leads.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped = time.monotonic()

    async def leading(self, seconds: float = PATIENCE) -> None:
        async with asyncio.timeout(seconds):
            await self.leads.wait()

    async def known(self) -> None:
        """Return when this candidate knows who leads."""
        while not self.election.holder:
            await asyncio.sleep(0.02)  # What a candidate knows cannot be watched.


Start = Callable[..., Awaitable[Candidate]]


@pytest.fixture
async def start(connection: Connection, namespace: str) -> AsyncIterator[Start]:
    candidates: list[Candidate] = []
    async with AsyncExitStack() as stack:

        async def start(name: str, server: str = "", *, lease: float = 15, renew: float = 10) -> Candidate:
            client = await stack.enter_async_context(Client(replace(connection, server=server or connection.server)))
            election = Election(client, "operator", namespace, name, lease=lease, renew=renew, retry=0.2)
            candidate = Candidate(election)
            candidate.run = asyncio.create_task(candidate.election.run(candidate.lead))
            candidates.append(candidate)
            return candidate

        yield start
        for candidate in candidates:
            candidate.run.cancel()
        await asyncio.gather(*(candidate.run for candidate in candidates), return_exceptions=True)


async def test_leadership_is_handed_over_on_a_clean_end(client: Client, namespace: str, start: Start) -> None:
    leader = await start("candidate-0")
    await leader.leading()
    for transitions in range(3):
        lease = await client.get(Lease, "operator", namespace)
        assert lease.spec.holderIdentity == leader.election.identity
        assert lease.spec.leaseTransitions == transitions
        assert lease.spec.leaseDurationSeconds == 15
        successor = await start(f"candidate-{transitions + 1}")
        leader.run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leader.run
        # Far sooner than the fifteen seconds of the lease.
        await successor.leading(10.0)
        assert leader.stopped < successor.started
        leader = successor


async def test_of_many_candidates_one_leads(client: Client, namespace: str, start: Start) -> None:
    candidates: list[Candidate] = [await start(f"candidate-{number}") for number in range(6)]
    async with asyncio.timeout(PATIENCE):
        await asyncio.wait(
            [asyncio.ensure_future(candidate.known()) for candidate in candidates], return_when=asyncio.ALL_COMPLETED
        )
    lease = await client.get(Lease, "operator", namespace)
    leaders = [candidate.election.identity for candidate in candidates if candidate.leads.is_set()]
    assert leaders == [lease.spec.holderIdentity]


async def test_a_leader_that_is_cut_off_stops_before_another_starts(connection: Connection, start: Start) -> None:
    async with Cable(connection.server).plugged() as cable:
        one = await start("one", cable.url, lease=3, renew=2)
        await one.leading()
        two = await start("two", lease=3, renew=2)
        async with asyncio.timeout(PATIENCE):
            await two.known()
        cable.cut()
        await two.leading()
        assert one.stopped > 0
        assert one.stopped < two.started
        one.run.cancel()
        await asyncio.gather(one.run, return_exceptions=True)

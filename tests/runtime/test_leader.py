"""Leader election: candidates on one server, on a clock that is turned by hand."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial

import pytest

from stackwright.kube.builtin import Lease
from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.kube.leader import Election
from stackwright.kube.resource import JsonObject
from tests.runtime.cable import Cable
from tests.runtime.fault_server import Answer, Effect, FaultServer, Hang, Request, Reset
from tests.runtime.hand_clock import HandClock, settle

LEASE, RENEW, RETRY = 15.0, 10.0, 2.0


@dataclass
class Candidate:
    """One process: its election, and when it led."""

    name: str
    election: Election
    hand: HandClock
    run: "asyncio.Task[None]" = field(init=False)
    led: list[list[float]] = field(default_factory=list)
    overruns: list[float] = field(default_factory=list)
    winding_down: float = 0.0
    stubborn: bool = False
    end: asyncio.Event = field(default_factory=asyncio.Event)
    error: Exception | None = None

    async def lead(self) -> None:
        self.led.append([self.hand.seconds])
        try:
            await self.end.wait()
            if self.error is not None:
                raise self.error
        finally:
            if self.winding_down:
                await self.hand.sleep(self.winding_down)
            while self.stubborn:
                await self.hand.sleep(1)
            self.led[-1].append(self.hand.seconds)

    @property
    def leads(self) -> bool:
        """Whether its work is running."""
        return bool(self.led) and len(self.led[-1]) == 1


class Place:
    """The server, the clock, and the candidates of a test."""

    def __init__(self, server: FaultServer, stack: AsyncExitStack) -> None:
        self.server = server
        self.hand = HandClock()
        self.candidates: list[Candidate] = []
        self._stack = stack

    async def cable(self) -> Cable:
        """Return a cable to the server."""
        return await self._stack.enter_async_context(Cable(self.server.url).plugged())

    async def candidate(
        self, name: str, *, wall_ahead: float = 0.0, server: str = "", **behaviour: object
    ) -> Candidate:
        """Start a candidate, with a connection of its own."""
        connection = Connection(server=server or self.server.url, source="a test", token=name)
        client = await self._stack.enter_async_context(Client(connection, timeout=3600, sleep=self.hand.sleep))
        clock = self.hand.clock(wall_ahead=wall_ahead)
        candidate = Candidate(
            name,
            Election(
                client,
                "operator",
                "system",
                name,
                lease=LEASE,
                renew=RENEW,
                retry=RETRY,
                clock=clock,
                overrun=lambda: candidate.overruns.append(self.hand.seconds),
            ),
            self.hand,
        )
        for attribute, value in behaviour.items():
            setattr(candidate, attribute, value)
        candidate.run = asyncio.create_task(candidate.election.run(candidate.lead))
        self.candidates.append(candidate)
        return candidate

    def afflict(self, candidate: Candidate, effect: Effect, *, on: str = "", times: int = 10**6) -> None:
        """Let requests of one candidate meet an effect."""

        def of_it(request: Request) -> bool:
            return request.headers.get("authorization") == f"Bearer {candidate.name}"

        self.server.fault(effect, on=on, times=times, when=of_it)

    @property
    def lease(self) -> JsonObject:
        """The lease as the server has it."""
        found = self.server.object(Lease, "operator", "system")
        assert found is not None
        spec: JsonObject = found["spec"]
        return spec

    def nobody_led_beside_another(self) -> bool:
        """Whether no two candidates ever led at once."""
        stretches = sorted(
            (stretch[0], stretch[1] if len(stretch) > 1 else float("inf"))
            for candidate in self.candidates
            for stretch in candidate.led
        )
        return all(before[1] <= after[0] for before, after in itertools.pairwise(stretches))


def _stopped(candidate: Candidate) -> bool:
    return not candidate.leads


@pytest.fixture
async def place(server: FaultServer) -> AsyncIterator[Place]:
    async with AsyncExitStack() as stack:
        place = Place(server, stack)
        yield place
        server.heal()
        for candidate in place.candidates:
            candidate.winding_down, candidate.stubborn = 0.0, False
            candidate.run.cancel()
        while not all(candidate.run.done() for candidate in place.candidates):
            await place.hand.advance(1)
        await asyncio.gather(*(candidate.run for candidate in place.candidates), return_exceptions=True)


async def test_a_lease_that_nobody_has_is_taken_at_once(place: Place) -> None:
    one = await place.candidate("one")
    await place.hand.until(lambda: one.leads, at_most=1)
    assert place.lease["holderIdentity"] == one.election.identity
    assert place.lease["leaseDurationSeconds"] == 15
    assert place.lease["leaseTransitions"] == 0
    assert one.election.leading


async def test_who_renews_leads_on_and_the_other_waits(place: Place) -> None:
    one = await place.candidate("one")
    await place.hand.until(lambda: one.leads)
    two = await place.candidate("two")
    await place.hand.advance(300)
    assert len(one.led) == 1
    assert one.leads
    assert not two.led
    assert two.election.holder == one.election.identity


async def test_an_end_releases_the_lease_and_the_other_need_not_wait_for_it(place: Place) -> None:
    one = await place.candidate("one")
    await place.hand.until(lambda: one.leads)
    two = await place.candidate("two")
    await place.hand.advance(5)
    one.end.set()
    await place.hand.until(lambda: two.leads, at_most=RETRY * 1.2 + 0.5)
    await one.run
    assert place.nobody_led_beside_another()
    assert place.lease["leaseTransitions"] > 0


@pytest.mark.parametrize("winding_down", [0.0, 4.5])
@pytest.mark.parametrize("effect", [Hang(), Reset(), Answer(500), Answer(429, retry_after=1)])
async def test_a_leader_that_is_cut_off_stops_before_another_starts(
    place: Place, effect: Effect, winding_down: float
) -> None:
    one = await place.candidate("one", winding_down=winding_down)
    await place.hand.until(lambda: one.leads)
    two = await place.candidate("two")
    await place.hand.advance(7)
    place.afflict(one, effect)
    cut = place.hand.seconds
    await place.hand.until(lambda: two.leads, at_most=LEASE + 2 * RETRY)
    assert one.led[0][1] <= cut + RENEW + winding_down
    assert one.led[0][1] < two.led[0][0]
    assert place.lease["leaseTransitions"] == 1
    assert not one.overruns


async def test_a_renewal_counts_from_when_it_was_sent_not_from_its_answer(place: Place) -> None:
    cable = await place.cable()
    one = await place.candidate("one", server=cable.url, winding_down=4.5)
    await place.hand.until(lambda: one.leads)
    two = await place.candidate("two")
    await place.hand.advance(3)
    cable.cut_answers()
    renewal = place.lease["renewTime"]
    await place.hand.until(lambda: place.lease["renewTime"] != renewal)
    sent = place.hand.seconds
    # The answer comes late, but before the request is given up; then nothing more.
    await place.hand.advance(RENEW / 2 - 0.5)
    cable.mend()
    await settle()
    cable.cut()
    await place.hand.until(lambda: two.leads)
    assert one.led[0][1] <= sent + RENEW + 4.5
    assert place.nobody_led_beside_another()


async def test_a_leader_that_was_cut_off_comes_back_as_a_candidate(place: Place) -> None:
    one = await place.candidate("one")
    await place.hand.until(lambda: one.leads)
    two = await place.candidate("two")
    await place.hand.advance(3)
    place.afflict(one, Reset())
    await place.hand.until(lambda: two.leads)
    place.server.heal()
    await place.hand.advance(60)
    assert two.leads
    assert len(one.led) == 1
    two.end.set()
    await place.hand.until(lambda: one.leads)
    assert place.nobody_led_beside_another()


async def test_work_that_does_not_stop_is_reported_before_another_starts(place: Place) -> None:
    one = await place.candidate("one", stubborn=True)
    await place.hand.until(lambda: one.leads)
    two = await place.candidate("two")
    await place.hand.advance(3)
    place.afflict(one, Hang())
    await place.hand.until(lambda: two.leads)
    assert one.overruns
    assert one.overruns[0] <= two.led[0][0]


@pytest.mark.parametrize("wall_ahead", [3600.0, -3600.0, 1e8])
async def test_a_wrong_wall_clock_neither_steals_a_lease_nor_waits_for_ever(place: Place, wall_ahead: float) -> None:
    one = await place.candidate("one")
    await place.hand.until(lambda: one.leads)
    two = await place.candidate("two", wall_ahead=wall_ahead)
    await place.hand.advance(60)
    assert not two.led
    place.afflict(one, Hang())
    await place.hand.until(lambda: two.leads, at_most=LEASE + 2 * RETRY)
    assert place.nobody_led_beside_another()


@pytest.mark.parametrize(
    ("effect", "on"),
    [
        pytest.param(Answer(500), "patch", id="an-error"),
        pytest.param(Hang(), "patch", id="a-request-that-hangs"),
        pytest.param(Reset(after_handling=True), "patch", id="a-renewal-whose-answer-was-lost"),
        pytest.param(Reset(), "", id="a-broken-connection"),
        pytest.param(Answer(409), "patch", id="a-conflict"),
    ],
)
async def test_one_failure_costs_no_leadership(place: Place, effect: Effect, on: str) -> None:
    one = await place.candidate("one")
    await place.hand.until(lambda: one.leads)
    for _ in range(5):
        place.afflict(one, effect, on=on, times=1)
        await place.hand.advance(20)
    assert one.leads
    assert len(one.led) == 1


async def test_a_claim_whose_answer_was_lost_is_known_for_ours(place: Place) -> None:
    place.server.fault(Reset(after_handling=True), on="create")
    one = await place.candidate("one")
    await place.hand.until(lambda: one.leads, at_most=2 * RETRY)


async def test_of_many_candidates_one_leads(place: Place) -> None:
    candidates = [await place.candidate(f"c{number}") for number in range(5)]
    await place.hand.until(lambda: any(candidate.leads for candidate in candidates))
    await place.hand.advance(30)
    assert sum(candidate.leads for candidate in candidates) == 1
    assert sum(len(candidate.led) for candidate in candidates) == 1


async def test_leadership_goes_round_and_never_overlaps(place: Place) -> None:
    candidates = [await place.candidate(f"c{number}", winding_down=2.0) for number in range(3)]
    for _ in range(6):
        await place.hand.until(lambda: any(candidate.leads for candidate in candidates))
        leader = next(candidate for candidate in candidates if candidate.leads)
        place.server.heal()
        place.afflict(leader, Hang())
        await place.hand.until(partial(_stopped, leader))
    place.server.heal()
    await place.hand.advance(30)
    assert sum(len(candidate.led) for candidate in candidates) >= 6
    assert place.nobody_led_beside_another()


async def test_a_lease_that_somebody_took_by_force_stops_the_work_at_once(place: Place) -> None:
    one = await place.candidate("one")
    await place.hand.until(lambda: one.leads)
    spec = {"holderIdentity": "thief", "leaseDurationSeconds": 15, "renewTime": "2026-11-15T00:00:00.000000Z"}
    place.server.put(Lease, {"metadata": {"name": "operator", "namespace": "system"}, "spec": spec})
    stolen = place.hand.seconds
    await place.hand.until(lambda: not one.leads)
    assert one.led[0][1] <= stolen + RETRY * 1.2 + 0.5
    assert not one.overruns


async def test_a_lease_that_somebody_deleted_is_made_again_by_its_holder(place: Place) -> None:
    one = await place.candidate("one")
    await place.hand.until(lambda: one.leads)
    two = await place.candidate("two")
    await place.hand.advance(3)
    # The other one looks first, and must not take it: the holder does not know yet.
    place.afflict(one, Hang(), times=1)
    place.server.remove(Lease, "operator", "system")
    await place.hand.advance(RETRY * 1.2)
    assert place.server.object(Lease, "operator", "system") is None
    await place.hand.advance(30)
    assert place.lease["holderIdentity"] == one.election.identity
    assert one.leads
    assert not two.led


async def test_a_lease_of_a_process_that_died_is_waited_for_even_under_the_same_name(place: Place) -> None:
    spec = {"holderIdentity": "one", "leaseDurationSeconds": 15, "renewTime": "2020-01-01T00:00:00.000000Z"}
    place.server.put(Lease, {"metadata": {"name": "operator", "namespace": "system"}, "spec": spec})
    one = await place.candidate("one")
    await place.hand.advance(14)
    assert not one.led
    await place.hand.until(lambda: one.leads, at_most=3)


async def test_the_duration_that_the_holder_promised_counts(place: Place) -> None:
    spec = {"holderIdentity": "slow", "leaseDurationSeconds": 60, "renewTime": "2020-01-01T00:00:00.000000Z"}
    place.server.put(Lease, {"metadata": {"name": "operator", "namespace": "system"}, "spec": spec})
    one = await place.candidate("one")
    await place.hand.advance(59)
    assert not one.led
    await place.hand.until(lambda: one.leads, at_most=3)


async def test_who_is_stopped_keeps_the_lease_until_its_work_is_done(place: Place) -> None:
    one = await place.candidate("one", winding_down=60.0)
    await place.hand.until(lambda: one.leads)
    two = await place.candidate("two")
    await place.hand.advance(3)
    one.run.cancel()
    stopped = place.hand.seconds
    await place.hand.until(lambda: two.leads)
    assert one.run.cancelled()
    assert one.led[0][1] == pytest.approx(stopped + 60)
    assert one.led[0][1] <= two.led[0][0] <= stopped + 60 + 2 * RETRY


async def test_an_error_of_the_work_comes_out_and_the_lease_is_free(place: Place) -> None:
    one = await place.candidate("one", error=ZeroDivisionError())
    await place.hand.until(lambda: one.leads)
    one.end.set()
    with pytest.raises(ZeroDivisionError):
        await one.run
    assert place.lease["holderIdentity"] == ""


async def test_a_candidate_that_is_stopped_leaves_no_trace(place: Place) -> None:
    one = await place.candidate("one")
    await place.hand.until(lambda: one.leads)
    two = await place.candidate("two")
    await place.hand.advance(5)
    two.run.cancel()
    await settle()
    assert two.run.cancelled()
    assert one.leads


@pytest.mark.parametrize(("lease", "renew", "retry"), [(10, 10, 2), (15, 10, 10), (15, 10, 0), (5, 10, 2)])
async def test_times_that_cannot_fence_are_refused(client: Client, lease: float, renew: float, retry: float) -> None:
    with pytest.raises(ValueError, match="retry < renew < lease"):
        Election(client, "a", "b", "c", lease=lease, renew=renew, retry=retry)

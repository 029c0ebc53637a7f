"""Statuses that somebody else writes: who is woken by that, and who is not."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stackwright.kube import meddling, workers
from stackwright.kube.builtin import ConfigMap, Event
from stackwright.kube.client import Client
from stackwright.kube.controller import Context, Controller, Watch
from stackwright.kube.predicates import asked_differently
from stackwright.kube.resource import JsonObject, Key, Resource
from stackwright.kube.shapes import exchange
from stackwright.kube.shapes.report import write
from tests.runtime.controlling import SECONDS, Runs, caught_up, idle, key, quiet, running
from tests.runtime.fault_server import Answer, FaultServer, Reset, Slow
from tests.unit.kube.pots import Pot, PotStatus

__all__ = ["quiet"]

RIGHT = "right.example.org"
OURS: JsonObject = {"manager": "stackwright", "operation": "Apply", "subresource": "status", "time": "1"}
THEIRS: JsonObject = {"manager": "kubectl-edit", "operation": "Update", "subresource": "status", "time": "2"}


async def say_what_is_right(key: Key, context: Context) -> None:
    pot = context.store(Pot).get(key)
    if pot is not None and pot.status.address != RIGHT:
        await write(pot, PotStatus(address=RIGHT), context)


def keeper(runs: Runs, **options: Any) -> Controller:
    return Controller(**{"name": "keeper", "kind": Pot, "reconcile": runs, "when": asked_differently, **options})


def meddle(server: FaultServer, address: str, *managers: JsonObject) -> None:
    """Write a status as somebody else does."""
    there = server.object(Pot, "a", "one")
    assert there is not None
    metadata = {**there["metadata"], "managedFields": list(managers)}
    server.put(Pot, {**there, "metadata": metadata, "status": {"address": address}})


def address_of(server: FaultServer) -> str:
    there = server.object(Pot, "a", "one")
    assert there is not None
    return str(there.get("status", {}).get("address", ""))


@pytest.fixture
def pot(server: FaultServer) -> None:
    server.put(Pot, {"metadata": {"name": "a", "namespace": "one"}})


@pytest.mark.usefixtures("pot")
async def test_the_echo_of_our_own_status_wakes_nobody(client: Client, server: FaultServer) -> None:
    runs = Runs(say_what_is_right)
    async with running(client, keeper(runs)) as runtime:
        await server.requested(1, verb="apply")
        await caught_up(runtime, server)
        assert address_of(server) == RIGHT
        assert runs.names == ["a"]


@pytest.mark.usefixtures("pot")
async def test_an_echo_that_comes_before_the_answer_wakes_nobody_either(client: Client, server: FaultServer) -> None:
    answered = asyncio.Event()
    server.fault(Slow(until=answered, after_handling=True), on="apply")
    runs = Runs(say_what_is_right)
    async with running(client, keeper(runs)) as runtime:
        await server.requested(1, verb="apply")
        (informer,) = runtime.informers.all()
        assert await informer.reached(str(server.revision), SECONDS)
        answered.set()
        await caught_up(runtime, server)
        assert runs.names == ["a"]


@pytest.mark.usefixtures("pot")
@pytest.mark.parametrize("address", ["wrong.example.org", ""], ids=["another-value", "none"])
async def test_what_somebody_else_wrote_is_put_right(client: Client, server: FaultServer, address: str) -> None:
    runs = Runs(say_what_is_right)
    async with running(client, keeper(runs)) as runtime:
        await server.requested(1, verb="apply")
        await caught_up(runtime, server)
        meddle(server, address)
        await server.requested(2, verb="apply")
        await caught_up(runtime, server)
    assert address_of(server) == RIGHT
    assert runs.names == ["a", "a"]


@pytest.mark.usefixtures("pot")
async def test_what_somebody_wrote_during_a_run_is_put_right_after_it(client: Client, server: FaultServer) -> None:
    async def look_and_be_overtaken(key: Key, context: Context) -> None:
        await say_what_is_right(key, context)
        if len(runs.names) == 1:
            meddle(server, "wrong.example.org")
            (informer,) = context.informers.all()
            assert await informer.reached(str(server.revision), SECONDS)

    runs = Runs(look_and_be_overtaken)
    async with running(client, keeper(runs)) as runtime:
        await server.requested(2, verb="apply")
        await caught_up(runtime, server)
    assert address_of(server) == RIGHT
    assert runs.names == ["a", "a"]


async def remember(key: Key, context: Context) -> None:
    """Write what only the status remembers from then on."""
    pot = context.store(Pot).get(key)
    if pot is not None and not pot.status.address:
        await write(pot, PotStatus(address=RIGHT), context)


@pytest.mark.usefixtures("pot")
@pytest.mark.parametrize(
    ("managers", "then"),
    [
        pytest.param((OURS, THEIRS), RIGHT, id="is-written-again-when-a-hand-changed-it"),
        pytest.param((OURS,), RIGHT, id="is-written-again-when-a-hand-took-it-away"),
        pytest.param(({**OURS, "time": "2"},), "wrong.example.org", id="is-what-another-process-of-ours-wrote-last"),
    ],
)
async def test_what_only_the_status_remembers(
    client: Client, server: FaultServer, managers: tuple[JsonObject, ...], then: str
) -> None:
    runs = Runs(remember)
    async with running(client, keeper(runs)) as runtime:
        meddle(server, RIGHT, OURS)
        await caught_up(runtime, server)
        for address in ("wrong.example.org", "worse.example.org", "wrong.example.org"):
            # Of several hands, the first one found what is right.
            meddle(server, address, *managers)
        await caught_up(runtime, server)
    assert address_of(server) == then


def put_kept(server: FaultServer, address: str, **metadata: JsonObject) -> None:
    """Write a status as its keeper does, and always in the same second, by what the server notes."""
    body = {"metadata": {"name": "a", "namespace": "one", "managedFields": [OURS], **metadata}}
    server.put(Pot, {**body, "status": {"address": address}})


def renewing(runs: Runs, before: Callable[[], None]) -> Controller:
    """Return a keeper that writes another status in its second run, and later ones never."""

    async def renew(key: Key, context: Context) -> None:
        pot = context.store(Pot).get(key)
        if pot is not None and len(runs.names) == 2:
            before()
            await write(pot, PotStatus(address="renewed.example.org"), context)

    runs.step = renew
    return keeper(runs)


async def test_a_status_whose_answer_was_lost_is_our_own(client: Client, server: FaultServer) -> None:
    def lose() -> None:
        server.fault(Reset(after_handling=True), on="apply")

    put_kept(server, RIGHT)
    runs = Runs()
    async with running(client, renewing(runs, lose)) as runtime:
        await runs.reach("a")
        await caught_up(runtime, server)
        put_kept(server, RIGHT, annotations={"look": "again"})
        # What the server had written is refused when it is tried again, and the key with it.
        await runs.reach("a", "a", "a")
        await caught_up(runtime, server)
    assert address_of(server) == "renewed.example.org"


async def test_an_echo_that_comes_long_after_its_run_is_our_own(
    client: Client, server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "CACHE_PATIENCE", 0.01)
    put_kept(server, RIGHT)
    runs = Runs()
    async with running(client, renewing(runs, server.silence)) as runtime:
        await runs.reach("a")
        await caught_up(runtime, server)
        put_kept(server, RIGHT, annotations={"look": "again"})
        await server.requested(1, verb="apply")
        await idle(runtime)
        server.heal()
        server.cut_streams()
        (informer,) = runtime.informers.all()
        assert await informer.reached(str(server.revision), SECONDS)
        await caught_up(runtime, server)
        assert runs.names == ["a", "a"]
    assert address_of(server) == "renewed.example.org"


async def test_what_we_wrote_before_is_a_strangers_when_it_comes_again(client: Client, server: FaultServer) -> None:
    async def write_twice(key: Key, context: Context) -> None:
        if len(runs.names) > 1:
            return
        (informer,) = context.informers.all()
        for address in ("wrong.example.org", RIGHT):
            pot = context.store(Pot).get(key)
            assert pot is not None
            await write(pot, PotStatus(address=address), context)
            assert await informer.reached(str(server.revision), SECONDS)
        put_kept(server, "wrong.example.org")
        assert await informer.reached(str(server.revision), SECONDS)

    put_kept(server, "")
    runs = Runs(write_twice)
    async with running(client, keeper(runs)) as runtime:
        await runs.reach("a", "a")
        await caught_up(runtime, server)
    assert address_of(server) == RIGHT


async def test_a_former_status_that_is_refused_holds_up_no_pass(client: Client, server: FaultServer) -> None:
    put_kept(server, RIGHT)
    runs = Runs()
    async with running(client, keeper(runs)) as runtime:
        await runs.reach("a")
        await caught_up(runtime, server)
        server.fault(Answer(422, reason="Invalid"), on="apply", times=100)
        meddle(server, "wrong.example.org", OURS, THEIRS)
        await runs.reach("a", "a")
        await caught_up(runtime, server)
    assert len(server.seen("apply")) == 1


async def test_a_former_status_of_which_the_server_makes_the_same_holds_up_no_pass(
    client: Client, server: FaultServer
) -> None:
    put_kept(server, RIGHT)
    runs = Runs()
    async with running(client, keeper(runs)) as runtime:
        await runs.reach("a")
        await caught_up(runtime, server)
        # As a schema that has a new default: an apply does not take it away.
        there = server.object(Pot, "a", "one")
        assert there is not None
        server.put(Pot, {**there, "status": {"address": RIGHT, "bubbles": 3}})
        await runs.reach("a", "a")
        await caught_up(runtime, server)
    assert len(server.seen("apply")) == 1


async def test_what_somebody_added_is_taken_out_when_that_failed_first(client: Client, server: FaultServer) -> None:
    put_kept(server, RIGHT)
    runs = Runs(remember)
    async with running(client, keeper(runs)) as runtime:
        await runs.reach("a")
        await caught_up(runtime, server)
        server.fault(Answer(409, reason="Conflict"), on="patch")
        there = server.object(Pot, "a", "one")
        assert there is not None
        metadata = {**there["metadata"], "managedFields": [OURS, THEIRS]}
        server.put(Pot, {**there, "metadata": metadata, "status": {"address": "wrong.example.org", "bubbles": 3}})
        await server.requested(2, verb="patch")
        await caught_up(runtime, server)
    there = server.object(Pot, "a", "one")
    assert there is not None
    assert there["status"] == {"address": RIGHT}


async def test_somebody_who_answers_at_once_holds_up_no_pass(
    client: Client, server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_kept(server, RIGHT)
    runs = Runs()
    store = server._store

    def answer(*arguments: Any, **options: Any) -> JsonObject:
        stored = store(*arguments, **options)
        if stored.get("status") == {"address": RIGHT}:
            meddle(server, "wrong.example.org", OURS, THEIRS)
        return stored

    async with running(client, keeper(runs)) as runtime:
        await runs.reach("a")
        await caught_up(runtime, server)
        monkeypatch.setattr(server, "_store", answer)
        meddle(server, "wrong.example.org", OURS, THEIRS)
        await runs.reach("a", "a")
        await caught_up(runtime, server)
        assert runs.names == ["a", "a"]
    # After the last turn, the status is written once more before the pass.
    assert exchange.TURNS <= len(server.seen("apply")) <= exchange.TURNS + 1


async def test_nothing_is_written_while_the_work_is_paused(client: Client, server: FaultServer) -> None:
    paused = {"name": "a", "namespace": "one", "annotations": {"pause": "true"}, "managedFields": [OURS]}
    server.put(Pot, {"metadata": paused, "status": {"address": RIGHT}})
    runs = Runs()
    async with running(client, keeper(runs, pause="pause")) as runtime:
        await caught_up(runtime, server)
        meddle(server, "wrong.example.org", OURS, THEIRS)
        await runs.reach("a", "a")
        await caught_up(runtime, server)
        assert address_of(server) == "wrong.example.org"
        # When it goes on, it does so with what was there.
        there = server.object(Pot, "a", "one")
        assert there is not None
        server.put(Pot, {**there, "metadata": {**there["metadata"], "annotations": {}}})
        await caught_up(runtime, server)
    assert address_of(server) == RIGHT


@pytest.mark.usefixtures("pot")
async def test_whoever_only_reads_a_status_is_not_woken_unasked(client: Client, server: FaultServer) -> None:
    runs = Runs()
    async with running(client, keeper(runs, reports=False)) as runtime:
        await runs.reach("a")
        meddle(server, "wrong.example.org")
        await caught_up(runtime, server)
    assert runs.names == ["a"]


@pytest.mark.usefixtures("pot")
async def test_two_who_do_not_agree_are_stopped_and_told(client: Client, server: FaultServer) -> None:
    async def quarrel(key: Key, context: Context) -> None:
        await say_what_is_right(key, context)
        meddle(server, "wrong.example.org")

    runs = Runs(quarrel)
    async with running(client, keeper(runs)) as runtime:
        await server.requested(1, verb="create")
        await caught_up(runtime, server)
        # The first write is no turn of an exchange; after the last one, nothing is done for a while.
        assert len(runs.names) == exchange.TURNS + 1
    (told,) = server.objects(Event)
    assert told["reason"] == "EndlessExchange"
    assert told["note"].startswith("The status of Pot a is changed back each time it is written")


def readers(_: Resource) -> Iterator[Key]:
    yield key("reader")


@pytest.mark.usefixtures("pot")
@pytest.mark.parametrize(
    ("managers", "woken"),
    [
        pytest.param((OURS, THEIRS), 1, id="what-is-about-to-be-put-right-is-not-believed-at-once"),
        pytest.param((OURS,), 2, id="what-its-keeper-wrote-is"),
        pytest.param((THEIRS,), 2, id="what-nobody-of-us-keeps-is"),
    ],
)
async def test_whoever_depends_on_a_status(
    client: Client,
    server: FaultServer,
    monkeypatch: pytest.MonkeyPatch,
    managers: tuple[JsonObject, ...],
    woken: int,
) -> None:
    monkeypatch.setattr(meddling, "LATER", 3600.0)
    runs = Runs()
    reader = Controller(name="reader", kind=ConfigMap, reconcile=runs, watches=(Watch(Pot, to=readers),))
    async with running(client, reader) as runtime:
        await caught_up(runtime, server)
        runs.names.clear()
        meddle(server, RIGHT, OURS)
        await runs.reach("reader")
        meddle(server, "wrong.example.org", *managers)
        await caught_up(runtime, server)
        assert len(runs.names) == woken
        # Nor does it wait for that when its keeper has put it right.
        meddle(server, RIGHT, OURS)
        await caught_up(runtime, server)
        assert len(runs.names) == woken + 1


@pytest.mark.usefixtures("pot")
async def test_whoever_depends_on_a_status_believes_it_when_nobody_puts_it_right(
    client: Client, server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meddling, "LATER", 0.01)
    runs = Runs()
    reader = Controller(name="reader", kind=ConfigMap, reconcile=runs, watches=(Watch(Pot, to=readers),))
    async with running(client, reader) as runtime:
        await caught_up(runtime, server)
        runs.names.clear()
        meddle(server, "wrong.example.org", OURS, THEIRS)
        await runs.reach("reader")

"""Controllers on the fault server: what wakes them, and how a run ends."""

import asyncio
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from stackwright.kube import metrics, predicates
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.client import Client
from stackwright.kube.controller import Context, Controller, Result, Watch
from stackwright.kube.errors import ApiError, Blocked, NotFound, Retry, Unreachable
from stackwright.kube.resource import JsonObject, Key
from stackwright.kube.workers import Verdict, judge
from tests.runtime.controlling import SECONDS, Runs, body, caught_up, controller, idle, key, quiet, running
from tests.runtime.fault_server import FaultServer

__all__ = ["quiet"]


# What wakes a controller.


async def test_what_is_there_what_changes_and_what_goes_is_reconciled(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, body("a"))
    runs = Runs()
    async with running(client, controller(runs)) as runtime:
        await runs.reach("a")
        server.put(ConfigMap, body("b"))
        await runs.reach("a", "b")
        server.remove(ConfigMap, "a", "one")
        await runs.reach("a", "a", "b")
        await caught_up(runtime, server)
    assert sorted(runs.names) == ["a", "a", "b"]


async def test_what_was_there_waits_for_what_changes(client: Client, server: FaultServer) -> None:
    for number in range(20):
        server.put(ConfigMap, body(f"initial-{number}"))
    gate = asyncio.Event()

    async def wait(_key: Key, _context: Context) -> None:
        await gate.wait()

    runs = Runs(wait)
    async with running(client, controller(runs, workers=1)) as runtime:
        server.put(ConfigMap, body("changed"))
        assert await runtime.informers.of(ConfigMap).reached(str(server.revision), SECONDS)
        gate.set()
        await runs.reach("changed")
    assert runs.names[:2] == ["initial-0", "changed"]


async def test_changes_during_a_run_are_one_more_run(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, body("a"))
    gate = asyncio.Event()
    busy: set[Key] = set()

    async def alone(key: Key, _context: Context) -> None:
        assert key not in busy
        busy.add(key)
        await gate.wait()
        busy.discard(key)

    runs = Runs(alone)
    async with running(client, controller(runs, workers=4)) as runtime:
        await runs.reach("a")
        for content in "23456":
            server.put(ConfigMap, body("a", content))
        server.bookmark()
        assert await runtime.informers.of(ConfigMap).reached(str(server.revision), SECONDS)
        gate.set()
        await runs.reach("a", "a")
        await caught_up(runtime, server)
    assert runs.names == ["a", "a"]


async def test_an_owned_object_wakes_its_controlling_owner(client: Client, server: FaultServer) -> None:
    owner = server.put(ConfigMap, body("owner"))
    other = server.put(ConfigMap, body("other"))

    def reference(of: JsonObject, **fields: Any) -> JsonObject:
        plain = {"apiVersion": "v1", "kind": "ConfigMap", "name": of["metadata"]["name"], "uid": of["metadata"]["uid"]}
        return {**plain, "controller": True, **fields}

    runs = Runs()
    async with running(client, controller(runs, owns=(Secret,))) as runtime:
        await runs.reach("owner", "other")
        runs.names.clear()
        server.put(Secret, body("ours", ownerReferences=[reference(owner)]))
        server.put(Secret, body("not controlled", ownerReferences=[reference(other, controller=False)]))
        server.put(Secret, body("of another group", ownerReferences=[reference(other, apiVersion="example.org/v1")]))
        server.put(Secret, body("of another kind", ownerReferences=[reference(other, kind="Secret")]))
        await caught_up(runtime, server)
        assert runs.names == ["owner"]
        server.put(Secret, body("ours", ownerReferences=[reference(other)]))
        await caught_up(runtime, server)
        assert sorted(runs.names) == ["other", "owner", "owner"], "who lost it is woken as well as who got it"
        server.remove(Secret, "ours", "one")
        await caught_up(runtime, server)
        assert sorted(runs.names) == ["other", "other", "owner", "owner"]


async def test_a_mapped_watch_wakes_what_it_maps_to(client: Client, server: FaultServer) -> None:
    def users(secret: Secret) -> Iterable[Key]:
        return (key(name) for name in secret.metadata.annotations.get("used-by", "").split())

    watch = Watch(Secret, to=users, when=predicates.annotations_changed)
    runs = Runs()
    async with running(client, controller(runs, watches=(watch,))) as runtime:
        server.put(Secret, body("password", annotations={"used-by": "a b"}))
        await caught_up(runtime, server)
        assert sorted(runs.names) == ["a", "b"]
        server.put(Secret, body("password", "2", annotations={"used-by": "a b"}))
        await caught_up(runtime, server)
        assert sorted(runs.names) == ["a", "b"], "the predicate does not let this through"
        server.put(Secret, body("password", annotations={"used-by": "b c"}))
        await caught_up(runtime, server)
        assert sorted(runs.names) == ["a", "a", "b", "b", "c"], "who is no longer named is woken once more"


async def test_a_watch_that_gathers_wakes_once_for_all_that_changed(client: Client, server: FaultServer) -> None:
    runs = Runs()
    watch = Watch(Secret, to=lambda _: (key("role"),), after=0.5)
    async with running(client, controller(runs, watches=(watch,))) as runtime:
        for name in "abcdef":
            server.put(Secret, body(name))
        await caught_up(runtime, server)
        assert runs.names == [], "what comes together is waited for"
        await runs.reach("role")
        await caught_up(runtime, server)
        assert runs.names == ["role"]


async def test_a_predicate_on_the_kind_itself_keeps_out_what_does_not_count(
    client: Client, server: FaultServer
) -> None:
    runs = Runs()
    async with running(client, controller(runs, when=predicates.labels_changed)) as runtime:
        server.put(ConfigMap, body("a"))
        server.put(ConfigMap, body("a", "2"))
        await caught_up(runtime, server)
        runs.names.clear()
        server.put(ConfigMap, body("a", "3"))
        await caught_up(runtime, server)
        assert runs.names == []
        server.put(ConfigMap, body("a", "3", labels={"color": "red"}))
        await runs.reach("a")


async def test_a_predicate_holds_at_the_start_as_well(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, body("ours", labels={"color": "red"}))
    server.put(ConfigMap, body("others"))
    runs = Runs()
    ours = controller(runs, when=lambda change: "color" in change.resource.metadata.labels)
    async with running(client, ours) as runtime:
        await runs.reach("ours")
        await caught_up(runtime, server)
    assert runs.names == ["ours"]


async def test_runs_that_await_nothing_do_not_block_the_loop(client: Client, server: FaultServer) -> None:
    for number in range(100):
        server.put(ConfigMap, body(f"item-{number}"))
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def work() -> Iterator[int]:
        # The turns that others had, at each run; a run takes two milliseconds and never awaits.
        while True:
            time.sleep(0.002)
            yield turns

    seen: list[int] = []
    step = work()

    async def reconcile(_key: Key, _context: Context) -> None:
        seen.append(next(step))
        if len(seen) == 100:
            finished.set()

    finished = asyncio.Event()
    counter = asyncio.create_task(count_turns())
    busy = Controller(name="busy", kind=ConfigMap, reconcile=reconcile, workers=1)
    async with running(client, busy):
        await asyncio.wait_for(finished.wait(), SECONDS)
        counter.cancel()
    longest = max(seen.count(turn) for turn in set(seen))
    assert longest <= 20, "no more than about 20 milliseconds at a time"


async def test_a_predicate_that_fails_lets_through(client: Client, server: FaultServer) -> None:
    runs = Runs()
    async with running(client, controller(runs, when=lambda change: bool(1 / len(change.new.data) - 1 / 0))):
        server.put(ConfigMap, body("a"))
        await runs.reach("a")


# How a run ends.


def fails(*errors: Exception) -> Runs:
    """Return a controller that fails once with each of these errors and then succeeds."""
    left = list(errors)

    async def step(_key: Key, _context: Context) -> None:
        if left:
            raise left.pop(0)

    return Runs(step)


@pytest.mark.parametrize(
    ("error", "level"),
    [
        pytest.param(Retry("the world must heal"), "info", id="a-retry-is-no-news"),
        pytest.param(Retry("the world must heal", after=0.001), "info", id="a-retry-that-says-when"),
        pytest.param(Unreachable("no answer"), "warning", id="no-answer-is-a-warning"),
        pytest.param(ApiError("injected", code=500), "warning", id="a-bad-answer-is-a-warning"),
        pytest.param(KeyError("spec"), "error", id="a-bug-is-an-error"),
        pytest.param(ExceptionGroup("steps", [Retry("x"), KeyError("spec")]), "error", id="a-bug-among-others"),
        pytest.param(asyncio.CancelledError(), "error", id="a-cancelled-task-awaited-by-mistake"),
    ],
)
async def test_a_failure_is_tried_again(client: Client, server: FaultServer, error: Any, level: str) -> None:
    server.put(ConfigMap, body("a"))
    runs = fails(error, error)
    with capture_logs() as logs:
        async with running(client, controller(runs)) as runtime:
            await runs.reach("a", "a", "a")
            await idle(runtime)
            assert runtime.workers[0].queue.failures(key("a")) == 0, "a success forgets"
    lines = [entry for entry in logs if entry.get("key") == "one/a"]
    assert [entry["log_level"] for entry in lines] == [level, level]
    assert all(("exc_info" in entry) == (level == "error") for entry in lines)


async def test_blocked_is_not_tried_again_until_something_changes(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, body("a"))
    runs = fails(Blocked("give it a password", reason="NoPassword"))
    async with running(client, controller(runs)) as runtime:
        await runs.reach("a")
        await idle(runtime)
        assert runtime.workers[0].queue.next_due() is None
        server.put(ConfigMap, body("a", "2"))
        await runs.reach("a", "a")


async def test_a_result_asks_to_run_again(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, body("a"))

    async def poll(_key: Key, _context: Context) -> Result | None:
        return Result(after=0.01) if len(runs.names) < 3 else None

    runs = Runs(poll)
    async with running(client, controller(runs)):
        await runs.reach("a", "a", "a")


async def test_a_run_that_does_not_end_is_ended(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, body("a"))

    async def hang(_key: Key, _context: Context) -> None:
        if len(runs.names) == 1:
            await asyncio.Event().wait()

    timeouts = metrics.controller("hanging").timeouts
    before = timeouts._value.get()
    runs = Runs(hang)
    async with running(client, controller(runs, name="hanging", deadline=0.05)):
        await runs.reach("a", "a")
    assert timeouts._value.get() == before + 1


async def test_a_timeout_of_the_reconcile_itself_is_not_its_deadline(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, body("a"))
    runs = fails(TimeoutError())
    with capture_logs() as logs:
        async with running(client, controller(runs)):
            await runs.reach("a", "a")
    told = [(entry["log_level"], entry["error"]) for entry in logs if "key" in entry]
    assert told == [("warning", "TimeoutError")]


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        pytest.param(Blocked("x"), Verdict.BLOCKED, id="blocked"),
        pytest.param(Retry("x"), Verdict.RETRY, id="retry"),
        pytest.param(NotFound("x"), Verdict.TROUBLE, id="an-answer-of-the-server"),
        pytest.param(TimeoutError(), Verdict.TROUBLE, id="something-that-took-too-long"),
        pytest.param(ValueError("x"), Verdict.BUG, id="anything-else"),
        pytest.param(ExceptionGroup("x", [Blocked("x"), Retry("x")]), Verdict.RETRY, id="a-retry-beside-a-block"),
        pytest.param(
            ExceptionGroup("x", [Blocked("x"), ExceptionGroup("y", [NotFound("x")])]),
            Verdict.TROUBLE,
            id="groups-in-groups",
        ),
    ],
)
def test_the_worst_of_several_errors_counts(error: Exception, verdict: Verdict) -> None:
    assert judge(error)[0] is verdict


async def test_the_metrics_tell_how_runs_ended(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, body("a"))
    runs = fails(Retry("x"), ApiError("x"), KeyError("x"))
    async with running(client, controller(runs, name="measured", workers=3)) as runtime:
        await runs.reach("a", "a", "a", "a")
        await idle(runtime)
    children = metrics.controller("measured")
    assert children.success._value.get() == 1
    assert children.requeue._value.get() == 1
    assert children.error._value.get() == children.errors._value.get() == 2
    assert children.panics._value.get() == 1
    assert children.active_workers._value.get() == 0
    assert children.max_concurrent._value.get() == 3

"""Controllers on the fault server: what wakes them, how a run ends, and what comes after it."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from stackwright.kube import metrics, predicates, workers
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.client import Client
from stackwright.kube.clock import Clock
from stackwright.kube.controller import Context, Controller, Result, Watch
from stackwright.kube.errors import ApiError, Blocked, NotFound, Retry, Unreachable
from stackwright.kube.informer import Timing
from stackwright.kube.resource import JsonObject, Key, owner_reference
from stackwright.kube.runtime import Runtime, Settings
from stackwright.kube.workers import Verdict, judge
from tests.runtime.conftest import Pauses
from tests.runtime.fault_server import Answer, FaultServer

SECONDS = 30.0
Step = Callable[[Key, Context], Awaitable[Result | None]]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Bugs are logged on purpose here, and structlog takes half a second to draw a traceback for a terminal."""
    with capture_logs():
        yield


def body(name: str, content: str = "1", **metadata: Any) -> JsonObject:
    return {"metadata": {"name": name, "namespace": "one", **metadata}, "data": {"content": content}}


def key(name: str) -> Key:
    return Key("one", name)


class Runs:
    """Notes which keys ran and does what the test says meanwhile."""

    def __init__(self, step: Step | None = None) -> None:
        self.names: list[str] = []
        self.step = step
        self._more = asyncio.Condition()

    async def __call__(self, key: Key, context: Context) -> Result | None:
        self.names.append(key.name)
        async with self._more:
            self._more.notify_all()
        return await self.step(key, context) if self.step else None

    async def reach(self, *names: str) -> None:
        """Wait until these have run, in any order, as often as they are named."""
        async with asyncio.timeout(SECONDS), self._more:
            await self._more.wait_for(lambda: all(self.names.count(name) >= names.count(name) for name in names))


def controller(runs: Runs, **options: Any) -> Controller:
    return Controller(**{"name": "test", "kind": ConfigMap, "reconcile": runs, "workers": 2, **options})


@contextlib.asynccontextmanager
async def running(client: Client, *controllers: Controller, **options: Any) -> AsyncIterator[Runtime]:
    # Informers come back at once instead of after seconds.
    quick = Settings(timing=Timing(clock=Clock(sleep=Pauses())))
    runtime = Runtime(client, controllers, **{"settings": quick, **options})
    task = asyncio.create_task(runtime.run())
    try:
        synced = asyncio.ensure_future(runtime.informers.synced())
        await asyncio.wait((task, synced), timeout=SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            synced.cancel()
            await task
        yield runtime
    finally:
        runtime.stop()
        async with asyncio.timeout(SECONDS):
            await task
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not [task for task in left if "server" not in repr(task).lower() and "aiohttp" not in repr(task)], left


async def idle(runtime: Runtime) -> None:
    """Wait until nothing is to be done: the cache has all, the queue is empty and nobody works."""
    await asyncio.sleep(0)
    for one in runtime.workers:
        async with asyncio.timeout(SECONDS):
            while one.queue or one.queue._working:
                await one.queue.drained()
                await asyncio.sleep(0)


async def caught_up(runtime: Runtime, server: FaultServer) -> None:
    server.bookmark()
    for informer in runtime.informers.all():
        assert await informer.reached(str(server.revision), SECONDS)
    await idle(runtime)


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


# After a write.


async def test_a_key_does_not_run_again_before_the_cache_has_what_it_wrote(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, body("a", "0"))
    seen: list[str] = []

    async def count(key: Key, context: Context) -> Result | None:
        found = context.store(ConfigMap).get(key)
        assert found is not None
        seen.append(found.data["content"])
        if len(seen) == 1:
            server.silence()
        if len(seen) < 3:
            await context.client.apply(ConfigMap, body(key.name, str(int(found.data["content"]) + 1)))
        return Result(after=0.001)

    runs = Runs(count)
    async with running(client, controller(runs)):
        await server.requested(1, verb="apply")
        await runs.reach("a")
        # The delay is long over; only the cache holds the key back.
        await asyncio.wait([asyncio.ensure_future(runs.reach("a", "a"))], timeout=0.05)
        assert seen == ["0"]
        server.heal()
        server.cut_streams()
        await runs.reach("a", "a", "a")
    assert seen[:3] == ["0", "1", "2"]


async def test_a_cache_that_stays_behind_is_not_waited_for_longer(
    client: Client, server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "CACHE_PATIENCE", 0.02)
    server.put(ConfigMap, body("a"))

    async def write(key: Key, context: Context) -> Result | None:
        if len(runs.names) > 1:
            return None
        server.silence()
        await context.client.apply(ConfigMap, body(key.name, "2"))
        return Result(after=0.001)

    runs = Runs(write)
    async with running(client, controller(runs)):
        await runs.reach("a", "a")


async def test_a_write_of_a_kind_that_nobody_follows_is_not_waited_for(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, body("a"))

    async def write(key: Key, context: Context) -> Result | None:
        await context.client.apply(Secret, body(key.name, str(len(runs.names))))
        return Result(after=0.001)

    runs = Runs(write)
    async with running(client, controller(runs)):
        await runs.reach("a", "a", "a")


async def test_a_failed_run_waits_for_its_writes_as_well(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, body("a", "0"))
    seen: list[str] = []

    async def write_and_fail(key: Key, context: Context) -> None:
        found = context.store(ConfigMap).get(key)
        assert found is not None
        seen.append(found.data["content"])
        if len(seen) < 4:
            await context.client.apply(ConfigMap, body(key.name, str(len(seen))))
            raise Retry("again", after=0.0)

    runs = Runs(write_and_fail)
    async with running(client, controller(runs)):
        await runs.reach("a", "a", "a", "a")
    assert seen[:4] == ["0", "1", "2", "3"]


async def test_a_kind_that_is_not_declared_cannot_be_read(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, body("a"))
    messages: list[str] = []

    async def read(_key: Key, context: Context) -> None:
        try:
            context.store(Secret)
        except LookupError as error:
            messages.append(str(error))

    runs = Runs(read)
    async with running(client, controller(runs)) as runtime:
        await runs.reach("a")
        await idle(runtime)
    assert messages == ["nobody follows Secret; add it to the controller's owns, watches or reads"]


# Stopping and starting again.


async def test_stopping_finishes_what_is_in_hand_and_begins_nothing(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, body("a"))
    server.put(ConfigMap, body("b"))
    gate = asyncio.Event()
    finished: list[str] = []

    async def slowly(key: Key, _context: Context) -> None:
        await gate.wait()
        finished.append(key.name)

    runs = Runs(slowly)
    async with running(client, controller(runs, workers=1)) as runtime:
        await runs.reach("a")
        runtime.stop()
        await asyncio.sleep(0)
        assert finished == []
        gate.set()
    assert finished == ["a"]
    assert runs.names == ["a"]


async def test_stopping_has_a_bound(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, body("a"))
    ended: list[str] = []

    async def never(_key: Key, _context: Context) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    runs = Runs(never)
    async with running(client, controller(runs), settings=Settings(drain=0.05)):
        await runs.reach("a")
    assert ended == ["cancelled"]


async def test_stopping_does_not_wait_for_the_cache(client: Client, server: FaultServer) -> None:
    server.put(ConfigMap, body("a"))

    async def write(key: Key, context: Context) -> None:
        server.silence()
        await context.client.apply(ConfigMap, body(key.name, "2"))

    runs = Runs(write)
    async with running(client, controller(runs)) as runtime:
        async with asyncio.timeout(SECONDS):
            while not runtime.workers[0]._settling:
                await asyncio.sleep(0)
        began = asyncio.get_running_loop().time()
        runtime.stop()
    assert asyncio.get_running_loop().time() - began < 2.0


async def copy_to_secret(key: Key, context: Context) -> Result | None:
    """A controller of the size of an example: every ConfigMap has a Secret of the same content, which it owns."""
    source = context.store(ConfigMap).get(key)
    if source is None:
        return None
    copy = context.store(Secret).get(key)
    if copy is None or copy.data != source.data:
        metadata = {"name": key.name, "namespace": key.namespace, "ownerReferences": [owner_reference(source)]}
        await context.client.apply(Secret, {"metadata": metadata, "data": source.data})
    if source.metadata.annotations.get("copied") != source.data["content"]:
        note = {"metadata": {"annotations": {"copied": source.data["content"]}}}
        await context.client.patch(ConfigMap, key.name, key.namespace, note)
    return None


@pytest.mark.parametrize("crash_at", range(1, 7))
async def test_a_crash_in_the_middle_and_a_restart_converge(client: Client, server: FaultServer, crash_at: int) -> None:
    """Cancel everything at the n-th write, before or after the server carried it out; then start anew."""
    for name in ("a", "b", "c"):
        server.put(ConfigMap, body(name))
    example = Controller(name="copy", kind=ConfigMap, reconcile=copy_to_secret, owns=(Secret,), workers=2)
    first = asyncio.create_task(Runtime(client, (example,)).run())
    writes = 0
    while writes < crash_at:
        await server.requested(len(server.requests) + 1)
        writes = len(server.seen("apply")) + len(server.seen("patch"))
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    server.put(ConfigMap, body("d"))
    server.remove(ConfigMap, "a", "one")
    async with running(client, example) as runtime:
        await caught_up(runtime, server)
        await caught_up(runtime, server)
    for name in ("b", "c", "d"):
        copy, source = server.object(Secret, name, "one"), server.object(ConfigMap, name, "one")
        assert copy is not None
        assert source is not None
        assert copy["data"] == source["data"] == {"content": "1"}
        assert source["metadata"]["annotations"] == {"copied": "1"}


async def test_a_run_under_faults_converges(client: Client, server: FaultServer) -> None:
    example = Controller(name="copy", kind=ConfigMap, reconcile=copy_to_secret, owns=(Secret,))
    async with running(client, example) as runtime:
        for number in range(40):
            server.put(ConfigMap, body(f"item-{number}", str(number)))
            if number % 7 == 0:
                server.fault(Answer(500), on="apply", times=2)
                server.cut_streams()
            if number % 11 == 0:
                server.compact()
                server.fault(Answer(503, retry_after=0), on="watch")
            await asyncio.sleep(0)
        server.heal()
        async with asyncio.timeout(20):
            while len(server.objects(Secret)) < 40 or not all(
                "copied" in item["metadata"].get("annotations", {}) for item in server.objects(ConfigMap)
            ):
                await server.requested(len(server.requests) + 1, timeout=20)
        await caught_up(runtime, server)
    assert {item["metadata"]["name"]: item["data"] for item in server.objects(Secret)} == {
        f"item-{number}": {"content": str(number)} for number in range(40)
    }

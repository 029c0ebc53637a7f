"""The queue's promises, one at a time."""

import asyncio
import contextlib

import pytest

from stackwright.kube import metrics
from stackwright.kube.queue import Backoff, Priority, Queue, ShutDown


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(clock: Clock) -> Queue[str]:
    return Queue(clock=clock, backoff=Backoff(chance=lambda: 0.0))


def test_a_key_added_twice_runs_once(queue: Queue[str]) -> None:
    queue.add("a")
    queue.add("a")
    assert [queue.take(), queue.take()] == ["a", None]


def test_a_key_added_while_worked_on_runs_exactly_once_more(queue: Queue[str]) -> None:
    queue.add("a")
    assert queue.take() == "a"
    queue.add("a")
    queue.add("a")
    assert queue.take() is None
    queue.done("a")
    assert queue.take() == "a"
    queue.done("a")
    assert queue.take() is None


def test_a_key_added_low_while_worked_on_and_then_normal_comes_back_normal(queue: Queue[str]) -> None:
    queue.add("a")
    queue.take()
    queue.add("a", Priority.LOW)
    queue.add("a", Priority.NORMAL)
    queue.add("low", Priority.LOW)
    queue.done("a")
    assert queue.take() == "a"


def test_delayed_keys_come_in_the_order_of_their_due_and_not_before(queue: Queue[str], clock: Clock) -> None:
    queue.add_after("late", 2.0)
    queue.add_after("early", 1.0)
    queue.add_after("early too", 1.0)
    clock.now = 0.99
    assert queue.take() is None
    clock.now = 3.0
    assert [queue.take() for _ in range(3)] == ["early", "early too", "late"]


def test_the_earlier_of_two_delays_counts(queue: Queue[str], clock: Clock) -> None:
    queue.add_after("a", 5.0)
    queue.add_after("a", 1.0)
    queue.add_after("a", 9.0)
    clock.now = 1.0
    assert queue.take() == "a"
    queue.done("a")
    clock.now = 20.0
    assert queue.take() is None, "one run answers all that was asked"


def test_a_delay_asked_for_during_a_run_survives_it(queue: Queue[str], clock: Clock) -> None:
    queue.add("a")
    queue.take()
    queue.add_after("a", 1.0)
    queue.done("a")
    assert queue.take() is None
    clock.now = 1.0
    assert queue.take() == "a"


def test_a_delay_that_ends_during_a_run_is_one_more_run(queue: Queue[str], clock: Clock) -> None:
    queue.add("a")
    queue.take()
    queue.add_after("a", 1.0)
    clock.now = 1.0
    assert queue.take() is None
    queue.done("a")
    assert queue.take() == "a"


def test_backoff_doubles_from_5_ms_to_1000_s(queue: Queue[str], clock: Clock) -> None:
    delays = []
    for _ in range(20):
        delays.append(queue.retry("a"))
        clock.now += 2000
        assert queue.take() == "a"
        queue.done("a")
    assert delays[:4] == [0.005, 0.01, 0.02, 0.04]
    assert delays[-1] == 1000.0
    queue.forget("a")
    assert queue.retry("a") == 0.005


def test_backoff_after_days_of_failures_is_still_a_number() -> None:
    assert Backoff(chance=lambda: 0.0).delay(100_000) == 1000.0


@pytest.mark.parametrize(
    ("chance", "expected"),
    [pytest.param(0.0, 1.0, id="the-whole"), pytest.param(0.999, 0.8002, id="a-fifth-less")],
)
def test_jitter_only_shortens(chance: float, expected: float) -> None:
    assert Backoff(first=1.0, chance=lambda: chance).delay(0) == pytest.approx(expected)


def test_a_retry_keeps_its_priority(queue: Queue[str], clock: Clock) -> None:
    queue.add("low", Priority.LOW)
    queue.take()
    queue.retry("low")
    queue.done("low")
    clock.now = 1.0
    queue.take()  # moves what is due
    queue.done("low")
    queue.add("low", Priority.LOW)
    queue.add("normal")
    assert queue.take() == "normal"


def test_far_delays_of_a_busy_key_do_not_pile_up(queue: Queue[str]) -> None:
    for _ in range(10_000):
        queue.add_after("a", 3600.0)
        queue.add("a")
        assert queue.take() == "a"
        queue.done("a")
    assert len(queue._heap) < 200


def test_shutting_down_drops_what_waits_and_ignores_what_comes(queue: Queue[str], clock: Clock) -> None:
    queue.add("worked on")
    queue.take()
    queue.add("worked on")
    queue.add("ready")
    queue.add_after("delayed", 1.0)
    queue.shut_down()
    queue.add("new")
    queue.add_after("new and delayed", 1.0)
    clock.now = 5.0
    assert queue.take() is None
    queue.done("worked on")
    assert queue.take() is None
    assert len(queue) == 0


def test_the_metrics_follow(clock: Clock) -> None:
    children = metrics.queue("test-queue")
    queue: Queue[str] = Queue(clock=clock, metrics=children)
    for key in "abc":
        queue.add(key)
    queue.add("a")
    assert children.depth._value.get() == 3
    assert children.adds._value.get() == 4
    taken = queue.take()
    assert taken is not None
    clock.now = 2.0
    assert queue.running() == (2.0, 2.0)
    queue.retry(taken)
    queue.done(taken)
    assert children.retries._value.get() == 1
    queue.shut_down()
    assert children.depth._value.get() == 0


async def test_a_waiting_worker_gets_a_new_key(queue: Queue[str]) -> None:
    worker = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add("a")
    assert await asyncio.wait_for(worker, 1) == "a"


async def test_a_waiting_worker_gets_a_delayed_key() -> None:
    queue: Queue[str] = Queue()
    worker = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add_after("later", 0.02)
    queue.add_after("sooner", 0.01)
    assert await asyncio.wait_for(worker, 1) == "sooner"
    assert await asyncio.wait_for(queue.get(), 1) == "later"


async def test_each_key_wakes_a_worker(queue: Queue[str]) -> None:
    workers = [asyncio.create_task(queue.get()) for _ in range(3)]
    await asyncio.sleep(0)
    for key in "abc":
        queue.add(key)
    assert sorted(await asyncio.wait_for(asyncio.gather(*workers), 1)) == ["a", "b", "c"]


async def test_a_worker_cancelled_as_it_is_woken_passes_the_key_on(queue: Queue[str]) -> None:
    first = asyncio.create_task(queue.get())
    second = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add("a")
    first.cancel()
    assert await asyncio.wait_for(second, 1) == "a"
    with contextlib.suppress(asyncio.CancelledError):
        await first


async def test_shutting_down_ends_the_workers_and_drains(queue: Queue[str]) -> None:
    queue.add("a")
    assert await queue.get() == "a"
    workers = [asyncio.create_task(queue.get()) for _ in range(3)]
    await asyncio.sleep(0)
    queue.shut_down()
    results = await asyncio.gather(*workers, return_exceptions=True)
    assert [type(result) for result in results] == [ShutDown] * 3
    drained = asyncio.create_task(queue.drained())
    await asyncio.sleep(0)
    assert not drained.done()
    queue.done("a")
    await asyncio.wait_for(drained, 1)


async def test_many_workers_never_share_a_key_and_serve_all() -> None:
    queue: Queue[int] = Queue()
    busy: set[int] = set()
    runs: dict[int, int] = {}

    async def work() -> None:
        with contextlib.suppress(ShutDown):
            while True:
                key = await queue.get()
                assert key not in busy
                busy.add(key)
                await asyncio.sleep(0)
                runs[key] = runs.get(key, 0) + 1
                if runs[key] == 1 and key % 7 == 0:
                    queue.retry(key)
                elif runs[key] == 1 and key % 5 == 0:
                    queue.add(key)
                busy.discard(key)
                queue.done(key)
                if len(runs) == 200 and all(runs[key] == 2 for key in range(200) if key % 7 == 0 or key % 5 == 0):
                    queue.shut_down()

    for key in range(200):
        queue.add(key, Priority.LOW if key % 2 else Priority.NORMAL)
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        for _ in range(8):
            group.create_task(work())
    assert set(runs) == set(range(200))

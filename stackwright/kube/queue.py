"""The queue of a controller: which keys to work on, in which order, and not before when.

A key stands in the queue at most once, however often it is added, and is worked on by one worker at a time:
a key that is added meanwhile runs once more afterwards. Deciding is synchronous and asks an injected clock,
so that a test can drive the queue through any history; `get` only adds the waiting.

What a key asks for is the earliest of all that was asked for it, and taking it answers them all: a reconcile
looks at the level, so one run serves every reason to run, and it says itself when it wants to run again.
"""

import asyncio
import collections
import contextlib
import heapq
import itertools
import random
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Generic, TypeVar

from stackwright.kube.metrics import QueueMetrics

K = TypeVar("K", bound=Hashable)

# While normal keys keep coming, one low key is served after this many of them.
NORMAL_IN_A_ROW = 16


class Priority(IntEnum):
    """How soon a key is served: changes before what the first list brought."""

    NORMAL = 0
    LOW = 1


class ShutDown(Exception):
    """The queue was closed and returns no more keys."""


def _chance() -> float:
    return random.random()  # noqa: S311  spreads retries in time; nothing is secret about it


@dataclass(frozen=True)
class Backoff:
    """How long to wait after a number of failures in a row: doubling, bounded, and spread by up to a fifth."""

    first: float = 0.005
    limit: float = 1000.0
    spread: float = 0.2
    chance: Callable[[], float] = field(default=_chance, repr=False)

    def delay(self, failures: int) -> float:
        """Return the seconds to wait after that many failures before this one."""
        # The exponent is bounded as well: a key that fails for days must not overflow a float.
        whole = min(self.limit, self.first * 2.0 ** min(failures, 60))
        return whole * (1.0 - self.spread * self.chance())


@dataclass(frozen=True, slots=True)
class _Work:
    """A key in a worker's hands."""

    since: float
    priority: Priority


@dataclass(frozen=True, slots=True)
class _Delay:
    """A key that is not due yet."""

    due: float
    number: int
    priority: Priority


class Queue(Generic[K]):
    """Hands out keys, each to one worker at a time; see the module for the rules."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        backoff: Backoff | None = None,
        metrics: QueueMetrics | None = None,
    ) -> None:
        self._clock = clock
        self._backoff = backoff or Backoff()
        self._metrics = metrics
        # Both keep when each key became ready; an OrderedDict because taking the first of a dict is not O(1).
        self._ready: dict[Priority, collections.OrderedDict[K, float]] = {
            priority: collections.OrderedDict() for priority in Priority
        }
        self._working: dict[K, _Work] = {}
        self._again: dict[K, Priority] = {}
        self._delays: dict[K, _Delay] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._numbers = itertools.count()
        self._failures: dict[K, int] = {}
        self._normal_in_a_row = 0
        self._closed = False
        self._waiting: collections.deque[asyncio.Future[None]] = collections.deque()
        self._timer: asyncio.TimerHandle | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    def __len__(self) -> int:
        return sum(map(len, self._ready.values()))

    @property
    def closed(self) -> bool:
        """Whether the queue was shut down."""
        return self._closed

    def add(self, key: K, priority: Priority = Priority.NORMAL) -> None:
        """Ask for a run of `key` as soon as a worker is free."""
        if self._closed:
            return
        if self._metrics:
            self._metrics.adds.inc()
        self._add(key, priority)

    def add_after(self, key: K, delay: float, priority: Priority = Priority.NORMAL) -> None:
        """Ask for a run of `key` in `delay` seconds, or sooner if somebody asks for that."""
        if delay <= 0:
            self.add(key, priority)
            return
        due = self._clock() + delay
        known = self._delays.get(key)
        if self._closed or (known and known.due <= due):
            return
        number = next(self._numbers)
        self._delays[key] = _Delay(due, number, min(priority, known.priority) if known else priority)
        heapq.heappush(self._heap, (due, number, key))
        self._compact()
        self._arm()

    def retry(self, key: K, after: float | None = None) -> float:
        """Ask for another run after a failure, with backoff unless `after` is given; return the delay."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = self._backoff.delay(failures) if after is None else after
        if self._metrics:
            self._metrics.retries.inc()
        work = self._working.get(key)
        self.add_after(key, delay, work.priority if work else Priority.NORMAL)
        return delay

    def forget(self, key: K) -> None:
        """Start again from the shortest backoff when `key` fails next: it succeeded."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """Return how many times in a row `key` failed."""
        return self._failures.get(key, 0)

    def take(self) -> K | None:
        """Return the key to work on now, or None; whoever takes a key must say `done`."""
        self._promote()
        ready = self._choose()
        if self._closed or ready is None:
            return None
        key, since = ready.popitem(last=False)
        now = self._clock()
        priority = Priority.NORMAL if ready is self._ready[Priority.NORMAL] else Priority.LOW
        self._working[key] = _Work(now, priority)
        self._delays.pop(key, None)
        self._idle.clear()
        if self._metrics:
            self._metrics.queue_duration.observe(now - since)
            self._metrics.depth.dec()
        return key

    def done(self, key: K) -> None:
        """Say that `key` is no longer worked on; it runs again if it was added meanwhile."""
        work = self._working.pop(key, None)
        if work is None:
            return
        if self._metrics:
            self._metrics.work_duration.observe(self._clock() - work.since)
        again = self._again.pop(key, None)
        if again is not None and not self._closed:
            self._add(key, again)
        if not self._working:
            self._idle.set()

    def next_due(self) -> float | None:
        """Return when the next delayed key is due, by the queue's clock."""
        while self._heap and not self._is_current(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def running(self) -> tuple[float, float]:
        """Return for how long keys have been worked on: all of them added up, and the longest."""
        now = self._clock()
        ages = [now - work.since for work in self._working.values()]
        return sum(ages), max(ages, default=0.0)

    def shut_down(self) -> None:
        """Return no more keys. Waiting ones are dropped: the next process looks at everything anyway."""
        self._closed = True
        if self._metrics:
            self._metrics.depth.dec(len(self))
        for ready in self._ready.values():
            ready.clear()
        self._again.clear()
        self._delays.clear()
        self._heap.clear()
        if self._timer:
            self._timer.cancel()
            self._timer = None
        while self._waiting:
            self._wake()

    async def get(self) -> K:
        """Wait for a key to work on; raise ShutDown when there will be none."""
        while True:
            if self._closed:
                raise ShutDown
            key = self.take()
            if key is not None:
                return key
            await self._wait()

    async def drained(self) -> None:
        """Wait until no key is worked on."""
        await self._idle.wait()

    def _add(self, key: K, priority: Priority) -> None:
        if key in self._working:
            self._again[key] = min(priority, self._again.get(key, priority))
            return
        normal, low = self._ready[Priority.NORMAL], self._ready[Priority.LOW]
        if key in normal or (key in low and priority is Priority.LOW):
            return
        # A key that waits at low priority moves over, and keeps the time since which it waits.
        moved = low.pop(key, None)
        self._ready[priority][key] = self._clock() if moved is None else moved
        if moved is not None:
            self._normal_in_a_row = self._normal_in_a_row if low else 0
            return
        if self._metrics:
            self._metrics.depth.inc()
        self._wake()

    def _choose(self) -> "collections.OrderedDict[K, float] | None":
        normal, low = self._ready[Priority.NORMAL], self._ready[Priority.LOW]
        if normal and not (low and self._normal_in_a_row >= NORMAL_IN_A_ROW):
            # Only what is served while a low key waits counts against it.
            self._normal_in_a_row = self._normal_in_a_row + 1 if low else 0
            return normal
        self._normal_in_a_row = 0
        return low or None

    def _promote(self) -> None:
        """Move the keys that are due to where workers take them, in the order in which they are due."""
        now = self._clock()
        while (due := self.next_due()) is not None and due <= now:
            _, _, key = heapq.heappop(self._heap)
            self.add(key, self._delays.pop(key).priority)

    def _is_current(self, entry: tuple[float, int, K]) -> bool:
        delay = self._delays.get(entry[2])
        return delay is not None and delay.number == entry[1]

    def _compact(self) -> None:
        """Drop entries that were overtaken, so that a key with a far due that runs often does not pile them up."""
        if len(self._heap) > 2 * len(self._delays) + 64:
            self._heap = [entry for entry in self._heap if self._is_current(entry)]
            heapq.heapify(self._heap)

    def _wake(self) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    async def _wait(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        self._arm()
        try:
            await waiter
        except asyncio.CancelledError:
            # It was woken for a key that it will not take now: the next in line shall.
            if waiter.done() and not waiter.cancelled():
                self._wake()
            raise
        finally:
            with contextlib.suppress(ValueError):
                self._waiting.remove(waiter)

    def _arm(self) -> None:
        """Wake a worker when the next delayed key is due; without workers that wait there is nothing to do."""
        due = self.next_due()
        if due is None or not self._waiting:
            return
        if self._timer:
            self._timer.cancel()
        # The loop's clock and ours may differ in rate; a timer that fires early is armed again by the waiter.
        self._timer = asyncio.get_running_loop().call_later(max(0.0, due - self._clock()), self._ring)

    def _ring(self) -> None:
        self._timer = None
        self._promote()
        self._arm()

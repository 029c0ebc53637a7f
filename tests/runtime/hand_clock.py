"""A clock that is turned by hand."""

import asyncio
import heapq
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from stackwright.kube.clock import Clock

# How many turns of the event loop a request on loopback and what follows from it take, with room to spare.
TURNS = 100


class HandClock:
    """Monotonic and wall time that pass when a test says so; who sleeps wakes in order.

    All parts of one test share it, as machines share the passing of time; `clock` gives each a wall of its own.
    """

    def __init__(self) -> None:
        self.seconds = 1000.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def clock(self, *, wall_ahead: float = 0.0) -> Clock:
        """Return a clock of one machine, whose wall may be wrong."""
        epoch = datetime(2026, 11, 15, tzinfo=UTC) + timedelta(seconds=wall_ahead)
        return Clock(
            monotonic=lambda: self.seconds, now=lambda: epoch + timedelta(seconds=self.seconds), sleep=self.sleep
        )

    async def sleep(self, seconds: float) -> None:
        """Return when that much time was let pass."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.seconds + seconds, next(self._order), future))
        await future

    async def advance(self, seconds: float) -> None:
        """Let time pass; everybody who is woken gets the turns to do what they woke for."""
        end = self.seconds + seconds
        await settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            self.seconds, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)
                await settle()
        self.seconds = end
        await settle()

    async def until(self, holds: Callable[[], bool], *, at_most: float = 120.0, step: float = 0.25) -> None:
        """Let time pass until something holds; fail when it does not in time."""
        end = self.seconds + at_most
        while not holds():
            assert self.seconds < end, f"it did not happen in {at_most:g} seconds"
            await self.advance(step)


async def settle() -> None:
    """Let everything that can run now run, requests on loopback included."""
    for _ in range(TURNS):
        await asyncio.sleep(0)

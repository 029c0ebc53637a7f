"""How far a cache has progressed, as a resource version, and waiting for further progress."""

import asyncio
import heapq
import itertools


class Progress:
    """Counts up to a version; tasks that wait for a version are woken when it is reached, without polling."""

    def __init__(self) -> None:
        self.version = 0
        self._waiters: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    @property
    def waiting(self) -> int:
        """How many wait for a version."""
        return len(self._waiters)

    def advance(self, version: int) -> None:
        """Set the version, and wake the tasks that wait for it or for an earlier one."""
        self.version = version
        while self._waiters and self._waiters[0][0] <= version:
            _, _, waiter = heapq.heappop(self._waiters)
            if not waiter.done():
                waiter.set_result(None)

    async def reached(self, version: int, timeout: float) -> bool:
        """Wait until a version is reached; return False when it is not in time."""
        if self.version >= version:
            return True
        waiter = asyncio.get_running_loop().create_future()
        entry = (version, next(self._numbers), waiter)
        heapq.heappush(self._waiters, entry)
        try:
            async with asyncio.timeout(timeout):
                await waiter
        except TimeoutError:
            return False
        finally:
            if entry in self._waiters:
                self._waiters.remove(entry)
                heapq.heapify(self._waiters)
        return True

"""Tasks that have an owner: the only place that starts one outside of a task group.

asyncio shouts "Task exception was never retrieved" where the one who waited for a task was cancelled before the task
failed. Here whoever waits gets the failure; where nobody waits any more, nobody wants to know.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
F = TypeVar("F")


def start(work: Awaitable[T], *, name: str | None = None) -> asyncio.Task[T]:
    """Start a task; the caller owns it, and has to wait for it or to `end` it."""
    task = asyncio.create_task(work if inspect.iscoroutine(work) else _awaited(work), name=name)
    task.add_done_callback(_look_at)
    return task


async def end(*started: asyncio.Task[Any]) -> None:
    """Cancel tasks, and wait until they have ended; how they ended does not matter any more."""
    for task in started:
        task.cancel()
    if started:
        await asyncio.wait(started)


@overload
async def together(a: Awaitable[A], b: Awaitable[B], /) -> tuple[A, B]: ...


@overload
async def together(a: Awaitable[A], b: Awaitable[B], c: Awaitable[C], d: Awaitable[D], /) -> tuple[A, B, C, D]: ...


@overload
async def together(
    a: Awaitable[A], b: Awaitable[B], c: Awaitable[C], d: Awaitable[D], e: Awaitable[E], /
) -> tuple[A, B, C, D, E]: ...


@overload
async def together(
    a: Awaitable[A], b: Awaitable[B], c: Awaitable[C], d: Awaitable[D], e: Awaitable[E], f: Awaitable[F], /
) -> tuple[A, B, C, D, E, F]: ...


@overload
async def together(*work: Awaitable[T]) -> list[T]: ...


async def together(*work: Awaitable[Any]) -> Any:
    """Do several things at once and return their results in order; if one fails, the others end before it is raised.

    asyncio.gather lets the others run on: they fail later, where whatever they use is closed and nobody waits for them.
    """
    return await _gathered(work, keep_failures=False)


async def outcomes(*work: Awaitable[T]) -> list[T | BaseException]:
    """Do several things at once, each to its own end, and return in order what each returned or raised."""
    found: list[T | BaseException] = await _gathered(work, keep_failures=True)
    return found


async def _gathered(work: Iterable[Awaitable[Any]], *, keep_failures: bool) -> list[Any]:
    started = [start(one) for one in work]
    try:
        return await asyncio.gather(*started, return_exceptions=keep_failures)  # noqa: TID251  the rest is ended below
    finally:
        await end(*(task for task in started if not task.done()))


async def to_the_end(work: Awaitable[T]) -> T:
    """Wait for short work that must not stop in the middle; a cancellation that comes meanwhile is raised after it."""
    task = start(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return task.result()


async def _awaited(work: Awaitable[T]) -> T:
    return await work


def _look_at(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()


@dataclass(eq=False)
class _Run(Generic[T]):
    """A task, and how many wait for it."""

    task: asyncio.Task[T]
    waiting: int = 0


class Shared(Generic[K, T]):
    """Runs the same work once for all who ask for it at the same time, and ends it when the last of them gives up."""

    def __init__(self) -> None:
        self._running: dict[K, _Run[T]] = {}

    async def once(self, key: K, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what the work of a key returns, or raise what it raises."""
        run = self._running.get(key)
        if run is None:
            run = self._running[key] = _Run(start(make()))
        run.waiting += 1
        try:
            # Whoever gives up does not take the result of the others away.
            return await asyncio.shield(run.task)
        finally:
            run.waiting -= 1
            if self._running.get(key) is run and (run.task.done() or not run.waiting):
                del self._running[key]
            if not run.waiting:
                await end(run.task)

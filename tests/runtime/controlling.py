"""Controllers on the fault server, for the tests of them: they run, note their runs, and are waited for."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from stackwright.kube.builtin import ConfigMap
from stackwright.kube.client import Client
from stackwright.kube.clock import Clock
from stackwright.kube.controller import Context, Controller, Result
from stackwright.kube.informer import Timing
from stackwright.kube.resource import JsonObject, Key
from stackwright.kube.runtime import Runtime, Settings
from tests.runtime.conftest import Pauses
from tests.runtime.fault_server import FaultServer

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

"""Runtimes on the fault server: without pauses, and ended with the test."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from stackwright.kube.clock import Clock
from stackwright.kube.informer import Timing
from stackwright.kube.runtime import Runtime, Settings
from tests.runtime.conftest import Pauses

SECONDS = 30.0


def quick(**options: float) -> Settings:
    return Settings(timing=Timing(clock=Clock(sleep=Pauses())), **options)  # type: ignore[arg-type]  # they are floats


@contextlib.asynccontextmanager
async def started(runtime: Runtime) -> AsyncIterator["asyncio.Task[None]"]:
    task = asyncio.create_task(runtime.run())
    try:
        yield task
    finally:
        runtime.stop()
        async with asyncio.timeout(SECONDS):
            await task

"""Runs a runtime for the time of a block, and counts what this process asked of servers."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from prometheus_client import REGISTRY

from stackwright.kube.runtime import Runtime
from tests.functional.watching import PATIENCE

# How long, in seconds, the loop may take to close connections that were given up.
CLOSING = 0.2


@contextlib.asynccontextmanager
async def running(runtime: Runtime) -> AsyncIterator[None]:
    """Run until the block ends, then drain."""
    task = asyncio.create_task(runtime.run())
    try:
        yield
    finally:
        runtime.stop()
        await asyncio.wait_for(task, PATIENCE)
        # A test may end while the runtime still connects: connections under TLS that were given up are closed late.
        await asyncio.sleep(CLOSING)


async def idle(controller: str) -> None:
    """Wait until no worker of the controller is at work.

    What a worker wrote is seen before its answer is counted: who has seen the one and wants the other waits here.
    """
    async with asyncio.timeout(PATIENCE):
        while REGISTRY.get_sample_value("controller_runtime_active_workers", {"controller": controller}):
            await asyncio.sleep(0.01)


def patches() -> float:
    """How many patches this process has sent, whatever was said to them."""
    return sum(
        sample.value
        for family in REGISTRY.collect()
        for sample in family.samples
        if sample.name == "rest_client_requests_total" and sample.labels["method"] == "PATCH"
    )

"""Runs a runtime for the time of a block, and counts what this process asked of servers."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from prometheus_client import REGISTRY

from stackwright.kube.runtime import Runtime
from tests.functional.watching import PATIENCE


@contextlib.asynccontextmanager
async def running(runtime: Runtime) -> AsyncIterator[None]:
    """Run until the block ends, then drain."""
    task = asyncio.create_task(runtime.run())
    try:
        yield
    finally:
        runtime.stop()
        await asyncio.wait_for(task, PATIENCE)


def patches() -> float:
    """How many patches this process has sent, whatever was said to them."""
    return sum(
        sample.value
        for family in REGISTRY.collect()
        for sample in family.samples
        if sample.name == "rest_client_requests_total" and sample.labels["method"] == "PATCH"
    )

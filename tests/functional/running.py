"""Runs a runtime for the time of a block, and counts what this process asked of servers."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable

import structlog
from prometheus_client import REGISTRY

from stackwright.kube.client import Client
from stackwright.kube.controller import Context
from stackwright.kube.events import EventRecorder
from stackwright.kube.informers import Informers
from stackwright.kube.metrics import informer_relists_total, reconcile_total
from stackwright.kube.resource import Key, Resource
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


async def quiet(runtime: Runtime) -> None:
    """Wait until all that is due is done. What a controller does later, by a timer, is not waited for."""
    async with asyncio.timeout(PATIENCE):
        while busy := [workers for workers in runtime.workers if workers.queue or workers.queue._working]:
            for workers in busy:
                await workers.queue.drained()
            await asyncio.sleep(0)


async def worked_through(runtime: Runtime, written: Resource) -> None:
    """Wait until the runtime knows what was written, and has done all of it: then look for what must not be."""
    # Before its caches are complete, a controller has not begun.
    await asyncio.wait_for(runtime.informers.synced(), PATIENCE)
    (informer, *_) = runtime.informers.caching(written.kind)
    assert await informer.reached(written.metadata.resourceVersion, PATIENCE), f"{written.kind} is not followed"
    await quiet(runtime)


async def forgotten(runtime: Runtime, kind: type[Resource], key: Key) -> None:
    """Wait until the runtime knows that an object is gone, and has done what comes of that."""
    await runtime.informers.synced()
    async with asyncio.timeout(PATIENCE):
        while runtime.informers.store(kind).get(key) is not None:
            await asyncio.sleep(0.01)  # A cache cannot be watched from outside of the runtime.
    await quiet(runtime)


async def standing_still(client: Client, namespace: str, kinds: Iterable[type[Resource]]) -> Context:
    """Return a context whose caches have what is there now, and learn nothing more."""
    informers = Informers(client, namespace=namespace)
    following = [asyncio.create_task(informers.of(kind).run()) for kind in kinds]
    async with asyncio.timeout(PATIENCE):
        await informers.synced()
    for task in following:
        task.cancel()
    await asyncio.wait(following)
    return Context(client, informers, EventRecorder(client, "test"), "test", structlog.get_logger())


class Passes:
    """Counts the passes that a controller ends from now on: proof that it looked, for what it must not do then."""

    def __init__(self, controller: str) -> None:
        self._controller = controller
        self._before = self._all()

    def _all(self) -> float:
        return sum(
            sample.value
            for family in reconcile_total.collect()
            for sample in family.samples
            if sample.labels.get("controller") == self._controller
        )

    @property
    def ended(self) -> int:
        return int(self._all() - self._before)

    async def reach(self, times: int) -> None:
        """Wait until so many have ended, and none is under way. The first may have begun before."""
        async with asyncio.timeout(PATIENCE):
            while self.ended < times:
                await asyncio.sleep(0.01)  # A counter cannot be watched.
        await idle(self._controller)


def lists(kind: type[Resource]) -> float:
    """How many times caches of this process have listed a kind: proof that somebody looked, and found nothing."""
    return sum(
        sample.value
        for family in informer_relists_total.collect()
        for sample in family.samples
        if sample.name.endswith("_total") and sample.labels["kind"] == str(kind.kind)
    )


def patches() -> float:
    """How many patches this process has sent, whatever was said to them."""
    return sum(
        sample.value
        for family in REGISTRY.collect()
        for sample in family.samples
        if sample.name == "rest_client_requests_total" and sample.labels["method"] == "PATCH"
    )

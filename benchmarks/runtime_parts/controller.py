"""Our controller: it writes the status of every Chore once."""

import asyncio
import logging
import sys

import structlog

from benchmarks.parts.measuring import Meter
from benchmarks.runtime_parts.kinds import Chore
from benchmarks.runtime_parts.names import PHASE, namespace
from stackwright.kube import config
from stackwright.kube.client import Client
from stackwright.kube.controller import Context, Controller
from stackwright.kube.resource import Key
from stackwright.kube.runtime import Runtime, Settings


async def reconcile(key: Key, context: Context) -> None:
    """Write what the kopf operator writes."""
    chore = context.store(Chore).get(key)
    if chore is None or chore.status.observedGeneration == chore.metadata.generation:
        return
    status = {"phase": PHASE, "observedGeneration": chore.metadata.generation}
    body = {"metadata": {"name": key.name, "namespace": key.namespace}, "status": status}
    await context.client.apply(Chore, body, subresource="status")


async def main() -> None:
    """Run the controller until it is measured."""
    meter = Meter()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    controller = Controller(name="chore", kind=Chore, reconcile=reconcile, workers=16)
    async with Client(config.load()) as client:
        runtime = Runtime(client, (controller,), namespace=namespace(), settings=Settings(own_process=True))
        running = asyncio.ensure_future(runtime.run())
        await meter.report()
        runtime.stop()
        await running


if __name__ == "__main__":
    asyncio.run(main())

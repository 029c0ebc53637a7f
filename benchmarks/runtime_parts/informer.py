"""Our cache: every Node, typed to its last field, as a controller has it."""

import asyncio
import logging
import sys

import structlog

from benchmarks.parts.measuring import Meter, say
from benchmarks.runtime_parts.kinds import Node
from benchmarks.runtime_parts.names import SYNCED, namespace
from stackwright.kube import config
from stackwright.kube.client import Client
from stackwright.kube.runtime import Runtime, Settings


async def main() -> None:
    """Fill the cache, follow, and be measured."""
    meter = Meter()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    async with Client(config.load()) as client:
        runtime = Runtime(client, (), namespace=namespace(), settings=Settings(own_process=True))
        informer = runtime.informers.of(Node)
        running = asyncio.ensure_future(runtime.run())
        await informer.synced()
        say(SYNCED)
        await meter.report()
        runtime.stop()
        await running


if __name__ == "__main__":
    asyncio.run(main())

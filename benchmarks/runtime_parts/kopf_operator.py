"""A minimal kopf operator: it writes the status of every Chore once.

Its settings are kopf's own, but for what would only cost it: it posts no events (two more writes for every
object), knows of no peers, and logs nothing but warnings. It keeps its notes where kopf does unless told
otherwise, in an annotation.
"""

import asyncio
import logging
from typing import Any

import kopf  # type: ignore[import-not-found, unused-ignore]  # only this program's own environment has it

from benchmarks.parts.measuring import Meter
from benchmarks.runtime_parts.names import CHORES, GROUP, PHASE, VERSION, namespace


@kopf.on.startup()  # type: ignore[untyped-decorator, unused-ignore]  # see the import
def configure(settings: Any, **_: Any) -> None:
    """Leave out what would only cost."""
    settings.posting.enabled = False


@kopf.on.create(GROUP, VERSION, CHORES)  # type: ignore[untyped-decorator, unused-ignore]  # see the import
@kopf.on.resume(GROUP, VERSION, CHORES)  # type: ignore[untyped-decorator, unused-ignore]  # see the import
async def write_status(meta: Any, patch: Any, **_: Any) -> None:
    """Write what our controller writes."""
    patch.status["phase"] = PHASE
    patch.status["observedGeneration"] = meta["generation"]


async def main() -> None:
    """Run the operator until it is measured."""
    meter = Meter()
    logging.getLogger().setLevel(logging.WARNING)
    stop = asyncio.Event()
    operator = asyncio.ensure_future(kopf.operator(standalone=True, namespaces=[namespace()], stop_flag=stop))
    await meter.report()
    stop.set()
    await operator


if __name__ == "__main__":
    asyncio.run(main())

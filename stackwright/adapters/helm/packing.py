"""Packages charts with the real helm, so that the same files always give the same package."""

import asyncio
import os
import shutil
import tempfile
from pathlib import Path

from stackwright.adapters.errors import Rejected, Unavailable
from stackwright.adapters.helm import charts, programs

# A person waits for it, perhaps on a slow machine.
BOUNDS = programs.Bounds(memory=512 * 2**20, processor_seconds=60, seconds=60.0, written=64 * 2**20)
# The modification time of every file in a package, so that it does not depend on when files were written.
MOMENT = 946684800


async def pack(chart: Path, target: Path, program: Path | None = None) -> Path:
    """Return the package of a chart, `<name>-<version>.tgz` in a folder; files that it links to are copied into it."""
    metadata = (await asyncio.to_thread(charts.read, chart)).record["metadata"]
    found = programs.find(program)
    with tempfile.TemporaryDirectory(prefix="stackwright-pack-") as folder:
        copy = Path(folder) / str(metadata["name"])
        await asyncio.to_thread(_copy, chart, copy)
        words = ("package", str(copy), "--destination", str(target))
        done = await programs.run(found, words, {"HOME": folder}, BOUNDS)
    if done.late:
        raise Unavailable(f"helm did not pack {chart} within {done.exceeded}")
    if done.exceeded:
        raise Rejected(f"helm needs more than {done.exceeded} to pack {chart}; make it smaller")
    if done.code:
        raise Rejected(f"{chart}: {programs.complaint_of(done.complaint)}")
    return target / f"{metadata['name']}-{metadata['version']}.tgz"


def _copy(chart: Path, target: Path) -> None:
    """Copy a chart with the files that it links to, and give all of them the same time."""
    shutil.copytree(chart, target)
    for place, _, names in os.walk(target):
        for name in names:
            os.utime(Path(place, name), (MOMENT, MOMENT))

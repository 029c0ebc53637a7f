"""Starts the process that is measured, and ends it."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from benchmarks.dataplane_parts.operator import READY
from benchmarks.nova_parts.operating import STARTING, Operator, end
from benchmarks.parts.running import ROOT, ProgramFailed


@contextlib.asynccontextmanager
async def operating(kubeconfig: Path, namespace: str, log: Path) -> AsyncIterator[Operator]:
    """Run the controllers in a namespace, for the time of a block."""
    words = ("-m", "benchmarks.dataplane_parts.operator", str(kubeconfig), namespace)
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *words,
            cwd=ROOT,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=output,
        )
    try:
        await _ready(process, log)
        yield Operator(process.pid)
    finally:
        await end(process)


async def _ready(process: asyncio.subprocess.Process, log: Path) -> None:
    assert process.stdout is not None
    with contextlib.suppress(TimeoutError):
        line = await asyncio.wait_for(process.stdout.readline(), STARTING)
        if line.decode().strip() == READY:
            return
    said = await asyncio.to_thread(log.read_text, errors="replace")
    raise ProgramFailed(f"the controllers did not start. Their log:\n{said[-4000:]}")

"""Packs charts with the real helm."""

import asyncio
import tempfile
from pathlib import Path


async def packed(helm: Path, chart: Path) -> bytes:
    """Return a packaged chart."""
    with tempfile.TemporaryDirectory() as folder:
        words = ("package", chart, "--destination", folder)
        process = await asyncio.create_subprocess_exec(helm, *words, stdout=asyncio.subprocess.PIPE)
        printed, _ = await process.communicate()
        assert process.returncode == 0, printed
        return await asyncio.to_thread(Path(printed.decode().rpartition(": ")[2].strip()).read_bytes)

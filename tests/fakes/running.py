"""Starts a fake in a process of its own, for the time of a block."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass
class Fake:
    """A fake that runs: where it listens, and its process."""

    port: int
    process: subprocess.Popen[str] = field(repr=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextlib.contextmanager
def fake(module: str, *arguments: str) -> Iterator[Fake]:
    """Run `python -m module`, which prints its port, until the block ends."""
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, f"{module} ended before it listened"
            yield Fake(int(line), process)
        finally:
            process.kill()

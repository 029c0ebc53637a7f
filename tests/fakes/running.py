"""Starts fakes for the time of a block. All fakes of a kind that this process starts are in one process beside it."""

import atexit
import contextlib
import functools
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]


class Host:
    """The process that has all fakes of a module (see `hosting.py`)."""

    def __init__(self, module: str) -> None:
        self._module = module
        pipe, command = subprocess.PIPE, [sys.executable, "-m", module]
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT)
        atexit.register(self._close)

    def ask(self, wish: object) -> int:
        """Have a fake started, or ended; return its port."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps(wish)}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"{self._module} ended before it answered"
        return int(line)

    def _close(self) -> None:
        with self._process:
            self._process.kill()


@functools.cache
def _host(module: str) -> Host:
    return Host(module)


@dataclass
class Fake:
    """A fake that runs: where it listens."""

    port: int
    host: Host = field(repr=False)
    ended: bool = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def end(self) -> None:
        """End it at once, whoever is connected; to ask twice is harmless."""
        if not self.ended:
            self.ended = True
            self.host.ask(self.port)


@contextlib.contextmanager
def fake(module: str, *arguments: str) -> Iterator[Fake]:
    """Run a fake of a module, which knows nothing of others, until the block ends."""
    host = _host(module)
    started = Fake(host.ask(arguments), host)
    try:
        yield started
    finally:
        started.end()

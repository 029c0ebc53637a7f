"""Runs our commands on the ring's API server: in this process where they end by themselves, else as a program."""

import asyncio
import contextlib
import io
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from stackwright.cli.main import cli, is_ours
from tests.functional.watching import PATIENCE

TIMEOUT = "--request-timeout"


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it said."""

    exit_code: int
    stdout: str
    stderr: str


async def command(kubeconfig: Path, namespace: str, *arguments: str) -> Done:
    """Run a command to its end, beside this loop; one at a time, because it takes the process' standard output."""
    found = await asyncio.to_thread(CliRunner().invoke, cli, _words(kubeconfig, namespace, arguments))
    error = found.exception
    if isinstance(error, Exception) and not isinstance(error, SystemExit):
        if not is_ours(error):
            raise error
        return Done(1, found.stdout, f"{found.stderr}Error: {error}\n")
    return Done(found.exit_code, found.stdout, found.stderr)


def said_so_far() -> str:
    """Return what the command that runs beside this loop has said on standard error, which it has to itself."""
    buffer = getattr(sys.stderr, "buffer", None)
    return buffer.getvalue().decode() if isinstance(buffer, io.BytesIO) else ""


def _words(kubeconfig: Path, namespace: str, arguments: Sequence[str]) -> tuple[str, ...]:
    # Beside a whole ring a server takes longer to answer than a person would wait by default.
    timeout = () if TIMEOUT in arguments else (TIMEOUT, f"{PATIENCE:g}s")
    return *arguments, "--kubeconfig", str(kubeconfig), "--namespace", namespace, *timeout


class Running:
    """A command that goes on until it is interrupted."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[str] = []

    async def until(self, text: str) -> str:
        """Return the next line with a text in it."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while line := (await self.process.stdout.readline()).decode():
                self.lines.append(line.rstrip("\n"))
                if text in line:
                    return line.rstrip("\n")
        raise AssertionError(f"{text!r} did not come; it said {self.lines}")

    async def interrupt(self) -> tuple[int, str]:
        """Interrupt it as Ctrl-C does; return how it ended and what it said on standard error."""
        self.process.send_signal(signal.SIGINT)
        _, complaint = await asyncio.wait_for(self.process.communicate(), PATIENCE)
        return self.process.returncode or 0, complaint.decode()


@contextlib.asynccontextmanager
async def started(kubeconfig: Path, namespace: str, *arguments: str) -> AsyncIterator[Running]:
    """Run a command as a program for the time of a block."""
    words = ("-m", "stackwright.cli", *_words(kubeconfig, namespace, arguments))
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, *words, stdout=pipe, stderr=pipe, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    try:
        yield Running(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()

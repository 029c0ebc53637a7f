"""Runs a program in a fresh process and measures it from its imports until it has nothing left to do."""

import asyncio
import contextlib
import json
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.parts.measuring import Reading

ROOT = Path(__file__).parents[2]

# A program is at rest when it used less than this share of a processor for that many seconds.
REST_SHARE = 0.02
REST_SECONDS = 1.0
# After so many seconds a program that is not done has failed.
DEADLINE = 900.0


class ProgramFailed(Exception):
    """A measured program ended too early, or was not done in time."""


class Running:
    """A measured program that runs."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def heard(self, word: str) -> None:
        """Wait until the program says that word."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            if line.decode().strip() == word:
                return
        raise ProgramFailed("it ended")

    async def ended(self) -> None:
        """Wait until the program ends by itself, which it should not."""
        await self._process.wait()
        raise ProgramFailed(f"it ended with code {self._process.returncode}")

    async def rest(self) -> None:
        """Wait until the program is at rest."""
        used = _cpu(self._process.pid)
        while True:
            await asyncio.sleep(REST_SECONDS)
            before, used = used, _cpu(self._process.pid)
            if used - before <= REST_SHARE * REST_SECONDS:
                return

    async def reading(self) -> Reading:
        """Ask the program what it used, and let it end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        lines = (await self._process.stdout.read()).decode().splitlines()
        if await self._process.wait() or not lines:
            raise ProgramFailed(f"it ended with code {self._process.returncode}")
        return Reading(**json.loads(lines[-1]))


@dataclass(frozen=True)
class Program:
    """A program of this folder, as a module, and the interpreter that runs it."""

    python: Path
    module: str
    environment: Mapping[str, str]

    def command(self) -> Sequence[str]:
        """Return the command line."""
        return (str(self.python), "-m", self.module)


async def measure(program: Program, log: Path, done: Callable[[Running], Awaitable[None]]) -> Reading:
    """Run a program until `done` returns and it is at rest; return what it used until then."""
    with log.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *program.command(),
            cwd=ROOT,
            env={**os.environ, **program.environment},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
        )
    running = Running(process)
    try:
        async with asyncio.timeout(DEADLINE):
            await _first(done(running), running.ended())
            await _first(running.rest(), running.ended())
            return await running.reading()
    except (ProgramFailed, TimeoutError) as error:
        reason = str(error) or f"it was not done after {DEADLINE:.0f} s"
        raise ProgramFailed(f"{program.module}: {reason}. Its log:\n{_tail(log)}") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _first(*works: Awaitable[None]) -> None:
    """Wait for the first of these to end, and raise what it raised."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        finished, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in finished:
        task.result()


def _cpu(pid: int) -> float:
    """Return the processor time that a process has used, in seconds."""
    # The name of the program is in parentheses and may hold anything; what follows it is numbers.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-20:])

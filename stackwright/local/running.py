"""One program that we run, from its start to its end, on an event loop."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from stackwright.local import process
from stackwright.local.errors import ProgramFailed
from stackwright.local.probe import Question

# How often a program that is starting is asked whether it is ready.
ASKED = 0.05
# Between two looks whether a program stands still.
PAUSING = 0.01


@dataclass(frozen=True)
class Launch:
    """How a program is run: its name, command line, log, and how it says that it is ready."""

    name: str
    command: list[str]
    log: Path
    ready: Question
    environment: Mapping[str, str] | None = None
    """Its environment; without, it has ours."""


class Program:
    """A program that can be started again after its end.

    `died` is called when it ends though nobody asked it to.
    """

    def __init__(self, launch: Launch, died: Callable[["Program"], None]) -> None:
        self.name = launch.name
        self._launch = launch
        self._died = died
        self._child: process.Child | None = None
        self._ended = asyncio.Event()
        self._asked_to_end = False

    @property
    def pid(self) -> int | None:
        """Its process id while it runs."""
        return self._child.pid if self._child and not self._ended.is_set() else None

    def start(self) -> None:
        """Start it; one that runs already is left alone."""
        if self.pid is not None:
            return
        self._ended = asyncio.Event()
        self._asked_to_end = False
        try:
            launch = self._launch
            self._child = process.start(launch.command, log=launch.log, environment=launch.environment)
        except OSError as error:
            raise ProgramFailed(f"{self.name} cannot be started: {error}") from error
        descriptor = os.pidfd_open(self._child.pid)
        asyncio.get_running_loop().add_reader(descriptor, self._end, descriptor, self._child)

    def _end(self, descriptor: int, child: process.Child) -> None:
        asyncio.get_running_loop().remove_reader(descriptor)
        os.close(descriptor)
        child.process.wait()
        self._ended.set()
        if not self._asked_to_end:
            self._died(self)

    async def until_ready(self, seconds: float) -> None:
        """Return when it is ready; raise with the end of its log when it ends before, or takes too long."""
        end = time.monotonic() + seconds
        while not await self._launch.ready():
            if self._ended.is_set():
                raise ProgramFailed(self.obituary())
            if time.monotonic() > end:
                raise ProgramFailed(f"{self.name} was not ready within {seconds:.0f} s. {self._log()}")
            try:
                await asyncio.wait_for(self._ended.wait(), ASKED)
            except TimeoutError:
                continue

    async def kill(self) -> None:
        """End it at once, as a crash would."""
        await self._finish(signal.SIGKILL)

    async def stop(self, grace: float) -> None:
        """Ask it to end, and end it when it has not after `grace` seconds."""
        self.resume()
        try:
            await asyncio.wait_for(self._finish(signal.SIGTERM), grace)
        except TimeoutError:
            await self.kill()

    async def _finish(self, number: signal.Signals) -> None:
        if self.pid is not None:
            self._asked_to_end = True
            self._send(number)
            await self._ended.wait()

    async def pause(self) -> None:
        """Let it stand still, as on a machine that is overloaded: its connections stay open and nothing answers.

        The signal is taken by one thread, and on a busy machine the others run on until that one has its turn.
        """
        self._send(signal.SIGSTOP)
        while self.pid is not None and not process.is_stopped(self.pid):  # noqa: ASYNC110  nobody tells of it
            await asyncio.sleep(PAUSING)

    def resume(self) -> None:
        """Let it go on."""
        self._send(signal.SIGCONT)

    def _send(self, number: signal.Signals) -> None:
        if self._child and self.pid is not None:
            self._child.send(number)

    def obituary(self) -> str:
        """Say how it ended, with the end of its log."""
        code = self._child.process.returncode if self._child else None
        how = f"was killed by {signal.Signals(-code).name}" if code is not None and code < 0 else f"ended with {code}"
        return f"{self.name} {how}. {self._log()}"

    def _log(self) -> str:
        return f"The end of {self._launch.log}:\n{process.tail(self._launch.log)}"

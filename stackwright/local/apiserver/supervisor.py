"""Owns the programs of one API server: starts them in their order, watches them, and leaves none behind.

The kernel tells it when the process that it serves has ended, so even `kill -9` of a test run ends the server; and the
kernel ends the programs when the supervisor itself is killed.
"""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from stackwright import tasks
from stackwright.local.apiserver import preparation
from stackwright.local.apiserver.layout import Command, Layout, Settings, State
from stackwright.local.apiserver.ports import Reserved
from stackwright.local.errors import ApiServerFailed, ProgramFailed
from stackwright.local.running import Launch, Program

# How long a program that is asked to end may take to do so by itself. An API server with open watches takes a minute.
GRACE = 5.0


async def supervise(directory: Path, *, master: int, commands: bool) -> int:
    """Run the server of that folder until the master has ended, or until we are asked to stop."""
    layout = Layout(directory)
    settings = msgspec.json.decode(layout.settings.read_bytes(), type=Settings)
    ended = _Ended(master)
    with Reserved() as reserved:
        launches = preparation.prepare(layout, settings, reserved.ports)
        server = Server(layout, launches, url=preparation.address(reserved.ports), deadline=settings.deadline)
        try:
            if await ended.before(server.start_all()):
                _announce(layout, server.state())
                await ended.before(_obey(server) if commands else asyncio.Event().wait())
        except ProgramFailed as error:
            _announce(layout, State(failure=str(error), supervisor=os.getpid()))
            return 1
        finally:
            await server.end()
            shutil.rmtree(layout.data, ignore_errors=True)
    return 0


class Server:
    """The programs of one API server; etcd comes first and goes last, because the others cannot do without it."""

    def __init__(self, layout: Layout, launches: Iterable[Launch], *, url: str, deadline: float) -> None:
        self.layout = layout
        self._url = url
        self._deadline = deadline
        self._started = False
        self._programs = {launch.name: Program(launch, self._died) for launch in launches}

    async def start_all(self) -> None:
        """Start the programs one after the other, each when the one before is ready."""
        for program in self._programs.values():
            program.start()
            await program.until_ready(self._deadline)
        self._started = True

    async def obey(self, command: Command) -> None:
        """Do what somebody asked for; a start returns when the program is ready again."""
        program = self._programs.get(command.program)
        if program is None:
            raise ApiServerFailed(f"no program of this server: {command.program}; it has {', '.join(self._programs)}")
        match command.action:
            case "start":
                program.start()
                await program.until_ready(self._deadline)
            case "stop":
                await program.stop(GRACE)
            case "kill":
                await program.kill()
            case "pause":
                await program.pause()
            case "resume":
                program.resume()

    def state(self, failure: str = "") -> State:
        """Return where the server is and which programs run."""
        pids = {name: program.pid for name, program in self._programs.items() if program.pid is not None}
        return State(url=self._url, supervisor=os.getpid(), pids=pids, failure=failure)

    async def end(self) -> None:
        """End everything at once, etcd last: the data is thrown away, so there is nothing to finish."""
        self._started = False
        for program in reversed(self._programs.values()):
            await program.kill()

    def _died(self, program: Program) -> None:
        # While the server starts, the task that waits for the program sees its end and reports it.
        if self._started:
            self.layout.write_state(self.state(failure=program.obituary()))


class _Ended:
    """The end of the process that we serve, or a signal that asks us to stop."""

    def __init__(self, master: int) -> None:
        self._event = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._event.set)
        try:
            descriptor = os.pidfd_open(master)
        except ProcessLookupError:
            self._event.set()
        else:
            loop.add_reader(descriptor, self._master_ended, descriptor)

    def _master_ended(self, descriptor: int) -> None:
        asyncio.get_running_loop().remove_reader(descriptor)
        os.close(descriptor)
        self._event.set()

    async def before(self, work: Coroutine[None, None, object]) -> bool:
        """Do the work and return True; when the end comes first, leave it undone and return False."""
        task = tasks.start(work)
        end = tasks.start(self._event.wait())
        await asyncio.wait({task, end}, return_when=asyncio.FIRST_COMPLETED)
        finished = task.done()
        await tasks.end(task, end)
        if finished:
            task.result()
        return finished


async def _obey(server: Server) -> None:
    """Carry out commands from standard input, one per line, until it ends; answer each with the state."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        failure = ""
        try:
            await server.obey(msgspec.json.decode(line, type=Command))
        except (ApiServerFailed, ProgramFailed, msgspec.MsgspecError) as error:
            failure = str(error)
        _announce(server.layout, server.state(failure))


def _announce(layout: Layout, state: State) -> None:
    """Write the state to the file, and to our output for the process that started us."""
    layout.write_state(state)
    # The process that started a shared server may be gone while others still use it.
    with suppress(BrokenPipeError):
        sys.stdout.buffer.write(msgspec.json.encode(state) + b"\n")
        sys.stdout.buffer.flush()

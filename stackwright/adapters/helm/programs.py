"""The helm program: where it is, how it is run within limits, and what it reports."""

import asyncio
import contextlib
import json
import os
import re
import resource
import shutil
import signal
from asyncio.subprocess import Process
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackwright import tasks
from stackwright.adapters.errors import Unavailable

# Names the program if it is not on the PATH.
PROGRAM = "STACKWRIGHT_HELM"
# A shorter value says nothing, and hiding it would make holes in the words around it.
_SHORTEST_HIDDEN = 8
# A complaint goes into a status, and a template could make it arbitrarily long.
LONGEST_COMPLAINT = 1000
_PIECE = 2**16
_SPOKEN = {2**20: "MiB", 2**10: "KiB", 1: "bytes"}
# How a Go program reports that it got no more memory, before it exits with code 2.
_OUT_OF_MEMORY = re.compile(
    r"^(fatal error|runtime): .*(out of memory|cannot allocate memory|failed to reserve|cannot map pages)", re.MULTILINE
)


@dataclass(frozen=True)
class Bounds:
    """How much one run of helm may take. What a chart does in it is the user's to say, and may be anything.

    Our charts take a tenth of a second, 50 MB and 40 KB of output. `memory` bounds what helm allocates (RLIMIT_DATA:
    the address space is no measure, because Go reserves a multiple of what it uses); `written` bounds each file. The
    operator's memory limit in its chart is made of these numbers.
    """

    memory: int = 160 * 2**20
    processor_seconds: int = 10
    seconds: float = 20.0
    printed: int = 2 * 2**20
    complained: int = 64 * 2**10
    written: int = 8 * 2**20


@dataclass(frozen=True)
class Done:
    """How a run of helm ended: a code below zero is the signal that ended it.

    `exceeded` is the bound that it ran into, "" if it did not; `late` says that this was the time limit.
    """

    code: int
    printed: bytes = field(default=b"", repr=False)
    complaint: str = field(default="", repr=False)
    exceeded: str = ""
    late: bool = False


def find(program: Path | None = None, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the path of helm; raise Unavailable if there is none."""
    named = str(program) if program is not None else environment.get(PROGRAM, "")
    found = shutil.which(named or "helm", path=environment.get("PATH"))
    if found is None:
        where = f"{named} is not a program" if named else "helm is not on the PATH"
        raise Unavailable(f"Charts cannot be rendered: {where}; install helm 4, or name it in {PROGRAM}")
    return Path(found)


class Helm:
    """One helm program, of which only a few run at once, because each may use all that its limits allow."""

    def __init__(self, program: Path | None = None, bounds: Bounds | None = None, *, at_once: int = 1) -> None:
        self.program = program
        self.bounds = bounds or Bounds()
        self._slots = asyncio.Semaphore(at_once)

    def find(self) -> Path:
        """Return the path of the program; raise Unavailable if there is none."""
        return find(self.program)

    async def run(self, words: Sequence[str], environment: Mapping[str, str], given: bytes = b"") -> Done:
        """Run helm with its own environment and return how it ended."""
        async with self._slots:
            return await run(self.find(), words, environment, self.bounds, given=given)


async def run(
    program: Path, words: Sequence[str], environment: Mapping[str, str], bounds: Bounds, *, given: bytes = b""
) -> Done:
    """Run helm with an environment of its own, within bounds, and return how it ended.

    Cancelling the task ends the program. If the operator itself is killed, the program ends by its limits.
    """
    process = await _start(program, words, environment, bounds)
    try:
        # Before it gets any input: the values come through its standard input.
        bound(process.pid, bounds)
        async with asyncio.timeout(bounds.seconds):
            printed, complaint = await _talk(process, given, bounds)
            if printed is None:
                return Done(-signal.SIGKILL, exceeded=f"{_spoken(bounds.printed)} of output")
            code = await process.wait()
    except TimeoutError:
        return Done(-signal.SIGKILL, exceeded=f"{bounds.seconds:g} s", late=True)
    finally:
        await tasks.to_the_end(_end(process))
    memory = f"{_spoken(bounds.memory)} of memory" if code == 2 and _OUT_OF_MEMORY.search(complaint) else ""
    return Done(code, printed, complaint, memory)


def go_settings(bounds: Bounds) -> dict[str, str]:
    """Return what helm's environment tells the runtime of its language."""
    # Go collects garbage before it asks for more memory than this, and rarely before: most runs end sooner than that
    # pays. It uses no more threads than it needs.
    memory = {"GOMEMLIMIT": str(bounds.memory * 3 // 4), "GOGC": "400"}
    return {**memory, "GOMAXPROCS": "2", "GOTRACEBACK": "none"}


async def _start(program: Path, words: Sequence[str], environment: Mapping[str, str], bounds: Bounds) -> Process:
    pipe = asyncio.subprocess.PIPE
    starting = asyncio.create_subprocess_exec(
        program,
        *words,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env={**go_settings(bounds), **environment},
        start_new_session=True,
    )
    started: list[Process] = []

    async def start() -> None:
        started.append(await starting)

    try:
        # asyncio leaves the pipes of a process open, and all that it started, if its start is cancelled.
        await tasks.to_the_end(start())
    except OSError as error:
        message = f"{program} does not start: {error.strerror}; install helm 4, or name it in {PROGRAM}"
        raise Unavailable(message) from error
    except asyncio.CancelledError:
        for process in started:
            await tasks.to_the_end(_end(process))
        raise
    return started[0]


def bound(pid: int, bounds: Bounds, *, stays: bool = False) -> None:
    """Set the kernel's limits for a process that was just started; one that stays has no limit of processor time."""
    if not hasattr(resource, "prlimit"):
        # Only Linux can do this, and operators run only there; a person's command line may run elsewhere.
        return
    limits = {
        resource.RLIMIT_DATA: bounds.memory,
        resource.RLIMIT_FSIZE: bounds.written,
        resource.RLIMIT_CORE: 0,
    }
    if not stays:
        limits[resource.RLIMIT_CPU] = bounds.processor_seconds
    try:
        for limit, value in limits.items():
            # A limit that is already lower cannot be raised, and need not be.
            _, hard = resource.prlimit(pid, limit)
            lower = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.prlimit(pid, limit, (lower, lower))
    except ProcessLookupError:
        # It has ended already.
        return
    except OSError as error:
        raise Unavailable(f"helm is not run without limits, and they cannot be set here: {error.strerror}") from error


async def _talk(process: Process, given: bytes, bounds: Bounds) -> tuple[bytes | None, str]:
    """Send a process its input and return its output (None if it is too long) and its complaints."""
    assert process.stdin is not None  # noqa: S101  all three are pipes
    assert process.stdout is not None  # noqa: S101  likewise
    assert process.stderr is not None  # noqa: S101  likewise
    async with asyncio.TaskGroup() as group:
        group.create_task(_give(process.stdin, given))
        printed = group.create_task(_take(process, process.stdout, bounds.printed))
        complaint = group.create_task(_take_ends(process.stderr, bounds.complained))
    return printed.result(), complaint.result()


async def _give(stream: asyncio.StreamWriter, given: bytes) -> None:
    # A process that ends early does not read all of it.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stream.write(given)
        await stream.drain()
    stream.close()


async def _take(process: Process, stream: asyncio.StreamReader, most: int) -> bytes | None:
    found = bytearray()
    while piece := await stream.read(_PIECE):
        found += piece
        if len(found) > most:
            _kill(process)
            return None
    return bytes(found)


async def _take_ends(stream: asyncio.StreamReader, most: int) -> str:
    """Return the beginning and the end of what a process complains about; the middle says the least."""
    first, last, half = bytearray(), bytearray(), most // 2
    while piece := await stream.read(_PIECE):
        room = half - len(first)
        first += piece[:room]
        last = (last + piece[room:])[-half:]
    return (first + last).decode(errors="replace")


async def _end(process: Process) -> None:
    """Kill a process and all that it started, if it has not ended: we were cancelled, or it exceeded a limit."""
    assert process.stdout is not None  # noqa: S101  it is a pipe
    # One that has ended may have printed what nobody has read: its pipe stays open until somebody has.
    if process.returncode is None or not process.stdout.at_eof():
        _kill(process)
        # Only waiting would never end if it has printed more than a pipe holds.
        await process.communicate()


def _kill(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _spoken(size: int) -> str:
    unit = next(unit for unit in _SPOKEN if size >= unit)
    return f"{size / unit:g} {_SPOKEN[unit]}"


def complaint_of(printed: str, values: str = "{}") -> str:
    """Return helm's complaint in one line, without the values that it was given."""
    _, _, text = printed.rpartition("Error: ")
    lines = [line.strip() for line in text.splitlines() if not line.startswith("Use --debug")]
    complaint = " ".join(line for line in lines if line) or "helm failed and did not say why"
    for value in sorted(_texts(json.loads(values)), key=len, reverse=True):
        complaint = complaint.replace(value, "<value>")
    return complaint if len(complaint) <= LONGEST_COMPLAINT else f"{complaint[:LONGEST_COMPLAINT]}…"


def _texts(value: Any) -> Iterator[str]:
    """Yield every text among the values that is long enough to be recognised."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, str) and len(value) >= _SHORTEST_HIDDEN:
        yield value

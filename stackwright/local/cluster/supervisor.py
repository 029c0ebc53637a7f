"""Keeps a cluster's programs running: starts each when what it needs is ready, and again when it has ended."""

import asyncio
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from stackwright.local.cluster import reaping
from stackwright.local.cluster.layout import Health, Layout, ProcessKey, ProgramState, State
from stackwright.local.cluster.preparation import ClusterProgram
from stackwright.local.errors import ProgramFailed
from stackwright.local.running import Program

# How often a program is asked how it is, while it starts and while it is well.
_STARTING, _WELL = 0.05, 5.0
# A program that runs this long has recovered; its next end is the first.
_RECOVERED = 60.0
# How long a program that is asked to end may take to do so by itself.
GRACE = 5.0
# How large a log may grow before a new one begins; the previous one is kept.
_LARGEST_LOG = 64 << 20


def pause(ends: int) -> float:
    """Return how long to wait before a program is started that has ended so often in a row, in seconds."""
    return float(min(0.1 * 2 ** (ends - 1), 30.0))


@dataclass
class _Record:
    """One program, what we know of it, and whether others can rely on it."""

    wanted: ClusterProgram
    state: ProgramState
    program: Program
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    ends: int = 0


class Supervisor:
    """The programs of one node; the last one started is the first one ended."""

    def __init__(
        self,
        layout: Layout,
        programs: Iterable[ClusterProgram],
        first: ProcessKey,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._layout = layout
        self._first = first
        self._clock = clock
        self._records = {wanted.launch.name: self._record(wanted) for wanted in programs}
        self._untold = False

    def _record(self, wanted: ClusterProgram) -> _Record:
        name = wanted.launch.name
        state = ProgramState(name, "waiting", str(wanted.launch.log))
        return _Record(wanted, state, Program(wanted.launch, lambda _: self._records[name].ended.set()))

    async def run(self) -> None:
        """Keep all programs running until cancelled."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self._reap)
        self._announce()
        async with asyncio.TaskGroup() as group:
            for record in self._records.values():
                group.create_task(self._keep(record), name=record.state.name)

    async def stop(self, containers: Callable[[], Iterable[int]]) -> None:
        """End everything in order, so that what is on disk is whole: pods first, etcd last."""
        for name in reversed(self._records):
            if name == "kube-apiserver":
                await _end_containers(containers)
            await self._records[name].program.stop(GRACE)

    async def _keep(self, record: _Record) -> None:
        while True:
            self._tell(record, "waiting")
            for name in record.wanted.needs:
                await self._records[name].ready.wait()
            _begin_anew(record.wanted.launch.log)
            began = self._clock()
            record.ended.clear()
            try:
                record.program.start()
                self._tell(record, "starting")
                await self._watch(record)
                trouble = record.program.obituary()
            except ProgramFailed as error:
                trouble = str(error)
            record.ready.clear()
            record.ends = 1 if self._clock() - began > _RECOVERED else record.ends + 1
            self._tell(record, "ended", trouble=trouble)
            self._reap()
            await asyncio.sleep(pause(record.ends))

    async def _watch(self, record: _Record) -> None:
        """Ask a program how it is, until it has ended."""
        while not record.ended.is_set():
            well = await record.wanted.launch.ready()
            if self._untold:
                self._announce()
            if well != record.ready.is_set() and not record.ended.is_set():
                if well:
                    record.ready.set()
                else:
                    record.ready.clear()
                self._tell(record, "ready" if well else "unwell")
            try:
                await asyncio.wait_for(record.ended.wait(), _WELL if well else _STARTING)
            except TimeoutError:
                continue

    def _tell(self, record: _Record, state: Health, *, trouble: str = "") -> None:
        ended = 1 if state == "ended" else 0
        record.state = ProgramState(
            name=record.state.name,
            state=state,
            log=record.state.log,
            pid=record.program.pid or 0,
            restarts=record.state.restarts + ended,
            trouble=trouble or record.state.trouble,
        )
        self._announce()

    def _announce(self) -> None:
        states = tuple(record.state for record in self._records.values())
        try:
            self._layout.write_state(State(self._first, states))
        except OSError:
            # The disk may be full for a moment. The programs outlive it, and who reads of them is told afterwards.
            self._untold = True
        else:
            self._untold = False

    def _reap(self) -> None:
        own = {record.program.pid for record in self._records.values()}
        reaping.reap(lambda pid: pid in own)


async def _end_containers(containers: Callable[[], Iterable[int]]) -> None:
    """Ask what runs in pods to end, as a shutdown of a machine would, and wait a little for those that do."""
    for pid in containers():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    while list(containers()) and time.monotonic() < deadline:  # noqa: ASYNC110  nobody tells us of their end
        await asyncio.sleep(0.05)


def _begin_anew(log: Path) -> None:
    """Start a new log if the present one has grown large; a disk that refuses that keeps no program from its start."""
    with suppress(OSError):
        if log.exists() and log.stat().st_size > _LARGEST_LOG:
            shutil.move(log, log.with_suffix(".log.1"))

"""Runs controllers: their caches, their workers, and what runs next to them, until it is stopped.

    async with Client(config.load()) as client:
        await serve(Runtime(client, (websites, certificates)))

Caches are filled whether or not this process leads, so that a new leader works at once. A controller begins
when the kinds that it needs are in the cache; one whose kind is not installed does not hold up the others.
"""

import asyncio
import collections
import contextlib
import gc
import signal
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import NoReturn

import structlog

from stackwright import tasks
from stackwright.kube.client import Client
from stackwright.kube.clock import REAL, Clock
from stackwright.kube.controller import Controller
from stackwright.kube.events import EventRecorder
from stackwright.kube.health import HealthServer, watch_lag
from stackwright.kube.informer import Timing
from stackwright.kube.informers import Informers
from stackwright.kube.leader import Election
from stackwright.kube.resource import Resource
from stackwright.kube.workers import Workers

# What runs next to the controllers for as long as they do, such as a webhook server.
Service = Callable[[], Awaitable[None]]

# How often the ages of running reconciles are exported, in seconds.
MEASURE_EVERY = 5.0
# Most of what lives in this process lives as long as it: the collector looks at it less often (measured: with the
# defaults, it costs more than parsing).
GC_THRESHOLDS = (50_000, 20, 50)

_log = structlog.get_logger()


@dataclass(frozen=True)
class Settings:
    """How a runtime runs; times are in seconds.

    `drain` bounds the wait for reconciles at the end and `flush` that for events. What is not synced is said
    every `patience`. `own_process` lets the runtime tune the garbage collector, which is of the whole process.
    """

    drain: float = 30.0
    flush: float = 3.0
    patience: float = 10.0
    own_process: bool = False
    clock: Clock = REAL
    timing: Timing = field(default_factory=Timing)


class _Finished(Exception):
    """Ends the group of a runtime that has stopped."""


@dataclass
class _Team:
    """The workers that work under one election, or always."""

    election: Election | None
    workers: list[Workers] = field(default_factory=list)
    leading: bool = False


class Runtime:
    """Some controllers and what they share, in one namespace, in several, or in all where none is named.

    `election`, where given, decides when this process works; a function says for each controller which one does, so
    that several processes can divide the work. `services` run all the time; `health` gets a check that says which
    caches are not complete. `places` are kinds of which another namespace is looked at.
    """

    def __init__(  # noqa: PLR0913  all but two by name, each with a default
        self,
        client: Client,
        controllers: Iterable[Controller],
        *,
        namespace: str | Iterable[str] = "",
        places: Mapping[type[Resource], str] = MappingProxyType({}),
        election: Election | Callable[[Controller], Election] | None = None,
        services: Sequence[Service] = (),
        health: HealthServer | None = None,
        settings: Settings | None = None,
    ) -> None:
        self._settings = settings or Settings()
        self._election = election
        self._teams: dict[Election | None, _Team] = {}
        self._services = tuple(services)
        self._health = health
        self.informers = Informers(client, namespace=namespace, places=places, timing=self._settings.timing)
        self.workers: list[Workers] = []
        self._recorders: list[EventRecorder] = []
        self._stopping = asyncio.Event()
        for controller in controllers:
            self._add(controller, client)
        if health is not None:
            health.ready("caches", self.unready)

    def stop(self) -> None:
        """Let `run` finish what is in hand and end."""
        for workers in self.workers:
            workers.stop()
        self._stopping.set()

    def unready(self) -> str:
        """Say which caches are not complete, and why; an empty text when all are."""
        waiting = [
            f"{informer} ({informer.trouble})" if informer.trouble else str(informer)
            for informer in self.informers.unsynced()
        ]
        return f"The first list is not complete of: {', '.join(waiting)}." if waiting else ""

    async def run(self) -> None:
        """Run until `stop`, or until cancelled, which does not wait for what is in hand."""
        with self._tuned():
            try:
                async with contextlib.AsyncExitStack() as stack, asyncio.TaskGroup() as group:
                    if self._health is not None:
                        await stack.enter_async_context(self._health)
                    await self._start(group)
                    await self._finish()
            except* _Finished:
                _log.info("stopped")

    async def _finish(self) -> NoReturn:
        """Work until stopped; then end the group's tasks, which it does when its body raises."""
        await self._work()
        await self._flush()
        raise _Finished

    async def _start(self, group: asyncio.TaskGroup) -> None:
        """Start all that runs whether or not this process leads."""
        for number, service in enumerate(self._services):
            group.create_task(_run(service), name=f"service {number}")
        for recorder in self._recorders:
            group.create_task(recorder.run(), name="events")
        group.create_task(watch_lag(clock=self._settings.clock), name="loop lag")
        group.create_task(self._measure(), name="measures")
        await self.informers.start(group)
        group.create_task(self._follow_sync(), name="sync")

    async def _work(self) -> None:
        """Run the workers until they were stopped; without any, the services run until then."""
        async with asyncio.TaskGroup() as group:
            for team in self._teams.values():
                group.create_task(self._work_as(team), name="team")
            await self._stopping.wait()

    async def _work_as(self, team: _Team) -> None:
        """Run the workers of a team, while this process leads where leading matters, until they were stopped."""
        lead = partial(self._lead, team)
        if team.election is None:
            await lead()
            return
        election = tasks.start(team.election.run(lead))
        stopping = tasks.start(self._stopping.wait())
        try:
            await asyncio.wait((election, stopping), return_when=asyncio.FIRST_COMPLETED)
            if team.leading:
                # The workers drain, then the election gives the lease up and ends.
                await asyncio.wait((election,))
        finally:
            # A candidate that does not lead has nothing to finish.
            await tasks.end(stopping, election)
        if not election.cancelled():
            election.result()

    async def _lead(self, team: _Team) -> None:
        team.leading = True
        try:
            async with asyncio.TaskGroup() as group:
                for workers in team.workers:
                    group.create_task(workers.run(self._settings.drain), name=f"controller {workers}")
                await self._stopping.wait()
        finally:
            team.leading = False

    async def _flush(self) -> None:
        """Write the events that are noted, if that is quick."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._settings.flush):
                await tasks.together(*(recorder.flush() for recorder in self._recorders))

    async def _follow_sync(self) -> None:
        """Log which caches are not synced, repeatedly until all are."""
        synced = tasks.start(self.informers.synced())
        told: set[str] = set()
        try:
            while not (await asyncio.wait((synced,), timeout=self._settings.patience))[0]:
                if missing := self.unready():
                    _log.warning("caches are not complete", missing=missing)
                    self._settle_memory()
                told = self._tell_left_out(told)
        finally:
            await tasks.end(synced)
        _log.info("all caches are complete", kinds=len(self.informers.all()))
        self._settle_memory()

    def _tell_left_out(self, told: set[str]) -> set[str]:
        """Say which namespaces are left out, each once, and return all that are."""
        found = self.informers.left_out()
        for namespace in sorted(set(found) - told):
            _log.warning(
                "a namespace is left out, because this account may not read it; the others are processed",
                namespace=namespace,
                error=found[namespace],
                advice="give the account a Role and a RoleBinding there, or remove the namespace from the list",
            )
        return set(found)

    def _settle_memory(self) -> None:
        """Take what was read so far out of the collector's sight: nearly all of it is there to stay."""
        if self._settings.own_process:
            gc.collect()
            gc.freeze()

    async def _measure(self) -> None:
        while True:
            for workers in self.workers:
                workers.measure()
            await self._settings.clock.sleep(MEASURE_EVERY)

    @contextlib.contextmanager
    def _tuned(self) -> Iterator[None]:
        if not self._settings.own_process:
            yield
            return
        before = gc.get_threshold()
        gc.set_threshold(*GC_THRESHOLDS)
        try:
            yield
        finally:
            gc.unfreeze()
            gc.set_threshold(*before)

    def _add(self, controller: Controller, client: Client) -> None:
        if controller.name in map(str, self.workers):
            raise ValueError(f"two controllers are called {controller.name}; each needs its own name")
        clock = self._settings.clock
        recorder = EventRecorder(client, controller.name, clock=clock)
        self._recorders.append(recorder)
        workers = Workers(controller, client, self.informers, recorder, clock=clock.monotonic)
        self.workers.append(workers)
        election = self._election(controller) if callable(self._election) else self._election
        self._teams.setdefault(election, _Team(election)).workers.append(workers)


async def _run(service: Service) -> None:
    await service()


async def serve(runtime: Runtime, *, signals: Iterable[signal.Signals] = (signal.SIGTERM, signal.SIGINT)) -> None:
    """Run in a process of its own: the first signal stops the runtime with a drain, the second at once."""
    loop = asyncio.get_running_loop()
    task = tasks.start(runtime.run())
    received = collections.Counter[str]()

    def on_signal(name: str) -> None:
        received[name] += 1
        if received.total() == 1:
            _log.info("stopping; another signal stops at once", signal=name)
            runtime.stop()
        else:
            task.cancel()

    for number in signals:
        loop.add_signal_handler(number, on_signal, number.name)
    try:
        await task
    except asyncio.CancelledError:
        if received.total() < 2:
            raise
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
        task.cancel()

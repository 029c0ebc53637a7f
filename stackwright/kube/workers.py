"""Runs one controller: fills its queue from the informers and works through it.

After a reconcile that wrote, its key stays in hand until the caches have what was written, at most five
seconds, so that the next run does not decide on what it already changed. No worker is held up by that.

A status that somebody else wrote wakes whoever keeps it, unasked: see `meddling.py`.
"""

import asyncio
import functools
import time
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Any

import structlog

from stackwright import tasks
from stackwright.kube import metrics
from stackwright.kube.client import Client
from stackwright.kube.controller import Context, Controller, Result, Watch
from stackwright.kube.decoding import Turn
from stackwright.kube.errors import Blocked, KubeError, Retry
from stackwright.kube.events import EventRecorder
from stackwright.kube.informer import Change, Informer
from stackwright.kube.informers import Informers
from stackwright.kube.meddling import Meddling
from stackwright.kube.pace import Pace, PutOff
from stackwright.kube.predicates import Predicate
from stackwright.kube.queue import Priority, Queue, ShutDown
from stackwright.kube.resource import CustomResource, Key, Kind, Resource, Status

# For how long a key waits at most for the caches to have what its last run wrote.
CACHE_PATIENCE = 5.0

_log = structlog.get_logger()


class Verdict(IntEnum):
    """What the end of a failed reconcile means, from the mildest to the worst."""

    BLOCKED = 1
    RETRY = 2
    TROUBLE = 3
    BUG = 4


def judge(error: BaseException) -> tuple[Verdict, BaseException]:
    """Return what an error means, and which of several that were raised together is the worst."""
    match error:
        case BaseExceptionGroup(exceptions=errors):
            return max(map(judge, errors), key=lambda judged: judged[0])
        case Blocked():
            return Verdict.BLOCKED, error
        case Retry():
            return Verdict.RETRY, error
        case KubeError() | TimeoutError():
            return Verdict.TROUBLE, error
        case _:
            return Verdict.BUG, error


class _Writes:
    """What one reconcile of a kind wrote: for each informer that will see it, the latest version.

    `own` are all versions of objects of that kind, `statuses` what was written into theirs, answered or not.
    """

    def __init__(self, informers: Informers, of: Kind) -> None:
        self._informers = informers
        self._of = of
        self.versions: dict[Informer[Any], str] = {}
        self.own: set[str] = set()
        self.statuses: list[Status] = []

    def wrote(self, kind: Kind, key: Key, resource_version: str) -> None:
        """Remember a write, as the client reports it."""
        if not resource_version:
            return
        if kind == self._of:
            self.own.add(resource_version)
        for informer in self._informers.caching(kind):
            known = self.versions.get(informer, "0")
            if informer.has_synced and informer.covers(key) and int(resource_version) > int(known):
                self.versions[informer] = resource_version

    def missing(self) -> dict[Informer[Any], str]:
        """Return what the caches do not have yet."""
        return {informer: version for informer, version in self.versions.items() if informer.version < int(version)}


class Workers:
    """Works the queue of one controller, for as long as `run` runs."""

    def __init__(
        self,
        controller: Controller,
        client: Client,
        informers: Informers,
        events: EventRecorder,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.controller = controller
        self.queue: Queue[Key] = Queue(clock=clock, metrics=metrics.queue(controller.name))
        self._client = client
        self._informers = informers
        self._events = events
        self._clock = clock
        self._metrics = metrics.controller(controller.name)
        self._metrics.max_concurrent.set(controller.workers)
        self._stopping = asyncio.Event()
        self._settling: set[asyncio.Task[None]] = set()
        self._turn = Turn()
        self._active = False
        self._following = [informer for kind in controller.kinds for informer in informers.following(kind)]
        # Namespaces that are not fully in the caches. A decision on half of the objects would create the others again.
        self._incomplete: set[str] = set()
        # Statuses whose write was put off.
        self._put_off: dict[Key, PutOff] = {}
        self._keeps_status = controller.reports and issubclass(controller.kind, CustomResource)
        self._meddling = self._unmeddled()
        self._subscribe()

    def __str__(self) -> str:
        return self.controller.name

    async def run(self, drain: float = 30.0) -> None:
        """Work until `stop`, then finish what is in hand, in at most `drain` seconds.

        May run again after it was cancelled, as it is when this process lost the lead and got it back.
        """
        if not await self._ready():
            return
        self._active = True
        try:
            await self._run(drain)
        finally:
            self._active = False

    def _unmeddled(self) -> Meddling:
        return Meddling(self.controller, self._client.field_manager, self._events, self._clock)

    async def _run(self, drain: float) -> None:
        # What was there when this process last led may be outdated.
        self._meddling = self._unmeddled()
        self._incomplete = {informer.place for informer in self._following if not informer.has_synced}
        # Whoever led meanwhile may have left anything behind, so everything is looked at, after what changed.
        self._look_again()
        for key in self.controller.standing:
            self.queue.add(key, Priority.LOW)
        async with asyncio.TaskGroup() as group:
            workers = [
                group.create_task(self._work(group), name=f"{self} worker {number}")
                for number in range(self.controller.workers)
            ]
            workers += [
                group.create_task(self._join(namespace), name=f"{self} waits for {namespace}")
                for namespace in self._incomplete
            ]
            await self._stopping.wait()
            await self._drain(drain)
            for worker in workers:
                worker.cancel()

    def stop(self) -> None:
        """Take no more keys; `run` ends when the present ones are done."""
        self._stopping.set()

    def measure(self) -> None:
        """Export for how long keys have been worked on."""
        unfinished, longest = self.queue.running()
        children = metrics.queue(self.controller.name)
        children.unfinished.set(unfinished)
        children.longest.set(longest)

    async def _ready(self) -> bool:
        """Wait for the caches; return False when asked to stop before they were complete."""
        stopping = tasks.start(self._stopping.wait())
        synced = tasks.start(self._settled_first())
        try:
            await asyncio.wait((stopping, synced), return_when=asyncio.FIRST_COMPLETED)
        finally:
            # Not waited for: the first key is worked on at once.
            stopping.cancel()
            synced.cancel()
        return not self._stopping.is_set()

    async def _settled_first(self) -> None:
        for informer in self._following:
            await informer.settled()

    async def _join(self, namespace: str) -> None:
        """Begin with a namespace when all of it is known that this controller looks at."""
        for informer in self._following:
            if informer.place == namespace:
                await informer.synced()
        self._incomplete.discard(namespace)
        _log.info("a namespace is processed from now on", controller=str(self), namespace=namespace)
        self._look_again(namespace)

    def _look_again(self, namespace: str | None = None) -> None:
        for resource in self._informers.store(self.controller.kind).list(namespace):
            self._changed(Change(None, resource, initial=True))

    async def _drain(self, seconds: float) -> None:
        self.queue.shut_down()
        for task in self._settling:
            task.cancel()
        try:
            async with asyncio.timeout(seconds):
                await self.queue.drained()
        except TimeoutError:
            _log.warning("stopped in the middle of a reconcile", controller=str(self), waited=seconds)

    # What fills the queue.

    def _subscribe(self) -> None:
        controller = self.controller
        self._hear(controller.kind, self._changed)
        for kind in controller.owns:
            self._hear(kind, self._owned_changed)
        for watch in controller.watches:
            self._hear(watch.kind, functools.partial(self._watched_changed, watch))

    def _hear(self, kind: type[Any], handler: Callable[[Change[Any]], None]) -> None:
        for informer in self._informers.following(kind):
            informer.subscribe(handler)

    def _changed(self, change: Change[Any]) -> None:
        after = self._meddling.hear(change) if self._active and self._keeps_status else None
        if self._counts(self.controller.when, change):
            self._add((change.resource.key,), change)
        elif after is not None:
            self._add((change.resource.key,), change, after)

    def _owned_changed(self, change: Change[Any]) -> None:
        self._add(self._keys(change, self._owner), change, self._meddling.later(change))

    def _watched_changed(self, watch: Watch[Any], change: Change[Any]) -> None:
        if self._counts(watch.when, change):
            self._add(self._keys(change, watch.to), change, max(watch.after, self._meddling.later(change)))

    def _add(self, keys: Iterable[Key], change: Change[Any], after: float = 0.0) -> None:
        if not self._active:
            # A standby would collect every key that ever existed; `run` begins with all present objects.
            return
        for key in keys:
            if self._incomplete and key.namespace in self._incomplete:
                continue
            priority = Priority.LOW if change.initial else Priority.NORMAL
            if after:
                self.queue.add_after(key, after, priority)
            else:
                self.queue.add(key, priority)

    def _counts(self, predicate: Predicate | None, change: Change[Any]) -> bool:
        try:
            return predicate is None or predicate(change)
        except Exception:  # noqa: BLE001  a run too many is harmless, one too few is not
            _log.exception("a predicate failed", controller=str(self), key=str(change.resource.key))
            return True

    def _keys(self, change: Change[Any], to: Callable[[Any], Iterable[Key]]) -> Iterable[Key]:
        """Return the keys that both states of a changed object lead to, each once."""
        states = (state for state in (change.old, change.new) if state is not None)
        return dict.fromkeys(key for state in states for key in to(state))

    def _owner(self, resource: Resource) -> Iterable[Key]:
        kind = self.controller.kind.kind
        owner = resource.metadata.controller
        if owner is None or owner.kind != kind.name:
            return
        group, _, _ = owner.apiVersion.rpartition("/")
        if group == kind.group:
            yield Key(resource.metadata.namespace if kind.namespaced else "", owner.name)

    # What empties it.

    async def _work(self, group: asyncio.TaskGroup) -> None:
        while True:
            if self._turn.over():
                # Runs that find nothing to do await nothing; a queue full of them would block the loop.
                await self._turn.give()
            try:
                key = await self.queue.get()
            except ShutDown:
                return
            writes = _Writes(self._informers, self.controller.kind.kind)
            self._meddling.begin(key)
            try:
                await self._reconcile(key, writes)
            except BaseException:
                # Cancelled in the middle: if we work again, this key must.
                self.queue.add(key)
                self._done(key, writes)
                raise
            if writes.missing() and not self.queue.closed:
                task = group.create_task(self._settle(key, writes), name=f"{self} settles {key}")
                self._settling.add(task)
                task.add_done_callback(functools.partial(self._settled, key, writes))
            else:
                self._done(key, writes)

    async def _settle(self, key: Key, writes: _Writes) -> None:
        """Wait until the caches have what a run wrote."""
        until = self._clock() + CACHE_PATIENCE
        for informer, version in writes.missing().items():
            if not await informer.reached(version, until - self._clock()):
                _log.warning("the cache is behind", controller=str(self), key=str(key), kind=str(informer))
                return

    def _settled(self, key: Key, writes: _Writes, task: asyncio.Task[None]) -> None:
        self._settling.discard(task)
        self._done(key, writes)

    def _done(self, key: Key, writes: _Writes) -> None:
        """Let go of a key; what others wrote into its status meanwhile, its run may not have seen."""
        present = self._informers.store(self.controller.kind).get(key)
        after = self._meddling.end(key, writes.own, writes.statuses, present)
        if after is not None:
            self.queue.add_after(key, after)
        self.queue.done(key)

    async def _reconcile(self, key: Key, writes: _Writes) -> None:
        """Run the controller's function once and act on how it ended."""
        pace = Pace(self._put_off.pop(key, None), self._clock)
        context = Context(
            client=self._client.recording(writes),
            informers=self._informers,
            events=self._events,
            controller=self.controller.name,
            logger=_log.bind(controller=self.controller.name, key=str(key)),
            pace=pace,
            statuses=writes.statuses,
        )
        began = self._clock()
        self._metrics.active_workers.inc()
        try:
            result = await self._attempt(key, context)
        except Exception as error:  # noqa: BLE001  judged, told and tried again; a worker never ends by it
            self._failed(key, error)
        else:
            self._succeeded(key, result)
        finally:
            if pace.put_off is not None:
                # However the run ended: what it did not write has to be looked at again.
                self._put_off[key] = pace.put_off
                self.queue.add_after(key, pace.rest)
            self._metrics.active_workers.dec()
            self._metrics.time.observe(self._clock() - began)

    async def _attempt(self, key: Key, context: Context) -> Result | None:
        deadline = self.controller.deadline
        try:
            async with asyncio.timeout(deadline) as scope:
                if await self._meddling.put_right(self._informers.store(self.controller.kind).get(key), context):
                    # What was written is looked at when the cache has it.
                    return Result(after=0.0)
                return await self.controller.reconcile(key, context)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # Nobody cancelled us: the reconcile awaited something that was cancelled elsewhere.
            raise RuntimeError("the reconcile awaited a task that was cancelled") from error
        except Exception as error:
            if not scope.expired():
                raise
            self._metrics.timeouts.inc()
            raise Retry(f"not finished after {deadline:g} s", reason="DeadlineExceeded") from error

    def _succeeded(self, key: Key, result: Result | None) -> None:
        self.queue.forget(key)
        if result is None or result.after is None:
            self._metrics.success.inc()
        else:
            self._metrics.requeue_after.inc()
            self.queue.add_after(key, result.after)

    def _failed(self, key: Key, error: Exception) -> None:
        verdict, worst = judge(error)
        log = _log.bind(controller=self.controller.name, key=str(key))
        if isinstance(worst, Blocked):
            self._metrics.terminal_errors.inc()
            self._metrics.error.inc()
            self.queue.forget(key)
            log.info("blocked until something changes", reason=worst.reason, message=str(worst))
            return
        delay = round(self.queue.retry(key, worst.after if isinstance(worst, Retry) else None), 3)
        if isinstance(worst, Retry):
            self._metrics.requeue.inc()
            log.info("to be tried again", reason=worst.reason, message=str(worst), seconds=delay)
            return
        self._metrics.error.inc()
        self._metrics.errors.inc()
        if verdict is Verdict.TROUBLE:
            log.warning("to be tried again", error=str(worst) or type(worst).__name__, seconds=delay)
        else:
            self._metrics.panics.inc()
            log.error("a reconcile failed with a bug", exc_info=error, seconds=delay)

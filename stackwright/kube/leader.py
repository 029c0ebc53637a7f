"""Leader election by a Lease, with fencing: two processes never lead at once.

A holder counts on its own clock from before it sent a renewal that succeeded. Everybody else counts on theirs
from when they saw the lease change, which is after. So if the holder stops before its time is over, it stops
before anybody can take the lease. No wall clock of one machine is ever compared with that of another:

    holder     sent ────────── renew: stop leading ─────── lease: must have stopped
    candidate       seen ──────────────────────────────────────── lease: may take it
"""

import asyncio
import contextlib
import math
import os
import random
import sys
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import structlog

from stackwright import tasks
from stackwright.kube import metrics
from stackwright.kube.builtin import Lease, LeaseSpec
from stackwright.kube.client import Client
from stackwright.kube.clock import REAL, Clock, microseconds
from stackwright.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from stackwright.kube.resource import JsonObject

_log = structlog.get_logger()

T = TypeVar("T")


def end_process() -> None:
    """End this process at once: work that cannot be stopped must not continue beside another leader's."""
    _log.critical("the work of a leader did not stop in time; this process ends so that no two lead at once")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(70)


class Election:
    """One candidate for the lease `name`. Give it a client of its own, so that a renewal never waits for others.

    `identity` is for people; a random part is added, so that a process which comes back under the same name is
    not taken for its predecessor. `lease` is how long others leave the lease alone, `renew` how long the holder
    goes on without a renewal, `retry` the pause between tries, all in seconds. `overrun` is called when what
    was cancelled is still not done at the end of the lease.
    """

    def __init__(  # noqa: PLR0913  each is one number of a candidate, and has a default
        self,
        client: Client,
        name: str,
        namespace: str,
        identity: str,
        *,
        lease: float = 15.0,
        renew: float = 10.0,
        retry: float = 2.0,
        clock: Clock = REAL,
        overrun: Callable[[], None] = end_process,
    ) -> None:
        if not 0 < retry < renew < lease:
            raise ValueError(f"an election needs retry < renew < lease, not {retry:g}, {renew:g}, {lease:g}")
        self.identity = f"{identity}_{uuid.uuid4().hex[:8]}"
        self.name = name
        self.namespace = namespace
        self._client = client
        self._lease = lease
        self._renew = renew
        self._retry = retry
        self._clock = clock
        self._overrun = overrun
        # When the last successful renewal was sent, and the version that it left.
        self._renewed = -math.inf
        self._version = ""
        # What the lease contained when it last changed, and when we saw that.
        self._observed = LeaseSpec()
        self._observed_at = -math.inf
        self._complaint = ""
        self._status = metrics.leader_election_master_status.labels(name)
        self._status.set(0)

    @property
    def leading(self) -> bool:
        """Return whether the lease is ours now, by the clock; ask again before anything that must not happen twice."""
        return self._clock.monotonic() < self._renewed + self._renew

    @property
    def holder(self) -> str:
        """The holder of the lease when we last looked."""
        return self._observed.holderIdentity

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Run `lead()` whenever the lease is ours, until it returns or this is cancelled.

        When the lease cannot be renewed, `lead()` is cancelled and awaited before anybody else can take it, and
        this becomes a candidate again. A cancelled `lead()` may take its time otherwise: the lease is renewed
        until it is done, and then released.
        """
        while True:
            while not await self._attempt(self._renew / 2):
                await self._clock.sleep(self._pause())
            if await self._lead(lead):
                return

    async def _lead(self, lead: Callable[[], Awaitable[None]]) -> bool:
        """Run `lead()` while the lease is ours; True when it ended by itself, False when the lease was lost."""
        _log.info("leading", lease=self.name, identity=self.identity)
        self._status.set(1)
        task = tasks.start(lead())
        stopped = lost = False
        try:
            while not task.done():
                try:
                    lost = await self._keep(task) or lost
                except asyncio.CancelledError:
                    stopped = True
                    task.cancel()
        finally:
            self._status.set(0)
            await tasks.end(task)
        if lost:
            _log.warning("the lease was lost", lease=self.name, identity=self.identity, holder=self.holder)
        else:
            await self._release()
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
        if stopped or (task.cancelled() and not lost):
            raise asyncio.CancelledError
        return not lost

    async def _keep(self, task: "asyncio.Future[None]") -> bool:
        """Renew until the task is done (False), or the lease is lost and the task was stopped (True)."""
        while not task.done():
            remaining = self._renewed + self._renew - self._clock.monotonic()
            if remaining <= 0:
                await self._stop(task)
                return True
            await self._either(task, min(self._pause(), remaining))
            remaining = self._renewed + self._renew - self._clock.monotonic()
            if not task.done() and remaining > 0:
                # Half of the time at most, so that one hanging request leaves time for another.
                await self._attempt(min(self._renew / 2, remaining))
        return False

    async def _stop(self, task: "asyncio.Future[None]") -> None:
        """Cancel the task and wait for it; report a task that is not done when the lease ends."""
        task.cancel()
        remaining = self._renewed + self._lease - self._clock.monotonic()
        # If the time is over already, because the lease was taken by force or this process was frozen, it gets a
        # moment.
        await self._either(task, remaining if remaining > 0 else self._retry)
        if not task.done():
            self._overrun()
        await asyncio.wait((task,))

    async def _attempt(self, seconds: float) -> bool:
        """Take or renew the lease if possible; return True if it is ours."""
        try:
            await self._within(self._take(), seconds)
        except (AlreadyExists, Conflict):
            pass  # Another candidate was faster. The next try reads what it wrote.
        except (KubeError, TimeoutError) as error:
            self._complain(str(error) or f"no answer in {seconds:g} seconds")
        else:
            self._complaint = ""
        return self.leading

    def _complain(self, complaint: str) -> None:
        """Log why we cannot get the lease, once for each reason."""
        if complaint != self._complaint:
            self._complaint = complaint
            _log.warning("a lease could not be taken or renewed", lease=self.name, error=complaint)

    async def _take(self) -> None:
        if self._version:
            version, self._version = self._version, ""
            # A lost answer to an earlier attempt looks like a conflict; the current holder of the lease settles it.
            with contextlib.suppress(Conflict, NotFound):
                await self._write(self._observed, version)
                return
        found = await self._client.find(Lease, self.name, self.namespace)
        if found is not None and found.spec != self._observed:
            self._observed, self._observed_at = found.spec, self._clock.monotonic()
        if self.holder != self.identity and self._clock.monotonic() < self._expiry():
            # It belongs to somebody else, whatever we believed; even if it is missing, because its holder may not know
            # that yet.
            self._renewed = -math.inf
        elif found is None:
            await self._create()
        else:
            await self._write(found.spec, found.metadata.resourceVersion)

    def _expiry(self) -> float:
        """When the lease that we saw may be taken, on our clock."""
        if not self._observed.holderIdentity:
            return -math.inf
        return self._observed_at + (self._observed.leaseDurationSeconds or self._lease)

    async def _create(self) -> None:
        sent = self._clock.monotonic()
        spec = self._claim(transitions=0)
        body: JsonObject = {"metadata": {"name": self.name, "namespace": self.namespace}, "spec": spec}
        self._took(await self._client.create(Lease, body), sent)

    async def _write(self, old: LeaseSpec, version: str) -> None:
        """Claim the lease if it is still at that version."""
        sent = self._clock.monotonic()
        if old.holderIdentity == self.identity:
            spec: JsonObject = {"renewTime": microseconds(self._clock.now())}
        else:
            spec = self._claim(transitions=old.leaseTransitions + 1)
        patch: JsonObject = {"metadata": {"resourceVersion": version}, "spec": spec}
        self._took(await self._client.patch(Lease, self.name, self.namespace, patch), sent)

    def _claim(self, *, transitions: int) -> JsonObject:
        moment = microseconds(self._clock.now())
        return {
            "holderIdentity": self.identity,
            # The API has whole seconds. More than we use ourselves is safe, less would not be.
            "leaseDurationSeconds": math.ceil(self._lease),
            "acquireTime": moment,
            "renewTime": moment,
            "leaseTransitions": transitions,
        }

    def _took(self, lease: Lease, sent: float) -> None:
        self._observed, self._observed_at = lease.spec, self._clock.monotonic()
        self._version = lease.metadata.resourceVersion
        self._renewed = sent

    async def _release(self) -> None:
        """Release the lease, so that others need not wait for its end."""
        self._renewed = -math.inf
        try:
            await self._within(self._give_up(), self._renew / 2)
        except (KubeError, TimeoutError) as error:
            _log.info("a lease was not released and will run out", lease=self.name, error=str(error))
        self._version = ""

    async def _give_up(self) -> None:
        lease = await self._client.find(Lease, self.name, self.namespace)
        if lease is None or lease.spec.holderIdentity != self.identity:
            return
        spec = {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": microseconds(self._clock.now())}
        patch: JsonObject = {"metadata": {"resourceVersion": lease.metadata.resourceVersion}, "spec": spec}
        await self._client.patch(Lease, self.name, self.namespace, patch)
        _log.info("a lease was released", lease=self.name, identity=self.identity)

    def _pause(self) -> float:
        """Return how long to wait before the next attempt; random, so that candidates do not come all at once."""
        pause = self._retry * random.uniform(1.0, 1.2)  # noqa: S311  spreads tries in time; nothing is secret about it
        remaining = self._expiry() - self._clock.monotonic()
        return min(pause, remaining) if remaining > 0 and self.holder != self.identity else pause

    async def _either(self, task: "asyncio.Future[Any]", seconds: float) -> None:
        """Wait until the task is done or the time is over; the task is left alone."""
        timer = tasks.start(self._clock.sleep(seconds))
        try:
            await asyncio.wait((task, timer), return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()

    async def _within(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """Return what the work returns; it is cancelled, and TimeoutError raised, when the time is over."""
        task = tasks.start(work)
        try:
            await self._either(task, seconds)
        finally:
            finished = task.done()
            if not finished:
                await tasks.end(task)
        if not finished:
            raise TimeoutError
        return await task

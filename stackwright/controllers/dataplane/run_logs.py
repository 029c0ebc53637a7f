"""Reads the logs of runs, again and again: each time what is new, with some lines that were read before."""

import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field

from stackwright.controllers.dataplane.run_job import CONTAINER
from stackwright.controllers.dataplane.run_log import Progress, read_lines
from stackwright.kube import pods
from stackwright.kube.builtin import Pod
from stackwright.kube.client import Client
from stackwright.kube.errors import KubeError, NotFound

# A node that does not answer holds no pass up.
SILENCE = 10.0
# How many seconds are read again: clocks differ, and a line is there a moment after it was written.
OVERLAP = 10.0
# For how many seconds the end of a log is asked for after the end of its pod: nobody else knows what the run came to.
HOPE = 30.0

# Gives the log of a pod's container, from so many seconds back or, without any, from its beginning.
Read = Callable[[Client, Pod, float | None], AsyncIterator[bytes]]


async def read_pod(client: Client, pod: Pod, since: float | None) -> AsyncIterator[bytes]:
    """Yield the log of a run's pod."""
    name, namespace = pod.metadata.name, pod.metadata.namespace
    pieces = pods.logs(client, name, namespace, container=CONTAINER, since=since, silence=SILENCE)
    async with aclosing(pieces):
        async for piece in pieces:
            yield piece


@dataclass
class _Reading:
    """How far the log of a pod was read, and what it said.

    `missed` is since when its end cannot be read, `gone` whether the server knows no such pod.
    """

    progress: Progress = field(default_factory=Progress)
    at: float | None = None
    missed: float | None = None
    gone: bool = False


@dataclass
class RunLogs:
    """Remembers of each pod how far its log was read. After a restart all of it is read once more."""

    source: Read = read_pod
    known: dict[str, _Reading] = field(default_factory=dict)

    async def read(self, client: Client, there: Iterable[Pod], hidden: Iterable[str], *, over: bool) -> Progress:
        """Return what the log of the newest of a run's pods says; all of it once its Job is `over`."""
        mine = sorted(there, key=lambda pod: (pod.metadata.creationTimestamp, pod.metadata.name))
        for older in mine[:-1]:
            self.known.pop(older.metadata.uid, None)
        if not mine or not has_started(mine[-1]):
            return Progress()
        newest = mine[-1]
        reading = self.known.setdefault(newest.metadata.uid, _Reading())
        if reading.progress.complete:
            return reading.progress
        began = time.monotonic()
        since = None if over or reading.at is None else began - reading.at + OVERLAP
        text = bytearray()
        try:
            async with aclosing(self.source(client, newest, since)) as pieces:  # type: ignore[type-var]  # a generator
                async for piece in pieces:
                    text += piece
        except KubeError as error:
            # The node may not answer, or the pod be gone; the next pass asks again, or the Job says how it ended.
            reading.gone = isinstance(error, NotFound)
            if over and reading.missed is None:
                reading.missed = began
            return reading.progress
        reading.at, reading.missed = began, None
        reading.progress = read_lines(reading.progress, text.decode(errors="replace").splitlines(), hidden)
        return reading.progress

    def is_awaited(self, there: Iterable[Pod]) -> bool:
        """Return whether the end of the log of one of these pods could not be read, and may be a moment later."""
        known = (self.known.get(pod.metadata.uid) for pod in there)
        missed = (each.missed for each in known if each is not None and not each.gone)
        return any(since is not None and time.monotonic() - since < HOPE for since in missed)

    def forget(self, there: Iterable[Pod]) -> None:
        """Forget the pods that are gone."""
        uids = {pod.metadata.uid for pod in there}
        for uid in [uid for uid in self.known if uid not in uids]:
            del self.known[uid]


def has_started(pod: Pod) -> bool:
    """Return whether a pod's container has written, or could have. Pure."""
    statuses = pod.status.get("containerStatuses") or ()
    states = (status.get("state") or {} for status in statuses if status.get("name") == CONTAINER)
    return any("running" in state or "terminated" in state for state in states)

"""Everything of a cloud that an explanation is made of, read once and frozen: resources, pods, events, logs."""

from collections.abc import Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from stackwright import tasks
from stackwright.foresight import mirror
from stackwright.foresight.objects import Objects, list_kind
from stackwright.kube import clock
from stackwright.kube import pods as pod_calls
from stackwright.kube.builtin import Event, PersistentVolumeClaim, Pod, ReplicaSet, StorageClass
from stackwright.kube.client import Client
from stackwright.kube.errors import ApiError, Denied
from stackwright.kube.resource import R, Resource

# How many lines of a log are enough to see why a program ended.
LINES = 12


class DatedEvent(Event, frozen=True, kw_only=True):
    """An event with the times that those have which were told in the older form."""

    deprecatedLastTimestamp: str | None = None
    deprecatedFirstTimestamp: str | None = None

    @property
    def last(self) -> str:
        """When it was told last."""
        series = (self.series or {}).get("lastObservedTime")
        return str(series or self.deprecatedLastTimestamp or self.eventTime or self.metadata.creationTimestamp)


class Log(NamedTuple):
    """A log that is worth reading: of which container, and whether of the one before its last restart."""

    pod: str
    container: str
    previous: bool = False


@dataclass(frozen=True)
class Snapshot:
    """A namespace at one moment. `classes` is None where nobody may look which storage classes there are."""

    objects: Objects
    now: datetime
    pods: tuple[Pod, ...] = ()
    replica_sets: tuple[ReplicaSet, ...] = ()
    claims: tuple[PersistentVolumeClaim, ...] = ()
    events: tuple[DatedEvent, ...] = ()
    classes: frozenset[str] | None = None
    logs: Mapping[Log, tuple[str, ...]] = field(default_factory=dict)

    def about(self, resource: Resource, *reasons: str) -> list[DatedEvent]:
        """Return what was told of an object for one of these reasons, or for any; the newest first."""
        metadata = resource.metadata
        found = [
            event
            for event in self.events
            if event.regarding.get("kind") == resource.kind.name
            and event.regarding.get("name") == metadata.name
            and event.regarding.get("uid", metadata.uid) == metadata.uid
            and (not reasons or event.reason in reasons)
        ]
        return sorted(found, key=lambda event: event.last, reverse=True)

    def pods_of(self, *owners: Resource) -> list[Pod]:
        """Return the pods that belong to one of some objects, the oldest first."""
        uids = {owner.metadata.uid for owner in owners}
        found = [pod for pod in self.pods if any(owner.uid in uids for owner in pod.metadata.ownerReferences)]
        return sorted(found, key=lambda pod: (pod.metadata.creationTimestamp, pod.metadata.name))


async def read(client: Client, namespace: str) -> Snapshot:
    """Return what is there now, without logs."""
    objects, pods, sets, claims, events, classes = await tasks.together(
        mirror.read(client, namespace),
        list_kind(client, Pod, namespace),
        list_kind(client, ReplicaSet, namespace),
        list_kind(client, PersistentVolumeClaim, namespace),
        list_kind(client, DatedEvent, namespace),
        _list_allowed(client, StorageClass),
    )
    names = frozenset(item.metadata.name for item in classes) if classes is not None else None
    return Snapshot(objects, clock.now(), tuple(pods), tuple(sets), tuple(claims), tuple(events), names)


async def _list_allowed(client: Client, kind: type[R]) -> list[R] | None:
    """Return all objects of a kind outside of namespaces; None where nobody lets us look."""
    try:
        return await client.list(kind)
    except Denied:
        return None


async def read_logs(client: Client, namespace: str, wanted: Iterable[Log]) -> dict[Log, tuple[str, ...]]:
    """Return the last lines of some logs; of one that cannot be read, nothing."""
    every = tuple(dict.fromkeys(wanted))
    found = await tasks.together(*(_lines(client, namespace, log) for log in every))
    return dict(zip(every, found, strict=True))


async def _lines(client: Client, namespace: str, log: Log) -> tuple[str, ...]:
    pieces = pod_calls.logs(client, log.pod, namespace, container=log.container, tail=LINES, previous=log.previous)
    try:
        async with aclosing(pieces):
            text = b"".join([piece async for piece in pieces]).decode(errors="replace")
    except ApiError:
        # A pod that is gone meanwhile, or a log that its node has no more: the rest is worth telling.
        return ()
    return tuple(line.rstrip() for line in text.splitlines() if line.strip())[-LINES:]

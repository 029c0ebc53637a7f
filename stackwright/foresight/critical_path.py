"""What took the time until a resource was ready: a chain of steps, each of which began when the one before ended. Pure.

It is walked backwards from the moment at which the resource became ready: before each moment comes, of all that it
had to wait for, what ended last. Kubernetes writes times in whole seconds, so steps of less than one may be missing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

import msgspec

from stackwright.api.base import CustomResource
from stackwright.foresight import dependencies, tree
from stackwright.foresight.objects import resource_name_of
from stackwright.foresight.snapshot import Snapshot
from stackwright.kube import conditions
from stackwright.kube.builtin import Job, Plain, Pod
from stackwright.kube.resource import Resource, ResourceName

CREATED, INITIALISED, READY = "created", "initialised", "ready"


class Step(msgspec.Struct, frozen=True, rename="camel"):
    """One step: what came to be of which object, when, and how many seconds after the step before it."""

    kind: str
    name: str
    what: str
    at: str
    seconds: float


class Path(msgspec.Struct, frozen=True, rename="camel"):
    """The steps from the creation of a resource until it was ready, and how long all of them took."""

    began: str
    seconds: float
    steps: tuple[Step, ...]


class Moment(NamedTuple):
    """A point in the life of an object. `rank` tells which of two at the same second comes first."""

    at: datetime
    rank: int
    kind: str
    name: str
    what: str


def trace(snapshot: Snapshot, target: ResourceName) -> Path | None:
    """Return what took the time until a resource was ready; None while it is not."""
    walk = _Walk(snapshot)
    resource = walk.resources.get(target)
    if not isinstance(resource, CustomResource) or not conditions.is_true(resource.status.conditions):
        return None
    first, last = walk.moment(resource, CREATED), walk.moment(resource, READY)
    if first is None or last is None:
        return None
    chain = [last]
    while (before := walk.before(chain[-1], first.at, chain)) is not None:
        chain.append(before)
    if first not in chain:
        chain.append(first)
    moments = chain[::-1]
    steps = tuple(
        Step(moment.kind, moment.name, moment.what, _text(moment.at), (moment.at - before.at).total_seconds())
        for moment, before in zip(moments, (first, *moments), strict=False)
    )
    return Path(resource.metadata.creationTimestamp, (last.at - first.at).total_seconds(), steps)


@dataclass(frozen=True)
class _Walk:
    snapshot: Snapshot

    @cached_property
    def resources(self) -> dict[ResourceName, Resource]:
        """Everything that has moments, by kind and name."""
        return {resource_name_of(one): one for one in (*self.snapshot.objects.all(), *self.snapshot.pods)}

    @cached_property
    def makers(self) -> dict[ResourceName, ResourceName]:
        """Who made what: by the tree, and of pods their workload."""
        found: dict[ResourceName, ResourceName] = {}
        for node in tree.flatten(tree.build(self.snapshot.objects)):
            found |= {(child.kind, child.name): (node.kind, node.name) for child in node.children}
        sets = {one.metadata.uid: one.metadata.controller for one in self.snapshot.replica_sets}
        for pod in self.snapshot.pods:
            owner = pod.metadata.controller
            # Between a Deployment and its pods there is a ReplicaSet, which takes no time of its own.
            owner = sets.get(owner.uid, owner) if owner is not None else None
            if owner is not None:
                found[resource_name_of(pod)] = (owner.kind, owner.name)
        return found

    def moment(self, resource: Resource, what: str) -> Moment | None:
        """Return a moment of an object by its name, if it has come."""
        return next((one for one in self.moments(resource) if one.what == what), None)

    def moments(self, resource: Resource) -> list[Moment]:
        """Return the moments of an object, in order."""
        stated = list(self._list_times(resource))
        found = [
            Moment(at, rank, resource.kind.name, resource.metadata.name, what)
            for rank, (what, text) in enumerate(stated)
            if (at := _time(text)) is not None
        ]
        return sorted(found)

    def _list_times(self, resource: Resource) -> Iterator[tuple[str, str]]:
        """Yield what became of an object and when, in the order in which it must have been."""
        yield CREATED, resource.metadata.creationTimestamp
        if isinstance(resource, CustomResource):
            for name in (*resource.declared_conditions(), conditions.READY):
                condition = conditions.find(resource.status.conditions, name)
                if condition is not None and condition.status == "True":
                    yield READY if name == conditions.READY else name, condition.lastTransitionTime
        elif isinstance(resource, Pod):
            yield from _of_pod(resource)
        elif isinstance(resource, Job):
            yield "done", str(resource.status.get("completionTime") or "")
        elif isinstance(resource, Plain):
            yield READY, self._all_ready(resource)

    def _all_ready(self, workload: Plain) -> str:
        """Return when the last pod of a workload became ready; "" while one is not, or where that is not known."""
        pods = self._pods(workload)
        found = [text for pod in pods for what, text in _of_pod(pod) if what == READY]
        return max(found) if found and len(found) == len(pods) else ""

    def _pods(self, workload: Resource) -> list[Pod]:
        wanted = resource_name_of(workload)
        return [pod for pod in self.snapshot.pods if self.makers.get(resource_name_of(pod)) == wanted]

    def before(self, moment: Moment, began: datetime, visited: Iterable[Moment]) -> Moment | None:
        """Return what ended last of all that a moment had to wait for; None at the beginning."""
        if moment.at == began and moment.what == CREATED:
            return None
        gone = set(visited)
        found = [one for one in self._candidates(moment) if began <= one.at <= moment.at and one not in gone]
        # Of two at the same second, that of another object says more.
        return max(found, key=lambda one: (one.at, one[2:4] != moment[2:4], one.rank), default=None)

    def _candidates(self, moment: Moment) -> Iterable[Moment]:
        name = (moment.kind, moment.name)
        resource = self.resources[name]
        own = [one for one in self.moments(resource) if one < moment]
        maker = self.resources.get(self.makers.get(name, ("", "")))
        if moment.what == CREATED:
            # Who made it did so when what it waited for was there: its needs, and others that it made.
            return self._before_making(maker, name) if maker is not None else ()
        if not isinstance(resource, Pod):
            return [*own, *self._ends(self._waited_for(resource))]
        owner = self.resources.get(self.makers.get(resource_name_of(maker), ("", ""))) if maker is not None else None
        if moment.what == INITIALISED and maker is not None and owner is not None:
            # The first containers of a pod wait for what its service needs, and for Jobs of its service.
            return [*own[-1:], *self._before_making(owner, resource_name_of(maker))]
        return own[-1:]

    def _before_making(self, maker: Resource, made: ResourceName) -> Iterable[Moment]:
        begun = [one for one in self.moments(maker) if one.what == CREATED]
        siblings = [one for one in self._waited_for(maker) if one != made]
        return [*begun, *self._ends(siblings)]

    def _waited_for(self, resource: Resource) -> list[ResourceName]:
        """Return what an object waits for before it is ready: what it needs, what it made."""
        name = resource_name_of(resource)
        made = [child for child, maker in self.makers.items() if maker == name]
        needed = (
            dependencies.list_needed(resource, self.snapshot.objects) if isinstance(resource, CustomResource) else ()
        )
        return [entry for entry in dict.fromkeys((*needed, *made)) if entry in self.resources]

    def _ends(self, entries: Iterable[ResourceName]) -> Iterator[Moment]:
        """Yield the last moments of some objects, as far as they have come to an end."""
        for entry in entries:
            found = self.moments(self.resources[entry])
            if found and found[-1].what in (READY, "done"):
                yield found[-1]


def _of_pod(pod: Pod) -> Iterator[tuple[str, str]]:
    stated = {entry.get("type"): entry for entry in pod.status.get("conditions") or ()}
    for name, what in (("PodScheduled", "scheduled"), ("Initialized", INITIALISED)):
        entry = stated.get(name, {})
        if entry.get("status") == "True":
            yield what, str(entry.get("lastTransitionTime") or "")
    states = [entry.get("state") or {} for entry in pod.status.get("containerStatuses") or ()]
    ends = [(state.get("terminated") or {}) for state in states]
    begun = [str((state.get("running") or end).get("startedAt") or "") for state, end in zip(states, ends, strict=True)]
    if begun and all(begun):
        yield "started", max(begun)
    ready = stated.get("Ready", {})
    if ready.get("status") == "True":
        yield READY, str(ready.get("lastTransitionTime") or "")
    elif pod.status.get("phase") == "Succeeded":
        yield "done", max((str(end.get("finishedAt") or "") for end in ends), default="")


def _time(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _text(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")

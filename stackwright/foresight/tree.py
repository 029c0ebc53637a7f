"""A cloud as a tree: the control plane, its services, and what each of them owns or keeps. Pure."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from stackwright import services
from stackwright.api.annotations import PAUSED, RELEASE_OWNER
from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.base import Condition, CustomResource
from stackwright.api.controlplane import OpenStackControlPlane, OperatorState
from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.mariadb import DATABASE_LABEL, MariaDBAccount, MariaDBDatabase
from stackwright.api.service import ActionStatus
from stackwright.controllers.ownership import TAKEN
from stackwright.controllers.service import labels
from stackwright.foresight import dependencies
from stackwright.foresight.kinds import WORKLOADS, chart_of, service_kinds
from stackwright.foresight.objects import Objects, resource_name_of
from stackwright.kube import conditions, finalizers
from stackwright.kube.builtin import DaemonSet, Job, Plain
from stackwright.kube.resource import Key, Overridden, Resource, ResourceName
from stackwright.kube.shapes import pausing
from stackwright.kube.shapes.states import HELD, state_of

_WORKLOAD_VERSIONS = frozenset(kind.kind.api_version for kind in WORKLOADS)


class State(StrEnum):
    """How something is, from the best to the worst."""

    READY = "Ready"
    WAITING = "Waiting"
    WARNING = "Warning"
    ERROR = "Error"


_WORSE = list(State)


class Pods(msgspec.Struct, frozen=True):
    """How many pods of a workload, or ends of a Job, there are, and how many there should be."""

    ready: int
    wanted: int


class Needed(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A resource that another one needs; without a state it is not there. `service` tells one that is a service."""

    kind: str
    name: str
    state: State | None = None
    service: bool = False


class Branch(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One resource in the tree. `since` is when its state became what it is."""

    kind: str
    name: str
    api_version: str
    state: State
    reason: str = ""
    message: str = ""
    since: str = ""
    pods: Pods | None = None
    paused: bool = False
    phase: str = ""
    """How far a machine outside of the cluster is."""
    chart: str = ""
    """Where its chart comes from, where that is not ours."""
    release_owner: str = ""
    """Whose its Helm release is, where somebody said: operator or helm."""
    needed_by: tuple[str, ...] = ()
    """Why it is there although nobody asked for it."""
    needs: tuple["Needed", ...] = ()
    """The resources of ours that it needs."""
    overridden: tuple[Overridden, ...] = ()
    actions: tuple[ActionStatus, ...] = ()
    operators: tuple[OperatorState, ...] = ()
    """The services' own operators, where a control plane has such."""
    children: tuple["Branch", ...] = ()


def build(objects: Objects) -> tuple[Branch, ...]:
    """Return the trees of a namespace: its control plane first, then what belongs to none."""
    children: dict[str, list[Resource]] = {}
    roots: list[Resource] = []
    parents = _parents(objects)
    for resource in objects.all():
        parent = parents.get(resource_name_of(resource))
        if parent is not None:
            children.setdefault(parent.metadata.uid, []).append(resource)
        elif isinstance(resource, CustomResource):
            roots.append(resource)
    known = {
        resource_name_of(resource): _custom(resource)[0]
        for resource in objects.all()
        if isinstance(resource, CustomResource)
    }
    found = {
        resource_name_of(resource): _needs(resource, objects, known)
        for resource in objects.all()
        if isinstance(resource, CustomResource)
    }
    past = _find_past(objects, found)
    return tuple(_node(root, children, found, (), past) for root in sorted(roots, key=_order))


def _find_past(objects: Objects, needed: Mapping[ResourceName, tuple["Needed", ...]]) -> frozenset[ResourceName]:
    """Return the runs that have ended and hold nobody up: what failed in one of them was done by another since."""
    held = {(need.kind, need.name) for needs in needed.values() for need in needs}
    runs = (run for run in objects.of_kind(OpenStackAnsibleEE) if run.finished and run.metadata.controller is not None)
    return frozenset(name for name in map(resource_name_of, runs) if name not in held)


def worst(nodes: Iterable[Branch]) -> State:
    """Return the worst state of all resources of ours; what runs for them has a voice through them alone."""
    states = (node.state for node in flatten(nodes) if node.api_version not in _WORKLOAD_VERSIONS)
    return max(states, key=_WORSE.index, default=State.READY)


def flatten(nodes: Iterable[Branch]) -> Iterable[Branch]:
    """Yield all nodes of some trees, from the top."""
    for node in nodes:
        yield node
        yield from flatten(node.children)


def find(nodes: Iterable[Branch], wanted: ResourceName) -> Branch | None:
    """Return the part of some trees that begins with a resource."""
    return next((node for node in flatten(nodes) if (node.kind, node.name) == wanted), None)


# Who belongs to whom.


def _parents(objects: Objects) -> dict[ResourceName, Resource]:
    """Return the parent of everything that has one: its owner, or who keeps or uses it."""
    everything = objects.all()
    by_uid = {resource.metadata.uid: resource for resource in everything}
    found: dict[ResourceName, Resource] = {}
    for plane in everything:
        if isinstance(plane, OpenStackControlPlane):
            found |= {(entry.kind, entry.name): plane for entry in plane.status.services}
    # Of several that ask for one thing, those come last, and win, that were not refused.
    for resource in sorted(everything, key=_is_refused, reverse=True):
        if isinstance(resource, CustomResource):
            found |= dict.fromkeys(dependencies.list_kept(resource, objects), resource)
    found |= _accounts(everything, found)
    for resource in everything:
        owner = resource.metadata.controller
        if owner is not None and owner.uid in by_uid:
            found[resource_name_of(resource)] = by_uid[owner.uid]
        elif owner is None and isinstance(resource, Plain) and (parent := _find_by_labels(resource, everything)):
            found[resource_name_of(resource)] = parent
    return found | _nodes(everything)


def _nodes(everything: Iterable[Resource]) -> dict[ResourceName, Resource]:
    """Return the roles of nodes: they say more of a node than the data plane that made both."""
    everything = tuple(everything)
    roles = {role.key: role for role in everything if isinstance(role, OpenStackDataPlaneRole)}
    nodes = (node for node in everything if isinstance(node, OpenStackDataPlaneNode))
    named = ((node, Key(node.metadata.namespace, node.spec.role)) for node in nodes)
    return {resource_name_of(node): roles[role] for node, role in named if role in roles}


def _is_refused(resource: Resource) -> bool:
    """Return whether a resource was refused what it asks for, because that is another's."""
    stated = resource.status.conditions if isinstance(resource, CustomResource) else ()
    return any(condition.reason == TAKEN and condition.status != "True" for condition in stated)


def _accounts(everything: Iterable[Resource], parents: Mapping[ResourceName, Resource]) -> dict[ResourceName, Resource]:
    """Return whose the accounts are that a service used before, or somebody made for its database."""
    found: dict[ResourceName, Resource] = {}
    for account in everything:
        if not isinstance(account, MariaDBAccount) or resource_name_of(account) in parents:
            continue
        database = (MariaDBDatabase.kind.name, account.metadata.labels.get(DATABASE_LABEL, ""))
        if database in parents:
            found[resource_name_of(account)] = parents[database]
    return found


def _find_by_labels(workload: Plain, everything: Iterable[Resource]) -> Resource | None:
    """Return the resource of a workload that has no owner, by its labels; releases given to helm have these."""
    for resource in everything:
        if isinstance(resource, CustomResource) and type(resource) in service_kinds():
            key = labels.instance_of(workload, chart_of(type(resource)))
            if key is not None and key.name == resource.metadata.name:
                return resource
    return None


def _order(resource: Resource) -> tuple[Any, ...]:
    """Sort the control plane first, then what others stand on, then the rest; Jobs as they were made, then servers."""
    if isinstance(resource, Plain):
        created = resource.metadata.creationTimestamp if isinstance(resource, Job) else ""
        return 9, WORKLOADS.index(type(resource)), created, resource.metadata.name
    below_others = {part.kind for section in services.sections() if section.infrastructure for part in section.parts}
    rank = 0 if isinstance(resource, OpenStackControlPlane) else 1 if type(resource) in below_others else 2
    return rank, 0, resource.kind.name, resource.metadata.name


# How one of them is.


def _node(
    resource: Resource,
    children: Mapping[str, list[Resource]],
    needed: Mapping[ResourceName, tuple[Needed, ...]],
    needed_by: tuple[str, ...],
    past: frozenset[ResourceName],
) -> Branch:
    below_it = sorted(children.get(resource.metadata.uid, ()), key=_order)
    if isinstance(resource, Plain):
        return _workload(resource)
    assert isinstance(resource, CustomResource)  # noqa: S101  there is nothing else in a tree
    resolved = _list_resolved(resource)
    nodes = [_node(child, children, needed, resolved.get(resource_name_of(child), ()), past) for child in below_it]
    state, reason, message, since = _custom(resource)
    if resource_name_of(resource) in past:
        state = State.READY
    annotations = resource.metadata.annotations
    return Branch(
        kind=resource.kind.name,
        name=resource.metadata.name,
        api_version=resource.kind.api_version,
        state=state,
        reason=reason,
        message=message,
        since=since,
        paused=pausing.is_paused(PAUSED, resource),
        phase=getattr(resource.status, "phase", ""),
        chart=getattr(resource.status, "chart", ""),
        release_owner=annotations.get(RELEASE_OWNER, ""),
        needed_by=needed_by,
        needs=needed.get(resource_name_of(resource), ()),
        overridden=getattr(resource.status, "overridden", ()),
        actions=getattr(resource.status, "actions", ()),
        operators=getattr(resource.status, "operators", ()),
        children=(*nodes, *_absent(resource, {(node.kind, node.name) for node in nodes})),
    )


def _needs(resource: CustomResource, objects: Objects, known: Mapping[ResourceName, State]) -> tuple[Needed, ...]:
    """Return what a resource needs; a control plane has what it stands for below it, and that is enough."""
    if isinstance(resource, OpenStackControlPlane):
        return ()
    of_services = dependencies.list_services(resource)
    return tuple(
        Needed(*entry, known.get(entry), service=entry in of_services)
        for entry in dependencies.list_needed(resource, objects)
    )


def _custom(resource: CustomResource) -> tuple[State, str, str, str]:
    ready = conditions.find(resource.status.conditions, conditions.READY)
    if resource.deleting:
        return _deleting(resource, ready)
    if not resource.declared_conditions():
        # It is only read, and being there is all that it does.
        return State.READY, "", "", resource.metadata.creationTimestamp
    if ready is None or resource.status.observedGeneration < resource.metadata.generation:
        # That it is paused is told beside.
        message = "" if pausing.is_paused(PAUSED, resource) else "its operator has not reported on it yet"
        since = "" if ready is not None else resource.metadata.creationTimestamp
        return State.WAITING, conditions.REQUESTED, message, since
    return _state_of(ready), ready.reason, ready.message, ready.lastTransitionTime


def _deleting(resource: CustomResource, ready: Condition | None) -> tuple[State, str, str, str]:
    """Return how far a deletion is: what its controller says about it, else who holds the resource."""
    since = resource.metadata.deletionTimestamp
    # A deletion is a new generation, so what was said of an older one is about the resource's life.
    seen = resource.status.observedGeneration >= resource.metadata.generation
    said = ready if seen and ready is not None and ready.status == "False" else None
    sentence = finalizers.held(resource)
    # If somebody else holds it as well, that is only worth saying once our own work can go on.
    if said is not None and (_state_of(said) is State.ERROR or not sentence):
        return _state_of(said), said.reason, f"is being deleted; {said.reason}: {said.message}", since
    if sentence:
        return State.ERROR, HELD, sentence.removeprefix(f"{resource.kind.name} {resource.metadata.name} "), since
    left = resource.metadata.finalizers
    named = f"; {', '.join(left)} {'is' if len(left) == 1 else 'are'} left to do" if left else ""
    return State.WAITING, "Deleting", f"is being deleted{named}", since


def _state_of(ready: Condition) -> State:
    if ready.status == "True":
        return State.READY
    return {"Error": State.ERROR, "Warning": State.WARNING}.get(ready.severity, State.WAITING)


def _workload(resource: Plain) -> Branch:
    said = state_of(resource)
    state = State.READY if said.status == "True" else State.ERROR if said.severity == "Error" else State.WAITING
    return Branch(
        kind=resource.kind.name,
        name=resource.metadata.name,
        api_version=resource.kind.api_version,
        state=state,
        reason=said.reason,
        message=said.message.removeprefix(f"{resource.kind.name} {resource.metadata.name} "),
        since=_since(resource, state),
        pods=_pods(resource),
    )


def _pods(resource: Plain) -> Pods:
    spec, status = resource.spec, resource.status
    if isinstance(resource, Job):
        return Pods(status.get("succeeded", 0), spec.get("completions", 1))
    if isinstance(resource, DaemonSet):
        return Pods(status.get("numberAvailable", 0), status.get("desiredNumberScheduled", 0))
    # All pods that serve, including those from before a change; whether the change succeeded is reported separately.
    wanted = spec.get("replicas", 1)
    return Pods(min(wanted, status.get("availableReplicas", 0)), wanted)


def _since(resource: Plain, state: State) -> str:
    """Return since when a workload is as it is; where Kubernetes does not tell, since when it is there."""
    stated = {entry.get("type"): entry for entry in resource.status.get("conditions") or ()}
    wanted = "Failed" if isinstance(resource, Job) and state is State.ERROR else "Complete"
    entry = stated.get(wanted if isinstance(resource, Job) else "Available", {})
    return str(entry.get("lastTransitionTime") or resource.metadata.creationTimestamp)


def _list_resolved(resource: CustomResource) -> dict[ResourceName, tuple[str, ...]]:
    """Return what a control plane added by itself, and for whom."""
    if not isinstance(resource, OpenStackControlPlane):
        return {}
    return {(entry.kind, entry.name): entry.neededBy for entry in resource.status.resolved}


def _absent(resource: CustomResource, there: set[ResourceName]) -> Iterable[Branch]:
    """Yield what a control plane speaks of and what is not there yet."""
    if not isinstance(resource, OpenStackControlPlane):
        return
    versions = {kind.kind.name: kind.kind.api_version for kind in services.kinds()}
    for entry in resource.status.services:
        if (entry.kind, entry.name) not in there:
            message = entry.message or "is not there yet"
            yield Branch(entry.kind, entry.name, versions.get(entry.kind, ""), State.WAITING, entry.reason, message)

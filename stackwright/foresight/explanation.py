"""What a resource waits for, followed down to a pod's own reason: from a frozen snapshot to a tree of reasons. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from stackwright import services
from stackwright.api.base import CustomResource
from stackwright.foresight import dependencies, reasons, tree
from stackwright.foresight.objects import resource_name_of
from stackwright.foresight.reasons import Reason
from stackwright.foresight.snapshot import Snapshot
from stackwright.foresight.tree import Branch, State
from stackwright.kube import conditions
from stackwright.kube.builtin import Deployment, Job, Pod, ReplicaSet
from stackwright.kube.pace import QUIET
from stackwright.kube.resource import Condition, Resource, ResourceName
from stackwright.kube.shapes.states import is_ready

# The order of a Deployment's ReplicaSets.
_REVISION = "deployment.kubernetes.io/revision"
# For how long an operator may say nothing of a resource that a parent made (`pace`), and as long again for its work.
_SILENCE = timedelta(seconds=2 * QUIET)


def explain(snapshot: Snapshot, target: ResourceName) -> Reason:
    """Return why a resource is as it is, and below it all that it waits for; what is ready waits for nothing."""
    nodes = {(node.kind, node.name): node for node in tree.flatten(tree.build(snapshot.objects))}
    resources = {resource_name_of(resource): resource for resource in snapshot.objects.all()}
    return merge_repeats(_Explainer(snapshot, nodes, resources).about(target), {})


@dataclass(frozen=True)
class _Explainer:
    snapshot: Snapshot
    nodes: Mapping[ResourceName, Branch]
    resources: Mapping[ResourceName, Resource]
    told: set[ResourceName] = field(default_factory=set)

    def about(self, target: ResourceName) -> Reason:
        """Return the reason of one resource; a second time it is only named."""
        node, resource = self.nodes.get(target), self.resources.get(target)
        if node is None or resource is None:
            return _absent(target, node)
        if target in self.told:
            return Reason(node.kind, node.name, node.state, above=True)
        self.told.add(target)
        if isinstance(resource, CustomResource):
            return self._custom(node, resource)
        return self._workload(node, resource)

    def _custom(self, node: Branch, resource: CustomResource) -> Reason:
        held = self.find_holding(node, resource)
        condition = _condition_behind(resource)
        message = "it is paused" if node.paused and node.state is not State.READY else node.message
        return Reason(
            node.kind,
            node.name,
            node.state,
            condition=condition.type if condition is not None and node.state is not State.READY else "",
            reason=node.reason,
            message=message,
            since=node.since,
            to_do=_to_do(node, self.snapshot.now),
            waits_for=tuple(sorted((self.about(entry) for entry in held), key=_only_waits)),
        )

    def find_holding(self, node: Branch, resource: CustomResource) -> list[ResourceName]:
        """Return what holds a resource up: what it needs or owns and is not ready.

        What another of these waits for stands below that one.
        """
        owned = [(child.kind, child.name) for child in node.children]
        needed = [entry for entry in dependencies.list_needed(resource, self.snapshot.objects) if entry not in owned]
        every = [entry for entry in dict.fromkeys((*needed, *owned)) if not self._ready(entry)]
        if node.state is State.READY:
            # An action that failed is nothing that a resource waits for.
            every = [entry for entry in every if not isinstance(self.resources.get(entry), Job | None)]
        below = {entry: self._reachable(entry) for entry in every}
        return [
            entry for entry in every if not any(entry in below[other] for other in every if other != entry)
        ] or every[:1]

    def _ready(self, entry: ResourceName) -> bool:
        node = self.nodes.get(entry)
        return node is not None and node.state is State.READY

    def _reachable(self, start: ResourceName) -> set[ResourceName]:
        """Return all that somebody who is not ready waits for, also through others."""
        found: set[ResourceName] = set()
        todo = [start]
        while todo:
            entry = todo.pop()
            resource, node = self.resources.get(entry), self.nodes.get(entry)
            if node is None or not isinstance(resource, CustomResource) or node.state is State.READY:
                continue
            owned = ((child.kind, child.name) for child in node.children)
            further = [
                one for one in (*dependencies.list_needed(resource, self.snapshot.objects), *owned) if one not in found
            ]
            found.update(further)
            todo += further
        return found - {start}

    def _workload(self, node: Branch, resource: Resource) -> Reason:
        found = list(self._explain_pods(node, resource)) if node.state is not State.READY else []
        return Reason(
            node.kind,
            node.name,
            node.state,
            reason=node.reason,
            message=node.message if node.state is not State.READY else "",
            since=node.since,
            waits_for=tuple(group(found)),
        )

    def _explain_pods(self, node: Branch, resource: Resource) -> Iterable[Reason]:
        """Yield why a workload's pods are not there, or not ready."""
        owners: tuple[Resource, ...] = (resource,)
        if isinstance(resource, Deployment):
            owners = tuple(find_newest(self.snapshot.replica_sets, resource))
        pods = self.snapshot.pods_of(*owners)
        if isinstance(resource, Job):
            pods = _of_job(pods, failed=node.state is State.ERROR)
        wanted = node.pods.wanted if node.pods is not None else 1
        if len([pod for pod in pods if not pod.deleting]) < wanted or not pods:
            yield from (refused for owner in owners if (refused := self._explain_refusal(owner)) is not None)
        yield from (reasons.of_pod(pod, self.snapshot) for pod in pods if not _is_well(pod))

    def _explain_refusal(self, owner: Resource) -> Reason | None:
        """Return why the API server refuses an object's pods: a quota, a security profile, a missing account."""
        told = next(iter(self.snapshot.about(owner, "FailedCreate")), None)
        if told is None:
            return None
        metadata = owner.metadata
        message = f"cannot create its pod: {told.note}"
        to_do = "Fix what the API server names: the namespace's profile or quota, or what the resource asks for."
        return Reason(
            owner.kind.name, metadata.name, State.ERROR, "", told.reason, message, metadata.creationTimestamp, to_do
        )


def find_newest(sets: Iterable[ReplicaSet], deployment: Deployment) -> list[ReplicaSet]:
    """Return the ReplicaSet of a Deployment's present template, if it exists."""
    own = [one for one in sets if any(owner.uid == deployment.metadata.uid for owner in one.metadata.ownerReferences)]
    own.sort(key=lambda one: int(one.metadata.annotations.get(_REVISION, "0") or "0"))
    return own[-1:]


def group(found: Iterable[Reason]) -> Iterable[Reason]:
    """Return the reasons, with equal ones of several pods merged into one; warnings and errors come first."""
    by_text: dict[tuple[str, str, str], list[Reason]] = {}
    for reason in found:
        # Messages name the pod or its volume claim, so the name is left out of the comparison.
        text = reason.message.replace(reason.name, "")
        by_text.setdefault((reason.kind, reason.reason, text), []).append(reason)
    first = [msgspec.structs.replace(same[0], likewise=len(same) - 1) for same in by_text.values()]
    return sorted(first, key=lambda reason: reason.state not in (State.WARNING, State.ERROR))


def _only_waits(reason: Reason) -> bool:
    """Return whether a reason and all below it only wait: there is nothing for a user to do."""
    return not any(entry.to_do for entry in reasons.flatten(reason))


def merge_repeats(reason: Reason, before: dict[tuple[str, str], str]) -> Reason:
    """Return a tree in which a problem of one pod is not repeated for another, even one of another workload."""
    text = (reason.reason, reason.message.replace(reason.name, ""))
    if reason.kind == Pod.kind.name and reason.to_do:
        if text in before:
            message = f"has the same problem as Pod {before[text]}"
            return msgspec.structs.replace(reason, message=message, to_do="", log=None, waits_for=())
        before[text] = reason.name
    below = tuple(merge_repeats(entry, before) for entry in reason.waits_for)
    return msgspec.structs.replace(reason, waits_for=below)


def _absent(target: ResourceName, node: Branch | None) -> Reason:
    kind, name = target
    message = node.message if node is not None and node.message else "is not there"
    # A control plane creates what its status names, and a service creates its database and account.
    if node is not None or kind not in {part.kind_name for section in services.sections() for part in section.parts}:
        return Reason(kind, name, State.WAITING, reason="Missing", message=message)
    to_do = f"Create {kind} {name}, or name another one where it is needed."
    return Reason(kind, name, State.ERROR, reason="Missing", message=message, to_do=to_do)


def _condition_behind(resource: CustomResource) -> Condition | None:
    """Return the condition that Ready repeats, or the first one that is not True."""
    stated = resource.status.conditions
    ready = conditions.find(stated, conditions.READY)
    unmet = [
        one
        for name in resource.declared_conditions()
        if (one := conditions.find(stated, name)) and one.status != "True"
    ]
    said = (ready.reason, ready.message) if ready is not None else ("", "")
    return next((one for one in unmet if (one.reason, one.message) == said), next(iter(unmet), None))


def _to_do(node: Branch, now: datetime) -> str:
    if node.paused and node.state is not State.READY:
        return "Remove the annotation openstack.org/paused."
    if node.state is not State.READY and node.reason == conditions.REQUESTED and _is_late(node, now):
        return "Check that an operator for it runs: stackwright check."
    if node.state is not State.READY and node.overridden:
        told = "; ".join(f"{entry.resource} {entry.field}, by {entry.manager}" for entry in node.overridden)
        return f"Somebody else set this, and it is left alone; if it is the reason, take it back: {told}."
    return ""


def _is_late(node: Branch, now: datetime) -> bool:
    """Return whether an operator would have spoken of a resource by now; of one that is new it may still be silent."""
    return not node.since or now - datetime.fromisoformat(node.since) > _SILENCE


def _of_job(pods: list[Pod], *, failed: bool) -> list[Pod]:
    """Return the pods of a Job that tell how it goes: the last one, and where it has failed the last that failed."""
    ended = [pod for pod in pods if pod.status.get("phase") == "Failed"]
    return (ended if failed and ended else pods)[-1:]


def _is_well(pod: Pod) -> bool:
    return pod.status.get("phase") == "Succeeded" or (not pod.deleting and is_ready(pod))

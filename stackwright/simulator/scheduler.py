"""Decides what a scheduler would do with a pod that has no node; pure.

It weighs the simulated nodes as `fitting` says, and takes the one with the fewest pods of the same owner, then with the
fewest pods. A pod is held back where no node fits, by its volumes, its gates, or a fault.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from msgspec import structs

from stackwright.kube.plan import Plan, Step, Wait
from stackwright.simulator import fitting, node_affinity, status
from stackwright.simulator.behaviour import SUCCESS, Behaviour, Unschedulable
from stackwright.simulator.fitting import Misfit
from stackwright.simulator.node import Node
from stackwright.simulator.objects import Claim, Pod, PodCondition, StorageClass
from stackwright.simulator.steps import Bind, Report, Say, SelectNode, Tell

SELECTED_NODE = "volume.kubernetes.io/selected-node"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
# Schedulers try an unschedulable pod again, and say so again, at least this often.
_SAY_AGAIN = 300.0
# When a pod for which there is no room is tried again: pods of other namespaces wake nobody when they go.
_TRY_AGAIN = 10.0
# What the scheduler says when it cannot look for a node at all, and when no node fits (seen on v1.36).
_BEFORE_NODES = "not found"
_NO_NODES = "no nodes available to schedule pods"
_NOT_NAMED = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
_NO_VOLUMES = "node(s) didn't find available persistent volumes to bind"
_NO_USE, _NO_VICTIMS = "Preemption is not helpful for scheduling", "No preemption victims found for incoming pod"


@dataclass(frozen=True)
class Seen:
    """All that decides about a pod without a node: its claims by name, classes by name, claims that shall fail.

    `tenants` are the pods that have a node, by the name of that.
    """

    nodes: tuple[Node, ...]
    now: str
    tenants: Mapping[str, tuple[Pod, ...]] = field(default_factory=dict)
    behaviour: Behaviour = SUCCESS
    claims: Mapping[str, Claim] = field(default_factory=dict)
    classes: Mapping[str, StorageClass] = field(default_factory=dict)
    failing: frozenset[str] = frozenset()

    def waits(self, claim: Claim) -> bool:
        """Whether a claim waits for its first pod to be scheduled."""
        found = self.classes.get(claim.spec.storageClassName or "")
        return found is not None and found.waits


@dataclass(frozen=True)
class Refusal:
    """Why a pod gets no node: the condition's reason, its message, and when it is tried again at the latest."""

    reason: str
    message: str
    again: float = _SAY_AGAIN


def decide(pod: Pod, seen: Seen) -> Plan:
    """Return what the scheduler does with a pod now."""
    if pod.spec.nodeName or pod.deleting or pod.finished or pod.spec.schedulingGates:
        return Plan()
    named = node_affinity.named(pod)
    if named is not None and not any(node.metadata.name in named for node in seen.nodes):
        # A DaemonSet's pod for a node that is not ours, or has gone.
        return Plan()
    found = _refusal(pod, seen) or _choose(pod, seen)
    if isinstance(found, Refusal):
        return _refused(pod, found, seen.now)
    unbound = [claim for claim in _claims(pod, seen) if claim.status.phase != "Bound"]
    if unbound:
        steps: tuple[Step, ...] = tuple(
            SelectNode(reason="WaitForFirstConsumer", claim=claim.metadata.name, node=found)
            for claim in unbound
            if claim.metadata.annotations.get(SELECTED_NODE) != found
        )
        return Plan(steps=steps, waits=(Wait("Volumes", "claims of the pod are being bound"),))
    note = f"Successfully assigned {pod.metadata.namespace}/{pod.metadata.name} to {found}"
    event = Tell("Normal", "Scheduled", note, action="Binding")
    return Plan(steps=(Bind(reason="Scheduled", node=found, events=(event,)),))


def _refusal(pod: Pod, seen: Seen) -> Refusal | None:
    """Return why no node is even looked for."""
    if not seen.nodes:
        return Refusal("Unschedulable", _NO_NODES)
    if isinstance(seen.behaviour.fault, Unschedulable):
        count = len(seen.nodes)
        return _unfit(count, seen.behaviour.fault.message, _preemption(count, 0))
    refusals = (_claim_refusal(name, seen) for name in pod.claims)
    return next(filter(None, refusals), None)


def _choose(pod: Pod, seen: Seen) -> str | Refusal:
    """Return the name of the node that the pod gets, or why none of them takes it."""
    named = node_affinity.named(pod)
    misfits: list[Misfit] = []
    fits: list[Node] = []
    for node in seen.nodes:
        if named is not None and node.metadata.name not in named:
            misfits.append(Misfit((_NOT_NAMED,)))
        elif (found := fitting.misfit(pod, node, seen.tenants.get(node.metadata.name, ()))) is not None:
            misfits.append(found)
        else:
            fits.append(node)
    if not fits:
        return _no_room(misfits)
    selected = {claim.metadata.annotations.get(SELECTED_NODE) for claim in _claims(pod, seen)}
    owner = pod.metadata.controller

    def burden(node: Node) -> tuple[bool, int, int, str]:
        name = node.metadata.name
        tenants = seen.tenants.get(name, ())
        siblings = [one for one in tenants if owner is not None and one.metadata.controller == owner]
        return name not in selected, len(siblings), len(tenants), name

    return min(fits, key=burden).metadata.name


def _no_room(misfits: Iterable[Misfit]) -> Refusal:
    """Return that no node fits, with the reasons counted as the scheduler does."""
    every = list(misfits)
    counts = Counter(reason for one in every for reason in one.reasons)
    reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    crowded = sum(one.crowded for one in every)
    return _unfit(len(every), reasons, _preemption(len(every), crowded), _TRY_AGAIN if crowded else _SAY_AGAIN)


def _preemption(nodes: int, crowded: int) -> str:
    """Return the sentence about preemption: no pod of ours has a higher priority than another."""
    counts = {_NO_USE: nodes - crowded, _NO_VICTIMS: crowded}
    reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items() if count))
    return f"no new claims to deallocate, preemption: 0/{nodes} nodes are available: {reasons}."


def _claim_refusal(name: str, seen: Seen) -> Refusal | None:
    """Return why a pod that uses a claim gets no node."""
    claim, count = seen.claims.get(name), len(seen.nodes)
    if claim is None:
        return _unfit(count, f'persistentvolumeclaim "{name}" not found')
    if claim.deleting:
        return _unfit(count, f'persistentvolumeclaim "{name}" is being deleted')
    if claim.status.phase == "Bound":
        return None
    if not seen.waits(claim):
        return _unfit(count, "pod has unbound immediate PersistentVolumeClaims")
    return _delayed_refusal(name, claim, seen)


def _delayed_refusal(name: str, claim: Claim, seen: Seen) -> Refusal | None:
    """Return why a claim that waits for its first pod will not be bound."""
    if name in seen.failing:
        trouble = f'binding volumes: provisioning failed for PVC "{name}"'
        return Refusal("SchedulerError", f'running PreBind plugin "VolumeBinding": {trouble}')
    if seen.classes[claim.spec.storageClassName or ""].provisioner == NO_PROVISIONER:
        count = len(seen.nodes)
        return _unfit(count, f"{count} {_NO_VOLUMES}", _preemption(count, 0))
    return None


def _refused(pod: Pod, refusal: Refusal, now: str) -> Plan:
    condition = PodCondition(type="PodScheduled", status="False", reason=refusal.reason, message=refusal.message)
    settled = status.settled(pod, condition, now)
    told = Tell("Warning", "FailedScheduling", refusal.message, action="Scheduling", every=_SAY_AGAIN)
    wait = Wait(refusal.reason, refusal.message, after=refusal.again)
    if pod.status.condition("PodScheduled") == settled:
        return Plan(steps=(Say(reason=refusal.reason, events=(told,)),), waits=(wait,))
    others = tuple(one for one in pod.status.conditions if one.type != "PodScheduled")
    reported = structs.replace(pod.status, phase="Pending", conditions=(*others, settled))
    return Plan(steps=(Report(reason=refusal.reason, status=reported, events=(told,)),), waits=(wait,))


def _claims(pod: Pod, seen: Seen) -> Iterator[Claim]:
    return (seen.claims[name] for name in pod.claims)


def _unfit(nodes: int, reason: str, addition: str = _BEFORE_NODES, again: float = _SAY_AGAIN) -> Refusal:
    return Refusal("Unschedulable", f"0/{nodes} nodes are available: {reason}. {addition}", again)

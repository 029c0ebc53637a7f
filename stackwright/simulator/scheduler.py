"""Decides what a scheduler would do with a pod that has no node; pure.

The made-up node fits every pod: selectors, affinities, taints and requests are not weighed, except the node
by name that the daemon set controller asks for. A pod is held back by its volumes, its gates, or a fault.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from msgspec import structs

from stackwright.kube.plan import Plan, Step, Wait
from stackwright.kube.resource import JsonObject
from stackwright.simulator import status
from stackwright.simulator.behaviour import SUCCESS, Behaviour, Unschedulable
from stackwright.simulator.objects import Claim, Pod, PodCondition, StorageClass
from stackwright.simulator.steps import Bind, Report, Say, SelectNode, Tell

SELECTED_NODE = "volume.kubernetes.io/selected-node"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
# Schedulers try an unschedulable pod again, and say so again, at least this often.
_SAY_AGAIN = 300.0
# What the scheduler adds when it cannot look for a node at all, and when no node fits (seen on v1.36).
_BEFORE_NODES = "not found"
_NO_NODE = (
    "no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
)


@dataclass(frozen=True)
class Seen:
    """All that decides about a pod without a node: its claims by name, classes by name, claims that shall fail."""

    node: str
    now: str
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
    """Why a pod gets no node: the condition's reason, and its message."""

    reason: str
    message: str


def decide(pod: Pod, seen: Seen) -> Plan:
    """Return what the scheduler does with a pod now."""
    if pod.spec.nodeName or pod.deleting or pod.finished or pod.spec.schedulingGates:
        return Plan()
    if any(name != seen.node for name in _nodes_asked_for(pod.spec.affinity)):
        return Plan()
    refusal = _refusal(pod, seen)
    if refusal is not None:
        return _refused(pod, refusal, seen.now)
    unbound = [claim for claim in _claims(pod, seen) if claim.status.phase != "Bound"]
    if unbound:
        steps: tuple[Step, ...] = tuple(
            SelectNode(reason="WaitForFirstConsumer", claim=claim.metadata.name, node=seen.node)
            for claim in unbound
            if claim.metadata.annotations.get(SELECTED_NODE) != seen.node
        )
        return Plan(steps=steps, waits=(Wait("Volumes", "claims of the pod are being bound"),))
    note = f"Successfully assigned {pod.metadata.namespace}/{pod.metadata.name} to {seen.node}"
    event = Tell("Normal", "Scheduled", note, action="Binding")
    return Plan(steps=(Bind(reason="Scheduled", node=seen.node, events=(event,)),))


def _refusal(pod: Pod, seen: Seen) -> Refusal | None:
    if isinstance(seen.behaviour.fault, Unschedulable):
        return _unfit(seen.behaviour.fault.message, _NO_NODE)
    refusals = (_claim_refusal(name, seen) for name in pod.claims)
    return next(filter(None, refusals), None)


def _claim_refusal(name: str, seen: Seen) -> Refusal | None:
    """Return why a pod that uses a claim gets no node."""
    claim = seen.claims.get(name)
    if claim is None:
        return _unfit(f'persistentvolumeclaim "{name}" not found')
    if claim.deleting:
        return _unfit(f'persistentvolumeclaim "{name}" is being deleted')
    if claim.status.phase == "Bound":
        return None
    if not seen.waits(claim):
        return _unfit("pod has unbound immediate PersistentVolumeClaims")
    return _delayed_refusal(name, claim, seen)


def _delayed_refusal(name: str, claim: Claim, seen: Seen) -> Refusal | None:
    """Return why a claim that waits for its first pod will not be bound."""
    if name in seen.failing:
        trouble = f'binding volumes: provisioning failed for PVC "{name}"'
        return Refusal("SchedulerError", f'running PreBind plugin "VolumeBinding": {trouble}')
    if seen.classes[claim.spec.storageClassName or ""].provisioner == NO_PROVISIONER:
        return _unfit("1 node(s) didn't find available persistent volumes to bind", _NO_NODE)
    return None


def _refused(pod: Pod, refusal: Refusal, now: str) -> Plan:
    condition = PodCondition(type="PodScheduled", status="False", reason=refusal.reason, message=refusal.message)
    settled = status.settled(pod, condition, now)
    told = Tell("Warning", "FailedScheduling", refusal.message, action="Scheduling", every=_SAY_AGAIN)
    wait = Wait(refusal.reason, refusal.message, after=_SAY_AGAIN)
    if pod.status.condition("PodScheduled") == settled:
        return Plan(steps=(Say(reason=refusal.reason, events=(told,)),), waits=(wait,))
    others = tuple(one for one in pod.status.conditions if one.type != "PodScheduled")
    reported = structs.replace(pod.status, phase="Pending", conditions=(*others, settled))
    return Plan(steps=(Report(reason=refusal.reason, status=reported, events=(told,)),), waits=(wait,))


def _claims(pod: Pod, seen: Seen) -> Iterator[Claim]:
    return (seen.claims[name] for name in pod.claims)


def _unfit(reason: str, addition: str = _BEFORE_NODES) -> Refusal:
    return Refusal("Unschedulable", f"0/1 nodes are available: {reason}. {addition}")


def _nodes_asked_for(affinity: JsonObject) -> Iterator[str]:
    """Return the nodes that the pod asks for by name, as the daemon set controller does."""
    required = affinity.get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", {})
    for term in required.get("nodeSelectorTerms", ()):
        for requirement in term.get("matchFields", ()):
            if requirement.get("key") == "metadata.name" and requirement.get("operator") == "In":
                yield from requirement.get("values", ())

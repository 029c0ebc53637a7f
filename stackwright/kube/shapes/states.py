"""Whether a child is ready: by its own Ready condition, or by the status that Kubernetes' controllers write. Pure."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from stackwright.kube import conditions, finalizers
from stackwright.kube.builtin import DaemonSet, Deployment, Job, PersistentVolumeClaim, Plain, Pod, StatefulSet
from stackwright.kube.conditions import READY, REQUESTED, Finding
from stackwright.kube.resource import CustomResource, Resource

# A change that does not get through while the old pods go on serving: a person has to look.
STUCK = "RolloutStuck"
# A DaemonSet that is for no node of the cluster: nothing is wrong with it, and nothing runs.
NO_NODES = "NoNodes"
# The reason where an object that is being deleted is held by somebody else's finalizer.
HELD = "HeldByFinalizer"
_THERE = Finding("", "True", READY, "")
# What the controller of Deployments says when a rollout is through, until the next one; and where a hand has stopped
# it, which leaves the pods to be counted.
_ROLLED = ("NewReplicaSetAvailable", "DeploymentPaused")
# The reason where the API server refuses pods, as Kubernetes' own controllers call it.
REFUSED = "FailedCreate"
# How the server's answers, and what StatefulSets, DaemonSets and Jobs tell of them, begin.
_POD_NAME = re.compile(
    r"(\(combined from similar events\): )?"
    r'(create Pod \S+ in \w+ \S+ failed error: )?(Error creating: )?pods "[^"]*" (is )?',
    re.IGNORECASE,
)


def state_of(resource: Resource) -> Finding:
    """Return a child's state, once its controller has seen the child's present spec."""
    if sentence := finalizers.held(resource):
        return Finding("", "False", HELD, sentence, "Error")
    if isinstance(resource, CustomResource):
        return _custom(resource)
    reader = _READERS.get(type(resource))
    if reader is None or not isinstance(resource, Plain):
        # A kind that nobody works on has nothing to wait for: being there is all it does.
        return _THERE
    return reader(resource)


def _custom(resource: CustomResource) -> Finding:
    ready = conditions.find(resource.status.conditions, READY)
    if ready is None or resource.status.observedGeneration < resource.metadata.generation:
        return _waiting(REQUESTED, f"{_name(resource)} has not reported its state yet")
    if ready.status == "True":
        return _THERE
    return Finding("", "False", ready.reason, f"{_name(resource)}: {ready.message}", ready.severity or "Info")


class _Count(NamedTuple):
    """How many pods a workload should have and has, how many are of its present template, and how many available."""

    wanted: int
    there: int
    updated: int
    available: int

    @property
    def old(self) -> int:
        """Return how many pods are from before a change."""
        return max(0, self.there - self.updated)


def _count(resource: Plain) -> _Count:
    status = resource.status
    if isinstance(resource, DaemonSet):
        updated: int = status.get("updatedNumberScheduled", 0)
        there: int = status.get("currentNumberScheduled", updated)
        return _Count(status.get("desiredNumberScheduled", 0), there, updated, status.get("numberAvailable", 0))
    updated = status.get("updatedReplicas", 0)
    there = status.get("replicas", updated)
    return _Count(resource.spec.get("replicas", 1), there, updated, status.get("availableReplicas", 0))


def _counted(resource: Plain) -> Finding:
    """Read a Deployment, StatefulSet or DaemonSet: all pods are of the present template, and available."""
    if resource.status.get("observedGeneration", 0) < resource.metadata.generation:
        return _waiting(REQUESTED, f"{_name(resource)} has not been processed by its controller yet")
    count = _count(resource)
    wanted, old = count.wanted, count.old
    # Where new pods come before old ones go, an old one that is available says nothing of the new.
    ready = max(0, min(count.updated, count.available - old))
    if ready >= wanted and not old:
        return _THERE
    refused = _condition(resource, "ReplicaFailure")
    if refused.get("status") == "True":
        return refusal(resource, refused.get("message", ""))
    before = still_serving(resource)
    stuck = _condition(resource, "Progressing")
    if stuck.get("status") == "False":
        reason = STUCK if before else stuck.get("reason", "Stuck")
        return Finding("", "False", reason, f"{before or _name(resource)}: {stuck.get('message')}", "Error")
    if ready >= wanted:
        return _waiting("Progressing", f"{_name(resource)} still has pods from before the change")
    return _waiting("Progressing", before or f"{_name(resource)} has {ready} of {wanted} pods ready")


def _daemon_set(resource: Plain) -> Finding:
    """Read a DaemonSet. One for no node is ready: it runs wherever it should, and others need not wait for it.

    A cloud may be made before its machines are labelled, and all of them may be taken away for a time.
    """
    said = _counted(resource)
    if said.status != "True" or _count(resource).wanted:
        return said
    pod = (resource.spec.get("template") or {}).get("spec") or {}
    labels = ", ".join(f"{name}={value}" for name, value in sorted((pod.get("nodeSelector") or {}).items()))
    whose = f" that has the labels {labels}" if labels else " that it asks for" if pod.get("affinity") else ""
    message = (
        f"{_name(resource)} runs on no node: none{whose} takes its pods; label a node for it, or tolerate its taints"
    )
    return Finding("", "True", NO_NODES, message)


def is_ready(pod: Pod) -> bool:
    """Return whether a pod is ready to serve."""
    return bool(_condition(pod, "Ready").get("status") == "True")


def is_rolling(resource: Resource) -> bool:
    """Return whether a workload has pods from before a change, or the pods of the change have not come up yet.

    What has come up once counts, also if it fails later: that is no news of the change.
    """
    if not isinstance(resource, Deployment | StatefulSet | DaemonSet):
        return False
    status, count = resource.status, _count(resource)
    seen = status.get("observedGeneration", 0) >= resource.metadata.generation
    # Where old pods go first there may be none: a Deployment then still says that its last rollout is through.
    if not seen or count.old > 0 or count.updated < count.wanted:
        return True
    if isinstance(resource, DaemonSet):
        return False
    if isinstance(resource, StatefulSet):
        # Where a hand takes the old pods away, Kubernetes does not say that it is through.
        by_hand = (resource.spec.get("updateStrategy") or {}).get("type") == "OnDelete"
        return not by_hand and bool(status.get("currentRevision") != status.get("updateRevision"))
    said = _condition(resource, "Progressing")
    return bool(said) and said.get("reason") not in _ROLLED


def still_serving(resource: Resource) -> str:
    """Return a sentence if old pods go on serving while new ones are not ready; otherwise ""."""
    if not isinstance(resource, Deployment | StatefulSet | DaemonSet):
        return ""
    count = _count(resource)
    serving = min(count.wanted, count.available)
    if not count.old or serving <= 0:
        return ""
    return f"{_name(resource)} serves with {serving} of {count.wanted} pods, and a new one is not ready yet"


def refusal(resource: Plain, said: str) -> Finding:
    """Return what is found of a workload whose pods the API server refuses: a profile, a quota, a webhook.

    Each try has another name for the pod; a sentence that changes with it would be news all the time.
    """
    why = _POD_NAME.sub("", said, count=1)
    message = (
        f"{_name(resource)} cannot create its pods: {why}; fix what is named: the namespace's profile or quota, or "
        "what the resource asks for"
    )
    return Finding("", "False", REFUSED, message, "Error")


def _job(resource: Plain) -> Finding:
    if _condition(resource, "Complete").get("status") == "True":
        return _THERE
    failed = _condition(resource, "Failed")
    if failed.get("status") == "True":
        reason = failed.get("reason", "Failed")
        return Finding("", "False", reason, f"{_name(resource)} failed: {failed.get('message', '')}", "Error")
    return _waiting("Running", f"{_name(resource)} is not finished")


def _claim(resource: Plain) -> Finding:
    phase = resource.status.get("phase", "Pending")
    if phase == "Bound":
        return _THERE
    if phase == "Lost":
        return Finding("", "False", "VolumeLost", f"{_name(resource)} has lost its volume", "Error")
    return _waiting("VolumeUnbound", f"{_name(resource)} has no volume yet")


_READERS: dict[type[Resource], Callable[[Plain], Finding]] = {
    Deployment: _counted,
    StatefulSet: _counted,
    DaemonSet: _daemon_set,
    Job: _job,
    PersistentVolumeClaim: _claim,
}


def _condition(resource: Plain, name: str) -> dict[str, Any]:
    stated = resource.status.get("conditions") or ()
    return next((entry for entry in stated if entry.get("type") == name), {})


def _waiting(reason: str, message: str) -> Finding:
    return Finding("", "False", reason, message, "Info")


def _name(resource: Resource) -> str:
    return f"{resource.kind.name} {resource.metadata.name}"

"""Pods that no node takes, or that do not get started there: somebody, or something, has to make room. Pure."""

import re
from collections.abc import Iterable
from datetime import datetime

from stackwright.kube.builtin import Pod
from stackwright.kube.resource import JsonObject, Resource
from stackwright.kube.shapes.states import REFUSED, state_of

# The reason of a condition.
NO_NODE_FITS = "NoNodeFits"
# For how many seconds no node has to fit before a person is asked: pods that are replaced may free the room before.
LASTS = 120.0
# For how many seconds a pod may be on its way to a node, its volumes and its network before what is to go makes room.
ARRIVES = 60.0
_VOLUMES = "PersistentVolumeClaim|persistent volumes"
# What others are at: nodes that start or come back, and volumes that are being made.
_PASSING = re.compile(
    rf"{_VOLUMES}"
    r"|node(\.cloudprovider)?\.kubernetes\.io/(not-ready|unreachable|network-unavailable|uninitialized|[a-z]+-pressure)",
    re.IGNORECASE,
)
# What the scheduler says where no node would take a pod, whoever left it: by its labels, its taints, or its size. Of
# volumes it says so too, though another pod may have them.
_HOPELESS = re.compile(r"preemption: 0/(\d+) nodes are available: \1 Preemption is not helpful for scheduling")
# What the scheduler adds about pods that it could evict.
_ADDED = re.compile(r"\s*preemption: .*", re.DOTALL)
_TO_DO = "free capacity, add a node that fits, or ask for less in the resource (resources, nodeSelector)"


def lacking(pods: Iterable[Pod], now: datetime) -> str:
    """Return what to do about the first of these pods that has fit on no node for long; "" if there is none."""
    for pod in sorted(pods, key=lambda pod: pod.metadata.name):
        if (left := _seconds_left(pod, now)) is not None and left <= 0:
            why = _ADDED.sub("", str(_unscheduled(pod).get("message", ""))).rstrip(" .")
            return f"Pod {pod.metadata.name} fits on no node: {why}; {_TO_DO}"
    return ""


def look_again(pods: Iterable[Pod], now: datetime) -> list[float]:
    """Return in how many seconds a person has to be asked about pods that have fit on no node for a short time."""
    found = (_seconds_left(pod, now) for pod in pods)
    return [left for left in found if left is not None and left > 0]


def is_crowded(pods: Iterable[Pod], workloads: Iterable[Resource], now: datetime) -> bool:
    """Return whether pods may wait for what others have: no node fits, they do not get there, or none may be made."""
    refused = any(state_of(item).reason == REFUSED for item in workloads)
    return refused or any(_fits_nowhere(pod) or _is_late(pod, now) for pod in pods)


def _fits_nowhere(pod: Pod) -> bool:
    stated = _unscheduled(pod)
    return bool(stated) and not _PASSING.search(str(stated.get("message", ""))) and not _is_hopeless(pod)


def _is_hopeless(pod: Pod) -> bool:
    """Return whether no node takes a pod even if others go: a selector that no node has, a node that is cordoned."""
    said = str(_unscheduled(pod).get("message", ""))
    return bool(_HOPELESS.search(said)) and not re.search(_VOLUMES, said, re.IGNORECASE)


def _is_late(pod: Pod, now: datetime) -> bool:
    left = _arrives_in(pod, now)
    return left is not None and left <= 0


def crowded_in(pods: Iterable[Pod], now: datetime) -> float | None:
    """Return in how many seconds the first of the pods that are on their way has been so for long; None without one."""
    return min((left for pod in pods if (left := _arrives_in(pod, now)) is not None and left > 0), default=None)


def _arrives_in(pod: Pod, now: datetime) -> float | None:
    """Return how much time a pod has left to get all that others may have; None if it has it, or they have it not."""
    if pod.deleting or _is_hopeless(pod) or pod.status.get("phase", "Pending") != "Pending" or _is_set_up(pod):
        return None
    return ARRIVES - (now - datetime.fromisoformat(pod.metadata.creationTimestamp)).total_seconds()


def _is_set_up(pod: Pod) -> bool:
    """Return whether a pod has its volumes and its network: it then lacks an image, or waits for a Job, say.

    A server that is old does not say so itself.
    """
    said = {entry.get("type"): entry.get("status") for entry in pod.status.get("conditions") or ()}
    containers = (*pod.status.get("initContainerStatuses", ()), *pod.status.get("containerStatuses", ()))
    states = [state for one in containers for state in (one.get("state", {}), one.get("lastState", {}))]
    begun = any("running" in state or "terminated" in state for state in states)
    return begun or said.get("PodReadyToStartContainers") == "True"


def _seconds_left(pod: Pod, now: datetime) -> float | None:
    """Return when a person has to be asked about a pod; None if it has a node, or others see to that."""
    stated = _unscheduled(pod)
    since = stated.get("lastTransitionTime")
    if pod.deleting or not since or _PASSING.search(str(stated.get("message", ""))):
        return None
    return LASTS - (now - datetime.fromisoformat(since)).total_seconds()


def _unscheduled(pod: Pod) -> JsonObject:
    """Return what the scheduler says of a pod that it finds no node for; nothing of one that waits for a gate."""
    for entry in pod.status.get("conditions") or ():
        if entry.get("type") == "PodScheduled" and entry.get("status") == "False":
            return dict(entry) if entry.get("reason") == "Unschedulable" else {}
    return {}

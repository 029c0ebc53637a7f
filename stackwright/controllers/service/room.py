"""Pods that no node can take, by the scheduler's own word: once that has lasted, somebody has to make room. Pure."""

import re
from collections.abc import Iterable
from datetime import datetime

from stackwright.kube.builtin import Pod
from stackwright.kube.resource import JsonObject

# The reason of a condition.
NO_NODE_FITS = "NoNodeFits"
# For how many seconds no node has to fit before a person is asked: pods that are replaced may free the room before.
LASTS = 120.0
# What others are at: nodes that start or come back, and volumes that are being made.
_PASSING = re.compile(
    r"PersistentVolumeClaim|persistent volumes"
    r"|node(\.cloudprovider)?\.kubernetes\.io/(not-ready|unreachable|network-unavailable|uninitialized|[a-z]+-pressure)",
    re.IGNORECASE,
)
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

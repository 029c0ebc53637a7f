"""Why pods do not come up, in a sentence that does not change while nothing else does. Pure."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from stackwright.controllers import excerpts
from stackwright.controllers.service import labels, room
from stackwright.kube import conditions
from stackwright.kube.builtin import DaemonSet, Plain, Pod
from stackwright.kube.conditions import Finding
from stackwright.kube.resource import Resource
from stackwright.kube.shapes.states import REFUSED, STUCK, state_of, still_serving

# Reasons of a waiting container that no waiting heals.
_STUCK = frozenset(
    {
        "CrashLoopBackOff",
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "RunContainerError",
    }
)
# Those of them by which the image is what is wrong.
IMAGE = frozenset({"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"})

# How long the kubelet may take to tell that a container which has just begun is not ready.
_BEGINNING = timedelta(seconds=10)
# How many characters of a container's message are repeated: the last ones, because a program ends with its error.
_LONGEST = 400


def count_ready(workload: Resource) -> int:
    """Return how many pods of a workload are ready; a DaemonSet has a word of its own for them."""
    word = "numberReady" if isinstance(workload, DaemonSet) else "readyReplicas"
    return int(workload.status.get(word, 0)) if isinstance(workload, Plain) else 0


def trouble(pods: Iterable[Pod]) -> str:
    """Return what keeps the first of these pods that is in trouble from running; "" when none is."""
    for pod in sorted(pods, key=lambda pod: pod.metadata.name):
        if not pod.deleting and (found := _trouble(pod)):
            return found
    return ""


def last_words(ended: dict[str, Any]) -> str:
    """Return what a container left for the pod's status when it ended, to stand behind how it ended."""
    words = excerpts.keep_end(str(ended.get("message") or ""), _LONGEST)
    return f": {words}" if words else ""


def _trouble(pod: Pod) -> str:
    for condition in pod.status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return f"Pod {pod.metadata.name} fits on no node: {condition.get('message', '')}"
    statuses = (*(pod.status.get("initContainerStatuses") or ()), *(pod.status.get("containerStatuses") or ()))
    return next(filter(None, (_container(pod, status) for status in statuses)), "")


def _container(pod: Pod, status: dict[str, Any]) -> str:
    if status.get("ready"):
        return ""
    name = status.get("name", "")
    waiting = (status.get("state") or {}).get("waiting") or {}
    reason = waiting.get("reason", "")
    if reason in IMAGE:
        # The kubelet alternates between two words for it; the image is what the user can change.
        return f"Pod {pod.metadata.name} cannot get its image {status.get('image', '')}"
    ended = (status.get("lastState") or {}).get("terminated") or (status.get("state") or {}).get("terminated")
    if has_recovered(pod, status):
        return ""
    if ended and ended.get("exitCode"):
        logs = f"kubectl logs -n {pod.metadata.namespace} {pod.metadata.name} -c {name} --previous"
        why = last_words(ended)
        return f"Pod {pod.metadata.name}: container {name} ends with code {ended['exitCode']}{why}; see {logs}"
    if reason in _STUCK:
        return f"Pod {pod.metadata.name}: {waiting.get('message') or reason}"
    return ""


def has_recovered(pod: Pod, status: dict[str, Any]) -> bool:
    """Return whether a container runs, and has been well since it began: how the one before it ended is past.

    A pod's readiness changes a while after that only if all of its containers were ready. If a liveness probe had one
    killed, it changes at once, because of the new one that is not ready yet.
    """
    began = str(((status.get("state") or {}).get("running") or {}).get("startedAt") or "")
    conditions = pod.status.get("conditions") or ()
    changed = next((str(one.get("lastTransitionTime") or "") for one in conditions if one.get("type") == "Ready"), "")
    return bool(began and changed) and datetime.fromisoformat(changed) - datetime.fromisoformat(began) > _BEGINNING


def explained(present: Resource, component: str, mine: Iterable[Pod], now: datetime, *, beside: bool) -> Finding:
    """Return the state of an object of a release, with what its pods say where it is not as it should be."""
    said = state_of(present)
    if said.status == "True":
        return said
    if beside:
        return replace(said, status="True", reason=conditions.READY, message="", severity="")
    if said.reason == REFUSED:
        return said
    own = [pod for pod in mine if pod.metadata.labels.get(labels.COMPONENT) == component]
    no_room = room.lacking(own, now)
    why = no_room or trouble(own)
    if not why:
        return said
    before = still_serving(present)
    reason = STUCK if before else room.NO_NODE_FITS if no_room else "PodTrouble"
    message = f"{before}: {why}" if before else why
    return replace(said, reason=reason, message=message, severity="Error" if no_room else "Warning")

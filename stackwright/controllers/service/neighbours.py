"""The wait of what a change takes away, for the pods of what it rolls. Pure."""

from collections.abc import Iterable
from datetime import datetime

from stackwright.blueprint.look import Look
from stackwright.controllers.service import references, room
from stackwright.kube.builtin import Deployment, Pod
from stackwright.kube.plan import Wait
from stackwright.kube.resource import Resource


def wait_for(staying: Iterable[Resource], pods: Iterable[Pod], condition: str, now: datetime) -> Wait:
    """Return the wait because of which workloads are still there that nobody asks for any more."""
    names = ", ".join(f"{item.kind.name}/{item.metadata.name}" for item in staying if isinstance(item, Deployment))
    message = f"{names} goes once the pods of the others are those of the change"
    return Wait("NeighboursRoll", message, condition, after=room.crowded_in(pods, now))


def list_lacking(staying: Iterable[Resource], pods: Iterable[Pod], look: Look) -> tuple[Pod, ...]:
    """Return the pods that may lack what workloads have that are to go.

    Their own do not get it when they go: one whose node was drained is no reason to take the others away. Nor does that
    make a Secret that nobody made.
    """
    names = {item.metadata.name for item in staying if isinstance(item, Deployment)}
    return tuple(pod for pod in pods if _deployment_of(pod) not in names and not references.is_short(pod.spec, look))


def _deployment_of(pod: Pod) -> str:
    """Return the name of the Deployment that a pod is of, by that of its ReplicaSet; "" if there is none."""
    owner, named = pod.metadata.controller, pod.metadata.labels.get("pod-template-hash", "")
    return owner.name.removesuffix(f"-{named}") if owner is not None and owner.kind == "ReplicaSet" else ""

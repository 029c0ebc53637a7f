"""The wait of what a change takes away, for the pods of what it rolls. Pure."""

from collections.abc import Iterable
from datetime import datetime

from stackwright.controllers.service import room
from stackwright.kube.builtin import Deployment, Pod
from stackwright.kube.plan import Wait
from stackwright.kube.resource import Resource


def wait_for(staying: Iterable[Resource], pods: Iterable[Pod], condition: str, now: datetime) -> Wait:
    """Return the wait because of which workloads are still there that nobody asks for any more."""
    names = ", ".join(f"{item.kind.name}/{item.metadata.name}" for item in staying if isinstance(item, Deployment))
    message = f"{names} goes once the pods of the others are those of the change"
    return Wait("NeighboursRoll", message, condition, after=room.crowded_in(pods, now))

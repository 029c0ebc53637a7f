"""What the simulator's decisions consist of: writes to the cluster, and their events."""

from dataclasses import dataclass
from typing import Literal

from stackwright.kube.plan import Step
from stackwright.kube.resource import JsonObject
from stackwright.simulator.objects import PodStatus


@dataclass(frozen=True)
class Tell:
    """An event about the object. With `every`, it is repeated after that many seconds while its cause lasts.

    `container` is the part of a pod that it speaks of, as a field path.
    """

    type: Literal["Normal", "Warning"]
    reason: str
    note: str
    container: str = ""
    action: str = ""
    every: float | None = None


@dataclass(frozen=True, kw_only=True)
class Act(Step):
    """A step of the simulator; its events are sent once it is done."""

    events: tuple[Tell, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Say(Act):
    """Only tell the events."""


@dataclass(frozen=True, kw_only=True)
class Bind(Act):
    """Give the pod a node."""

    node: str


@dataclass(frozen=True, kw_only=True)
class Report(Act):
    """Write the pod's status."""

    status: PodStatus


@dataclass(frozen=True, kw_only=True)
class Remove(Act):
    """Confirm the end of a deleted pod, so that its object goes."""


@dataclass(frozen=True, kw_only=True)
class SelectNode(Act):
    """Tell the provisioner of a claim which node its first pod runs on."""

    claim: str
    node: str


@dataclass(frozen=True, kw_only=True)
class Provision(Act):
    """Make a volume for a claim; the controller-manager binds the two."""

    volume: JsonObject


@dataclass(frozen=True, kw_only=True)
class Grow(Act):
    """Make the volume of a claim larger."""

    volume: str
    size: str


@dataclass(frozen=True, kw_only=True)
class DeleteVolume(Act):
    """Delete a volume whose claim is gone."""

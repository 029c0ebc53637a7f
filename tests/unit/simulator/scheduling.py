"""What the simulated scheduler sees: nodes, claims and storage classes."""

from typing import Any

import msgspec

from stackwright.kube.resource import JsonObject, ObjectMeta
from stackwright.simulator import scheduler
from stackwright.simulator.node import PLENTY, Node, NodeSpec, NodeStatus, SimulatedNode, Taint
from stackwright.simulator.objects import Claim, StorageClass
from stackwright.simulator.scheduler import Seen

NOW = "2026-11-15T10:00:00Z"

NO_NODE = (
    "no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
)

CLASSES = {
    "quick": StorageClass(metadata=ObjectMeta(name="quick"), provisioner="example.org/disks"),
    "patient": StorageClass(
        metadata=ObjectMeta(name="patient"), provisioner="example.org/disks", volumeBindingMode="WaitForFirstConsumer"
    ),
    "static": StorageClass(
        metadata=ObjectMeta(name="static"),
        provisioner="kubernetes.io/no-provisioner",
        volumeBindingMode="WaitForFirstConsumer",
    ),
}

WITH_CLAIM: JsonObject = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}


def claim(storage_class: str, *, bound: bool = False, deleting: bool = False, selected: str = "") -> Claim:
    metadata = {"name": "data", "deletionTimestamp": NOW if deleting else ""}
    if selected:
        metadata["annotations"] = {scheduler.SELECTED_NODE: selected}  # type: ignore[assignment]  # one of many types
    status = {"phase": "Bound" if bound else "Pending"}
    return msgspec.convert({"metadata": metadata, "spec": {"storageClassName": storage_class}, "status": status}, Claim)


def seen(found: Claim | None = None, **more: Any) -> Seen:
    claims = {"data": found} if found else {}
    nodes = more.pop("nodes", (node(),))
    return Seen(nodes=nodes, now=NOW, claims=claims, classes=CLASSES, **more)


def node(name: str = "simulated", *, cordoned: bool = False, taints: tuple[Taint, ...] = (), **capacity: str) -> Node:
    """Return a node with the labels of every one, disk=fast and rack=7."""
    labels = {**SimulatedNode(name).all_labels, "disk": "fast", "rack": "7"}
    return Node(
        metadata=ObjectMeta(name=name, labels=labels),
        spec=NodeSpec(taints=taints, unschedulable=cordoned),
        status=NodeStatus(allocatable={**PLENTY, **capacity}),
    )

"""What a simulated node is: as a test asks for it, and as the API server has it; pure."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar

from stackwright.kube import builtin
from stackwright.kube.clock import seconds
from stackwright.kube.quantities import number_of
from stackwright.kube.resource import JsonObject, Kind, Resource, Value

# The node that there is where nobody asks for others.
NODE = "simulated"
LABEL = "simulator.stackwright.org/simulated"
# Reserved for documentation: nobody has this address.
ADDRESS = "192.0.2.1"
# The API server asks the node under this name and port for logs and exec; it is refused at once, not after a timeout.
_NOBODY, _NO_PORT = "localhost", 1
# More than a test asks for by accident.
PLENTY: Mapping[str, str] = {"cpu": "1000", "memory": "10Ti", "ephemeral-storage": "100Ti", "pods": "100000"}


class Taint(Value, frozen=True, kw_only=True):
    """What keeps pods away from a node that do not tolerate it."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"
    timeAdded: str | None = None

    @property
    def name(self) -> tuple[str, str]:
        """By what a node tells its taints apart."""
        return self.key, self.effect

    @property
    def body(self) -> JsonObject:
        """The taint as the API server takes it, which knows no default of the effect."""
        body = {"key": self.key, "value": self.value, "effect": self.effect}
        return {**body, "timeAdded": self.timeAdded} if self.timeAdded else body


@dataclass(frozen=True)
class SimulatedNode:
    """A node as it shall be. `capacity` counts over a default of plenty; a node has its own address by its name.

    One that is not `ready` is lost: nobody speaks for it, its pods are no longer ready, and none of them ends.
    """

    name: str = NODE
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    capacity: Mapping[str, str] = field(default_factory=dict)
    ready: bool = True
    address: str = ""

    @property
    def all_labels(self) -> dict[str, str]:
        """The labels, with those that every kubelet sets."""
        return {LABEL: "true", "kubernetes.io/hostname": self.name, "kubernetes.io/os": "linux", **self.labels}

    @property
    def own_address(self) -> str:
        """The address, which pods in the host's network share; the range is reserved for benchmarks of networks."""
        if self.address or self.name == NODE:
            return self.address or ADDRESS
        digest = hashlib.sha256(self.name.encode()).digest()
        return f"198.18.{digest[0]}.{1 + digest[1] % 254}"


class NodeCondition(Value, frozen=True, kw_only=True):
    """One aspect of a node's state."""

    type: str
    status: str


class NodeAddress(Value, frozen=True, kw_only=True):
    """One address of a node."""

    type: str = ""
    address: str = ""


class NodeSpec(Value, frozen=True, kw_only=True):
    """Which pods a node takes; `unschedulable` is set by `kubectl cordon`."""

    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


class NodeStatus(Value, frozen=True, kw_only=True):
    """What a kubelet reports of its node."""

    conditions: tuple[NodeCondition, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()
    allocatable: dict[str, str | int] = {}
    nodeInfo: JsonObject = {}


class Node(Resource, frozen=True, kw_only=True):
    """A node, as scheduler and kubelet see it."""

    kind: ClassVar[Kind] = builtin.Node.kind

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def ready(self) -> bool:
        """Whether its kubelet, or we, say that it is."""
        return any(one.type == "Ready" and one.status == "True" for one in self.status.conditions)

    @property
    def simulated(self) -> bool:
        """Whether a simulator made it up."""
        return LABEL in self.metadata.labels

    @property
    def real(self) -> bool:
        """Whether a kubelet ever reported it; an object that nobody reports is only that."""
        return not self.simulated and (self.ready or bool(self.status.nodeInfo.get("kubeletVersion")))

    @property
    def address(self) -> str:
        """Where it is reached."""
        return next((one.address for one in self.status.addresses if one.type == "InternalIP"), "")


def manifest(wanted: SimulatedNode) -> JsonObject:
    """Return a node to create."""
    return {
        "metadata": {"name": wanted.name, "labels": wanted.all_labels},
        "spec": {"taints": [taint.body for taint in wanted.taints]},
    }


def is_reported(node: Node, wanted: SimulatedNode) -> bool:
    """Return whether a node's status says what it should."""
    capacity = {**PLENTY, **wanted.capacity}
    present = node.status.allocatable
    return (
        node.ready is wanted.ready
        and node.address == wanted.own_address
        and present.keys() == capacity.keys()
        and all(number_of(present[name]) == number_of(value) for name, value in capacity.items())
    )


def status(wanted: SimulatedNode, node: Node | None, moment: datetime) -> JsonObject:
    """Return what a node reports; labels and taints that it no longer has are removed."""
    now = seconds(moment)
    fine = {"lastHeartbeatTime": now, "lastTransitionTime": now}
    pressures = (
        ("MemoryPressure", "KubeletHasSufficientMemory"),
        ("DiskPressure", "KubeletHasNoDiskPressure"),
        ("PIDPressure", "KubeletHasSufficientPID"),
    )
    before = node.status.allocatable if node is not None else {}
    capacity = {**dict.fromkeys(before), **PLENTY, **wanted.capacity}
    # As the node-lifecycle controller says it, some time after a kubelet has fallen silent.
    lost = {"status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}
    well = {"status": "True", "reason": "Simulated", "message": "nothing runs here"}
    return {
        "capacity": capacity,
        "allocatable": capacity,
        "addresses": [
            {"type": "Hostname", "address": _NOBODY},
            {"type": "InternalIP", "address": wanted.own_address},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": _NO_PORT}},
        "conditions": [
            {"type": "Ready", **(well if wanted.ready else lost), **fine},
            *({"type": type_, "status": "False", "reason": reason, **fine} for type_, reason in pressures),
        ],
        "nodeInfo": {
            "kubeletVersion": "simulated",
            "containerRuntimeVersion": "simulated://0",
            "operatingSystem": "linux",
        },
    }

"""The made-up node that all simulated pods run on, and how it is kept from being given up.

The node-lifecycle controller of the controller-manager marks a node Unknown when neither its status nor its
Lease was renewed for 50 seconds, then taints it, and its pods are evicted five minutes later. A kubelet renews
the Lease every ten seconds, and so do we; a node that was given up while no simulator ran is reported Ready
again. Simulators of one cluster share the node, so that a DaemonSet has one pod however many of them run; for
the same reason the node stays when a simulator ends (`kubectl delete node simulated` removes it).
"""

from datetime import datetime
from typing import ClassVar

from stackwright.kube import builtin
from stackwright.kube.builtin import Lease
from stackwright.kube.client import Client
from stackwright.kube.clock import REAL, Clock, microseconds, seconds
from stackwright.kube.controller import Context, Controller, Result
from stackwright.kube.errors import KubeError
from stackwright.kube.resource import JsonObject, Key, Kind, Resource, Value
from stackwright.simulator.kubelet import Host

LABEL = "simulator.stackwright.org/simulated"
LEASES = "kube-node-lease"
RENEW_EVERY = 10.0
_LEASE_SECONDS = 40
# Reserved for documentation: nobody has this address.
ADDRESS = "192.0.2.1"
# The API server asks the node under this name and port for logs and exec; it is refused at once, not after a timeout.
_NOBODY, _NO_PORT = "localhost", 1


class RealNodes(KubeError):
    """The cluster has nodes with kubelets, whose pods a simulator would tell lies about."""


class NodeCondition(Value, frozen=True, kw_only=True):
    """One aspect of a node's state."""

    type: str
    status: str


class NodeStatus(Value, frozen=True, kw_only=True):
    """What a kubelet reports of its node."""

    conditions: tuple[NodeCondition, ...] = ()
    nodeInfo: JsonObject = {}


class Node(Resource, frozen=True, kw_only=True):
    """A node, as far as it matters whether it is ready and real."""

    kind: ClassVar[Kind] = builtin.Node.kind

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


def host(name: str) -> Host:
    """Return the node as its pods see it."""
    return Host(name, ADDRESS)


async def register(client: Client, name: str, *, clock: Clock = REAL) -> None:
    """Make the node, or take over the one that an earlier simulator left; refuse a cluster with real ones."""
    real = [node.metadata.name for node in await client.list(Node) if node.real]
    if real:
        raise RealNodes(
            f"node {real[0]} is real: the simulator is for clusters without kubelets; "
            "use a test API server, or name another cluster"
        )
    await _report(client, name, clock)
    await _renew(client, name, clock)


def controller(name: str, *, clock: Clock = REAL) -> Controller:
    """Return the controller that keeps the node alive."""

    async def reconcile(key: Key, context: Context) -> Result | None:
        if key.name != name:
            return None
        node = context.store(Node).get(key)
        if node is None or not (node.ready and node.simulated):
            await _report(context.client, name, clock)
        await _renew(context.client, name, clock)
        return Result(after=RENEW_EVERY)

    return Controller(name="simulated-node", kind=Node, reconcile=reconcile, workers=1)


async def _report(client: Client, name: str, clock: Clock) -> None:
    now = clock.now()
    await client.apply(Node, _manifest(name))
    await client.patch(Node, name, "", {"status": _status(now)}, subresource="status")


async def _renew(client: Client, name: str, clock: Clock) -> None:
    spec = {
        "holderIdentity": name,
        "leaseDurationSeconds": _LEASE_SECONDS,
        "renewTime": microseconds(clock.now()),
    }
    await client.apply(Lease, {"metadata": {"name": name, "namespace": LEASES}, "spec": spec})


def _manifest(name: str) -> JsonObject:
    labels = {LABEL: "true", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    return {"metadata": {"name": name, "labels": labels}}


def _status(moment: datetime) -> JsonObject:
    now = seconds(moment)
    fine = {"lastHeartbeatTime": now, "lastTransitionTime": now}
    pressures = (
        ("MemoryPressure", "KubeletHasSufficientMemory"),
        ("DiskPressure", "KubeletHasNoDiskPressure"),
        ("PIDPressure", "KubeletHasSufficientPID"),
    )
    capacity = {"cpu": "1000", "memory": "10Ti", "ephemeral-storage": "100Ti", "pods": "100000"}
    return {
        "capacity": capacity,
        "allocatable": capacity,
        "addresses": [
            {"type": "Hostname", "address": _NOBODY},
            {"type": "InternalIP", "address": ADDRESS},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": _NO_PORT}},
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "Simulated", "message": "nothing runs here", **fine},
            *({"type": type_, "status": "False", "reason": reason, **fine} for type_, reason in pressures),
        ],
        "nodeInfo": {
            "kubeletVersion": "simulated",
            "containerRuntimeVersion": "simulated://0",
            "operatingSystem": "linux",
        },
    }

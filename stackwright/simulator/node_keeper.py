"""Makes the simulated nodes, and keeps them from being given up.

The node-lifecycle controller of the controller-manager marks a node Unknown when neither its status nor its
Lease was renewed for 50 seconds, then taints it, and its pods are evicted five minutes later. A kubelet renews
the Lease every ten seconds, and so do we; a node that was given up while no simulator ran is reported Ready
again. Simulators of one cluster share the node `simulated`, so that a DaemonSet has one pod however many of them
run; for the same reason nodes stay when a simulator ends (`kubectl delete node simulated` removes it).
"""

import contextlib
from collections.abc import Iterable

from stackwright.kube.builtin import Lease
from stackwright.kube.client import Client
from stackwright.kube.clock import REAL, Clock, microseconds
from stackwright.kube.controller import Context, Controller, Result
from stackwright.kube.errors import AlreadyExists, Conflict, KubeError
from stackwright.kube.resource import JsonObject, Key
from stackwright.simulator.node import Node, SimulatedNode, Taint, is_reported, manifest, status

LEASES = "kube-node-lease"
NOT_READY = "node.kubernetes.io/not-ready"
RENEW_EVERY = 10.0
_LEASE_SECONDS = 40


class RealNodes(KubeError):
    """The cluster has nodes with kubelets; a simulator would report wrong states of their pods."""


class Keeper:
    """Keeps the nodes of one simulation. What others set on them, such as a taint by hand, stays."""

    def __init__(self, nodes: Iterable[SimulatedNode], clock: Clock = REAL) -> None:
        self._clock = clock
        self._wanted: dict[str, SimulatedNode] = {}
        self._labels: dict[str, set[str]] = {}
        self._taints: dict[str, set[tuple[str, str]]] = {}
        self.exchange(nodes)

    def exchange(self, nodes: Iterable[SimulatedNode]) -> set[str]:
        """Simulate these nodes from now on; return the names of all nodes to look at."""
        asked = tuple(nodes)
        wanted = {node.name: node for node in asked}
        if not wanted or len(wanted) != len(asked):
            raise ValueError("name at least one node, and each once")
        before, self._wanted = self._wanted, wanted
        for node in asked:
            self._labels.setdefault(node.name, set()).update(node.labels)
            self._taints.setdefault(node.name, set()).update(taint.name for taint in node.taints)
        return {*before, *wanted}

    async def register(self, client: Client) -> None:
        """Make the nodes, or take over those that an earlier simulator left; refuse a cluster with real ones."""
        found = {node.metadata.name: node for node in await client.list(Node)}
        real = [node.metadata.name for node in found.values() if node.real]
        if real:
            raise RealNodes(
                f"node {real[0]} is real: the simulator is for clusters without kubelets; "
                "use a test API server, or name another cluster"
            )
        for wanted in self._wanted.values():
            await self._keep(wanted, found.get(wanted.name), client)
            if wanted.ready:
                await self._let_pods_come(wanted.name, client)

    async def _let_pods_come(self, name: str, client: Client) -> None:
        """Take off the taint that a new node has until somebody sees that it is ready: its first pods would not fit."""
        while True:
            node = await client.get(Node, name)
            kept = [taint.body for taint in node.spec.taints if taint.key != NOT_READY]
            if len(kept) == len(node.spec.taints):
                return
            version = {"resourceVersion": node.metadata.resourceVersion}
            with contextlib.suppress(Conflict):
                await client.patch(Node, name, "", {"metadata": version, "spec": {"taints": kept}})

    def controller(self) -> Controller:
        """Return the controller that keeps the nodes alive."""

        async def reconcile(key: Key, context: Context) -> Result | None:
            wanted, node = self._wanted.get(key.name), context.store(Node).get(key)
            if wanted is not None:
                await self._keep(wanted, node, context.client)
                return Result(after=RENEW_EVERY)
            if node is not None and node.simulated and key.name in self._labels:
                await context.client.delete(Node, key.name, uid=node.metadata.uid)
                await context.client.delete(Lease, key.name, LEASES)
            return None

        return Controller(name="simulated-node", kind=Node, reconcile=reconcile, workers=1)

    async def _keep(self, wanted: SimulatedNode, node: Node | None, client: Client) -> None:
        """Bring a node to what it should be, and say that it is alive where it is."""
        if node is None:
            try:
                node = await client.create(Node, manifest(wanted))
            except AlreadyExists:
                # Another simulator was quicker, or our cache is behind.
                node = await client.get(Node, wanted.name)
        if change := self._changed(wanted, node):
            change.setdefault("metadata", {})["resourceVersion"] = node.metadata.resourceVersion
            await client.patch(Node, wanted.name, "", change)
        if not is_reported(node, wanted):
            report = {"status": status(wanted, node, self._clock.now())}
            await client.patch(Node, wanted.name, "", report, subresource="status")
        if wanted.ready:
            await self._renew(client, wanted.name)

    def _changed(self, wanted: SimulatedNode, node: Node) -> JsonObject:
        """Return the labels and taints that have to change, as a patch; empty where none has."""
        present, change = node.metadata.labels, dict[str, JsonObject]()
        dropped = {name for name in self._labels[wanted.name] if name in present and name not in wanted.labels}
        labels = {name: value for name, value in wanted.all_labels.items() if present.get(name) != value}
        if dropped or labels:
            change["metadata"] = {"labels": {**dict.fromkeys(dropped), **labels}}
        taints = self._all_taints(wanted, node)
        if taints != node.spec.taints:
            change["spec"] = {"taints": [taint.body for taint in taints]}
        return dict(change)

    def _all_taints(self, wanted: SimulatedNode, node: Node) -> tuple[Taint, ...]:
        """Return a node's taints: those of others as they are, and those that it should have."""
        asked = {taint.name: taint for taint in wanted.taints}
        mine = self._taints[wanted.name]
        kept = [
            taint
            for taint in node.spec.taints
            if taint.name not in mine or (taint.name in asked and taint.value == asked[taint.name].value)
        ]
        there = {taint.name for taint in kept}
        return (*kept, *(taint for taint in wanted.taints if taint.name not in there))

    async def _renew(self, client: Client, name: str) -> None:
        spec = {
            "holderIdentity": name,
            "leaseDurationSeconds": _LEASE_SECONDS,
            "renewTime": microseconds(self._clock.now()),
        }
        await client.apply(Lease, {"metadata": {"name": name, "namespace": LEASES}, "spec": spec})

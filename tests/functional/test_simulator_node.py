"""The simulated node on a server of its own: nobody gives it up, and real nodes are not touched."""

import asyncio
from pathlib import Path

import pytest

from stackwright.kube.builtin import Deployment, Lease, Node, Pod
from stackwright.kube.client import Client
from stackwright.kube.resource import JsonObject
from stackwright.local.apiserver.server import ApiServer
from stackwright.simulator import RealNodes, simulated
from tests.functional import workloads
from tests.functional.watching import eventually
from tests.functional.workloads import available, condition

READY = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}


def ready(node: Node) -> bool:
    return condition(node.status, "Ready") == "True"


async def test_the_node_is_kept_alive(private_client: Client, private_namespace: str) -> None:
    client = private_client
    async with simulated(client, private_namespace):
        node = await eventually(client, Node, "simulated", "", ready)
        assert node.metadata.labels["simulator.stackwright.org/simulated"] == "true"
        lease = await client.get(Lease, "simulated", "kube-node-lease")
        # As the node-lifecycle controller does with a node that was silent for too long.
        lost = {**READY, "status": "Unknown", "reason": "NodeStatusUnknown"}
        await client.patch(Node, "simulated", "", {"status": {"conditions": [lost]}}, subresource="status")
        await eventually(client, Node, "simulated", "", ready)
        await client.delete(Node, "simulated")
        again = await eventually(client, Node, "simulated", "", ready)
        assert again.metadata.uid != node.metadata.uid
        # The controller-manager takes away the taint that every new node has.
        await eventually(client, Node, "simulated", "", lambda node: not node.spec.get("taints"))
        renewed = await eventually(
            client, Lease, "simulated", "kube-node-lease", lambda found: found.spec.renewTime > lease.spec.renewTime
        )
        assert renewed.spec.holderIdentity == "simulated"


async def test_a_cluster_with_real_nodes_is_refused(private_client: Client, private_namespace: str) -> None:
    body: JsonObject = {"metadata": {"name": "worker-7"}}
    await private_client.create(Node, body)
    await private_client.patch(Node, "worker-7", "", {"status": {"conditions": [READY]}}, subresource="status")
    with pytest.raises(RealNodes, match="node worker-7 is real: the simulator is for clusters without kubelets"):
        async with simulated(private_client, private_namespace):
            pytest.fail("nothing may be played here")
    assert await private_client.find(Node, "simulated") is None


async def test_a_restart_of_the_server_is_survived(
    private_client: Client, private_namespace: str, private_apiserver: ApiServer
) -> None:
    client, namespace = private_client, private_namespace
    async with simulated(client, namespace):
        await client.create(Deployment, workloads.deployment("web", namespace))
        await eventually(client, Deployment, "web", namespace, available)
        await asyncio.to_thread(private_apiserver.kill, "kube-apiserver")
        await asyncio.to_thread(private_apiserver.start, "kube-apiserver")
        await client.patch(Deployment, "web", namespace, {"spec": {"replicas": 3}})
        await eventually(client, Deployment, "web", namespace, available)


async def test_logs_are_refused_at_once(
    private_client: Client, private_namespace: str, private_apiserver: ApiServer, kubernetes: dict[str, Path]
) -> None:
    async with simulated(private_client, private_namespace):
        await private_client.create(Pod, workloads.pod("web", private_namespace))
        await eventually(
            private_client, Pod, "web", private_namespace, lambda pod: condition(pod.status, "Ready") == "True"
        )
        command = f"{kubernetes['kubectl']} --kubeconfig {private_apiserver.kubeconfig} -n {private_namespace} logs web"
        asked = await asyncio.create_subprocess_exec(*command.split(), stderr=asyncio.subprocess.PIPE)
        async with asyncio.timeout(20):
            _, said = await asked.communicate()
        assert asked.returncode != 0
        assert "connection refused" in said.decode()

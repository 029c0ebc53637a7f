"""Several simulated nodes on a server of their own: the real controllers, and what our scheduler says of nodes."""

from dataclasses import replace

from stackwright.kube.builtin import DaemonSet, Deployment, Node, Pod
from stackwright.kube.client import Client
from stackwright.kube.resource import JsonObject
from stackwright.simulator import SimulatedNode, Taint, simulated
from tests.functional import workloads
from tests.functional.conftest import fresh_namespace
from tests.functional.watching import eventually, some, told
from tests.functional.workloads import available, condition

COMPUTE = Taint(key="role", value="compute")
CONTROL = SimulatedNode("control-1")
NODES = (
    CONTROL,
    SimulatedNode("compute-1", labels={"role": "compute"}, taints=(COMPUTE,)),
    SimulatedNode("compute-2", labels={"role": "compute"}, taints=(COMPUTE,)),
)
ON_COMPUTE: JsonObject = {
    "nodeSelector": {"role": "compute"},
    "tolerations": [{"key": "role", "value": "compute"}],
}


def counts(found: DaemonSet) -> tuple[int, ...]:
    """Return how many nodes should run a daemon, and on how many it is there, is up to date, and is available."""
    if found.status.get("observedGeneration", 0) < found.metadata.generation:
        return ()
    names = ("desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled", "numberAvailable")
    return tuple(found.status.get(name, 0) for name in names)


async def test_a_daemon_set_follows_the_nodes(private_client: Client, private_namespace: str) -> None:
    client, namespace = private_client, private_namespace
    async with simulated(client, namespace, nodes=NODES) as play:
        await client.create(DaemonSet, workloads.daemon_set("agent", namespace, hostNetwork=True, **ON_COMPUTE))
        await eventually(client, DaemonSet, "agent", namespace, lambda found: counts(found) == (2, 2, 2, 2))
        pods = await client.list(Pod, namespace)
        assert {pod.spec["nodeName"] for pod in pods} == {"compute-1", "compute-2"}
        addresses = {pod.status["podIP"] for pod in pods}
        assert addresses == {pod.status["hostIP"] for pod in pods}
        assert len(addresses) == 2

        # A label makes a third node one of them, and so does a node that comes.
        third = SimulatedNode("compute-3", labels={"role": "compute"}, taints=(COMPUTE,))
        labelled = replace(CONTROL, labels={"role": "compute"})
        play.set_nodes((labelled, *NODES[1:], third))
        await eventually(client, DaemonSet, "agent", namespace, lambda found: counts(found) == (4, 4, 4, 4))

        # A node that is lost keeps its pod, which is not ready. The DaemonSet does not count it until it is back, or
        # counts it as not available: its controller looks at the taint of such a node only if the pod changes later.
        play.set_nodes((labelled, *NODES[1:], replace(third, ready=False)))
        lost_in: dict[tuple[int, ...], tuple[int, int]] = {(3, 3, 3, 3): (1, 0), (4, 4, 4, 3): (0, 1)}
        found = await eventually(client, DaemonSet, "agent", namespace, lambda found: counts(found) in lost_in)
        names = ("numberMisscheduled", "numberUnavailable")
        assert tuple(found.status.get(name, 0) for name in names) == lost_in[counts(found)]
        (name,) = [
            pod.metadata.name for pod in await client.list(Pod, namespace) if pod.spec["nodeName"] == "compute-3"
        ]
        lost = await eventually(client, Pod, name, namespace, lambda pod: condition(pod.status, "Ready") == "False")
        assert condition(lost.status, "ContainersReady") == "True"
        tainted = await eventually(client, Node, "compute-3", "", lambda node: len(node.spec.get("taints", ())) > 1)
        assert "node.kubernetes.io/unreachable" in {taint["key"] for taint in tainted.spec["taints"]}
        play.set_nodes((labelled, *NODES[1:], third))
        await eventually(client, DaemonSet, "agent", namespace, lambda found: counts(found) == (4, 4, 4, 4))
        restored = await eventually(client, Node, "compute-3", "", lambda node: len(node.spec.get("taints", ())) == 1)
        assert restored.spec["taints"] == [{"key": "role", "value": "compute", "effect": "NoSchedule"}]

        # Labels and nodes that are taken away.
        play.set_nodes(NODES)
        await eventually(client, DaemonSet, "agent", namespace, lambda found: counts(found)[:1] == (2,))
        await some(client, Node, "", lambda nodes: {node.metadata.name for node in nodes} == {n.name for n in NODES})


async def test_a_pod_that_fits_nowhere_says_why_and_is_tried_again(
    private_client: Client, private_namespace: str
) -> None:
    client, namespace = private_client, private_namespace
    small = replace(CONTROL, capacity={"cpu": "2"})
    async with simulated(client, namespace, nodes=(small, *NODES[1:])) as play:
        asks = {"resources": {"requests": {"cpu": "1500m"}}}
        web = {"containers": [{"name": "web", "image": "registry.example/web:1", **asks}]}
        await client.create(Pod, workloads.pod("first", namespace, **web))
        await eventually(client, Pod, "first", namespace, lambda pod: condition(pod.status, "Ready") == "True")
        await client.create(Pod, workloads.pod("second", namespace, **web))
        event = await told(client, namespace, "second", "FailedScheduling")
        assert event.note == (
            "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s). "
            "no new claims to deallocate, preemption: 0/3 nodes are available: "
            "1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."
        )
        # A bigger node is room enough, at once.
        play.set_nodes((replace(CONTROL, capacity={"cpu": "3"}), *NODES[1:]))
        bound = await eventually(client, Pod, "second", namespace, lambda pod: condition(pod.status, "Ready") == "True")
        assert bound.spec["nodeName"] == "control-1"

        # A port of the host is there once for each node; the pod that waits gets it when the other goes.
        host: JsonObject = {"hostNetwork": True, **ON_COMPUTE}
        ports = [{"name": "api", "image": "registry.example/api:1", "ports": [{"containerPort": 8774}]}]
        await client.create(Deployment, workloads.deployment("api", namespace, replicas=2, **host, containers=ports))
        await eventually(client, Deployment, "api", namespace, available)
        await client.create(Pod, workloads.pod("late", namespace, **host, containers=ports))
        refused = await told(client, namespace, "late", "FailedScheduling")
        assert "2 node(s) didn't have free ports for the requested pod ports" in refused.note
        assert "1 node(s) didn't match Pod's node affinity/selector" in refused.note
        await client.patch(Deployment, "api", namespace, {"spec": {"replicas": 1}})
        await eventually(client, Pod, "late", namespace, lambda pod: condition(pod.status, "Ready") == "True")


async def test_a_cordon_and_a_taint_by_hand_stay(private_client: Client, private_namespace: str) -> None:
    client, namespace = private_client, private_namespace
    async with simulated(client, namespace, nodes=(CONTROL, SimulatedNode("control-2"))) as play:
        await eventually(client, Node, "control-1", "", lambda node: not node.spec.get("taints"))
        taint = {"key": "mine", "effect": "NoSchedule"}
        await client.patch(Node, "control-1", "", {"spec": {"taints": [taint]}})
        await client.patch(Node, "control-2", "", {"spec": {"unschedulable": True}})
        await eventually(client, Node, "control-2", "", lambda node: node.spec.get("taints"))
        await client.create(Deployment, workloads.deployment("web", namespace))
        (pod,) = await some(client, Pod, namespace, lambda pods: any(condition(p.status, "PodScheduled") for p in pods))
        refused = await told(client, namespace, pod.metadata.name, "FailedScheduling")
        assert refused.note.startswith(
            "0/2 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable. "
        )
        # What the simulation itself is told of a node does not touch them.
        play.set_nodes((replace(CONTROL, labels={"disk": "fast"}), SimulatedNode("control-2")))
        node = await eventually(client, Node, "control-1", "", lambda node: "disk" in node.metadata.labels)
        assert node.spec["taints"] == [taint]
        await client.patch(Node, "control-2", "", {"spec": {"unschedulable": False}})
        await eventually(client, Deployment, "web", namespace, available)


async def test_namespaces_share_the_room(private_client: Client, private_namespace: str) -> None:
    client = private_client
    other = await fresh_namespace(client, "other")
    async with simulated(client, (private_namespace, other), nodes=(replace(CONTROL, capacity={"pods": "3"}),)):
        for namespace in (private_namespace, other):
            await client.create(Deployment, workloads.deployment("web", namespace, replicas=2))

        def here(pods: list[Pod]) -> list[Pod]:
            return [pod for pod in pods if pod.metadata.namespace in (private_namespace, other)]

        # A pod that is being bound takes its room before the server shows it: the refusal may be seen first.
        def decided(pods: list[Pod]) -> bool:
            return len(pods) == 4 and all(condition(pod.status, "PodScheduled") for pod in pods)

        everyone = here(await some(client, Pod, "", lambda pods: decided(here(pods))))
        assert len([pod for pod in everyone if pod.spec.get("nodeName")]) == 3
        (late,) = [pod for pod in everyone if not pod.spec.get("nodeName")]
        assert (
            "1 Too many pods"
            in (await told(client, late.metadata.namespace, late.metadata.name, "FailedScheduling")).note
        )

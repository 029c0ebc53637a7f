"""RabbitMQ from its chart: three nodes are one cluster, and neither losing nodes nor scaling loses anything.

They run on a cluster of the end-to-end ring, or on the one that STACKWRIGHT_TEST_KUBECONFIG names.
"""

import base64
import contextlib
import json
import os
import secrets
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest

from stackwright.api.rabbitmq import PORT
from stackwright.blueprint import start
from stackwright.controllers.broker.secrets import transport_url
from stackwright.kube.resource import ObjectMeta
from stackwright.local import binaries, programs
from stackwright.local.cluster.lifecycle import Cluster
from stackwright.local.images import building, loading
from stackwright.local.progress import Silent
from stackwright.services.rabbitmq import configuration
from stackwright.services.rabbitmq.kinds import RabbitMq, RabbitMqSpec
from stackwright.services.rabbitmq.service import SERVE
from tests.e2e.clusters import Kubectl
from tests.e2e.waiting import PATIENCE, eventually

CHART = Path(__file__).parents[2] / "charts" / "rabbitmq"
RPC = Path(__file__).parent / "rpc.py"
IMAGES = ("rabbitmq", "openstack")
NOBODY = 65534


@pytest.fixture(scope="session")
def kubeconfig(request: pytest.FixtureRequest) -> Path:
    """The cluster to use, with the images in it."""
    if named := os.environ.get("STACKWRIGHT_TEST_KUBECONFIG"):
        return Path(named)
    brought: Cluster = request.getfixturevalue("cluster")
    images = building.catalogue().images
    loading.load([images[name] for name in IMAGES], brought.first.pid, progress=Silent())
    return Path(brought.layout.kubeconfig)


@dataclass(frozen=True)
class Broker:
    """A release of the chart in a namespace of its own."""

    kubectl: Kubectl
    helm: Path
    user: str
    password: str = field(repr=False)

    def install(self, replicas: int, action: str = "install") -> None:
        image = building.catalogue().images["rabbitmq"].reference
        values = f"image={image},components.server.replicas={replicas},components.server.storage.request=1Gi"
        where = ["--namespace", self.kubectl.namespace, "--set", values]
        command = [str(self.helm), action, "rabbitmq", str(CHART), *where]
        subprocess.run(command, env=self._environment, check=True, capture_output=True, timeout=60)

    def scale(self, replicas: int) -> None:
        self.install(replicas, "upgrade")
        self.settle(replicas)

    def settle(self, replicas: int) -> None:
        """Wait until as many pods are ready and no other is there, and all of them are one cluster."""
        self.kubectl("rollout", "status", "statefulset/rabbitmq-server", f"--timeout={PATIENCE:g}s")
        eventually(lambda: len(self.pods()) == replicas, lambda: f"pods: {self.pods()}")
        eventually(lambda: self.nodes() == dict.fromkeys(self.names(replicas), True), lambda: f"{self.nodes()}")

    def pods(self) -> list[str]:
        return self.kubectl("get", "pods", "--selector=app.kubernetes.io/name=rabbitmq", "--output=name").split()

    def names(self, replicas: int) -> list[str]:
        spec = RabbitMqSpec(replicas=replicas)
        return [f"rabbit@{host}" for host in configuration.hostnames(self.resource(spec))]

    def resource(self, spec: RabbitMqSpec) -> RabbitMq:
        return RabbitMq(metadata=ObjectMeta(name="rabbitmq", namespace=self.kubectl.namespace), spec=spec)

    def nodes(self) -> dict[str, bool]:
        return {node["name"]: node["running"] for node in self.ask("GET", "nodes?columns=name,running") or []}

    def queues(self) -> dict[str, tuple[int, list[str]]]:
        """How many messages each queue has, and which nodes have a replica of it, as the queue's leader says."""
        listed = self.kubectl.inside(
            "rabbitmq-server-0",
            "rabbitmqctl",
            "--silent",
            "list_queues",
            "name",
            "messages",
            "members",
            "--formatter=json",
        )
        return {row["name"]: (row["messages"], sorted(row["members"])) for row in json.loads(listed)}

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Ask the management API; None while it does not answer."""
        address = self.kubectl.get("service/rabbitmq", "{.spec.clusterIP}")
        credentials = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        headers = {"Authorization": f"Basic {credentials}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        asked = Request(f"http://{address}:15672/api/{path}", data, headers, method=method)
        try:
            with urlopen(asked, timeout=5) as answer:  # noqa: S310  as above
                content = answer.read()
        except OSError:
            return None
        return json.loads(content) if content else {}

    def publish(self, queue: str, number: int) -> None:
        """Put messages into a queue; each must be told to have arrived there."""
        for count in range(number):
            message = {"routing_key": queue, "payload": f"{count}", "payload_encoding": "string", "properties": {}}
            message["properties"] = {"delivery_mode": 2}
            assert self.ask("POST", "exchanges/%2F/amq.default/publish", message) == {"routed": True}

    @property
    def _environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": "/tmp", "KUBECONFIG": str(self.kubectl.kubeconfig)}


@pytest.fixture
def broker(kubeconfig: Path) -> Iterator[Broker]:
    """The Secrets of a broker in a fresh namespace, as the chart's README makes them."""
    found = binaries.ensure(programs.ALL)
    kubectl = Kubectl(found["kubectl"], kubeconfig, f"rabbitmq-{secrets.token_hex(3)}")
    made = Broker(kubectl, found["helm"], configuration.DEFAULT_USER, secrets.token_urlsafe(16))
    resource = made.resource(RabbitMqSpec())
    files = tuple(configuration.files(resource))
    data = {file.key: file.content for file in files}
    data["server.json"] = start.contract(SERVE, files, "rabbitmq")
    kubectl("create", "namespace", kubectl.namespace)
    kubectl.apply(
        secret("rabbitmq-config-data", data),
        secret("rabbitmq-default-user", configuration.default_user(resource, made.password)),
        secret("rabbitmq-erlang-cookie", {".erlang.cookie": secrets.token_hex(16)}),
    )
    yield made
    kubectl("delete", "namespace", kubectl.namespace, "--wait=false")


def secret(name: str, content: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": content}


def rpc_pod(name: str, *arguments: str) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": building.catalogue().images["openstack"].reference,
        "imagePullPolicy": "Never",
        "command": ["python3", "/scripts/rpc.py", *arguments],
        "env": [
            {"name": "TRANSPORT_URL", "valueFrom": {"secretKeyRef": {"name": "rpc", "key": "transport_url"}}},
            {"name": "HOME", "value": "/tmp"},
        ],
        "volumeMounts": [{"name": "scripts", "mountPath": "/scripts"}],
    }
    spec = {
        "containers": [container],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "securityContext": {"runAsUser": NOBODY, "runAsNonRoot": True},
        "volumes": [{"name": "scripts", "configMap": {"name": "rpc"}}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def busiest(broker: Broker) -> str:
    """The pod of the node with the most connections."""
    nodes: list[str] = [connection["node"] for connection in broker.ask("GET", "connections?columns=node") or []]
    assert nodes, "nobody is connected"
    return max(nodes, key=nodes.count).removeprefix("rabbit@").split(".")[0]


def test_calls_are_answered_through_the_loss_of_a_node(broker: Broker, tell: Callable[[str], None]) -> None:
    broker.install(3)
    broker.settle(3)
    hosts = configuration.hostnames(broker.resource(RabbitMqSpec(replicas=3)))
    url = transport_url((broker.user, broker.password), hosts, PORT, "/")
    script = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "rpc"}, "data": {"rpc.py": RPC.read_text()}}
    broker.kubectl.apply(secret("rpc", {"transport_url": url}), script, rpc_pod("server", "server"))
    eventually(lambda: "serving" in logs(broker, "server"), lambda: logs(broker, "server"))
    broker.kubectl.apply(rpc_pod("client", "client", "60"))
    eventually(lambda: "calling" in logs(broker, "client"), lambda: logs(broker, "client"))
    time.sleep(8)
    victim = busiest(broker)
    broker.kubectl("exec", victim, "--container=server", "--", "pkill", "-9", "beam.smp")
    eventually(lambda: '"calls"' in logs(broker, "client"), lambda: logs(broker, "client"))
    result = json.loads(logs(broker, "client").splitlines()[-1])
    tell(
        f"one of three RabbitMQ nodes killed: {result['calls']} calls, {result['failures']} not answered, "
        f"slowest {result['slowest']} s"
    )
    assert result["failures"] == 0, f"{victim} was killed: {result}"
    assert result["calls"] > 200
    broker.settle(3)


def logs(broker: Broker, pod: str) -> str:
    with contextlib.suppress(AssertionError):  # A container that was not started yet has no log.
        return broker.kubectl("logs", pod)
    return ""


def test_scaling_up_and_down_keeps_every_message(broker: Broker) -> None:
    broker.install(1)
    broker.settle(1)
    queues = [f"queue-{number}" for number in range(5)]
    for name in queues:
        assert broker.ask("PUT", f"queues/%2F/{quote(name)}", {"durable": True}) == {}
        broker.publish(name, 20)

    broker.scale(3)
    everywhere = dict.fromkeys(queues, (20, broker.names(3)))
    eventually(lambda: broker.queues() == everywhere, lambda: f"{broker.queues()}")

    broker.scale(1)
    assert broker.queues() == dict.fromkeys(queues, (20, broker.names(1)))

    broker.scale(3)
    eventually(lambda: broker.queues() == everywhere, lambda: f"{broker.queues()}")


def test_all_nodes_killed_at_once_come_back_with_every_message(broker: Broker) -> None:
    broker.install(3)
    broker.settle(3)
    assert broker.ask("PUT", "queues/%2F/queue", {"durable": True}) == {}
    broker.publish("queue", 20)
    for number in range(3):
        broker.kubectl("exec", f"rabbitmq-server-{number}", "--container=server", "--", "pkill", "-9", "beam.smp")
    eventually(lambda: not broker.nodes(), lambda: f"{broker.nodes()}")
    broker.settle(3)
    eventually(lambda: broker.queues() == {"queue": (20, broker.names(3))}, lambda: f"{broker.queues()}")


def test_a_node_that_lost_its_volume_joins_again(broker: Broker) -> None:
    broker.install(3)
    broker.settle(3)
    assert broker.ask("PUT", "queues/%2F/queue", {"durable": True}) == {}
    broker.publish("queue", 20)
    # Node 0 is the one that begins a cluster where there is none; here there is one.
    broker.kubectl("delete", "persistentvolumeclaim/data-rabbitmq-server-0", "--wait=false")
    broker.kubectl("delete", "pod/rabbitmq-server-0")
    broker.settle(3)
    eventually(lambda: broker.queues() == {"queue": (20, broker.names(3))}, lambda: f"{broker.queues()}")


def install_beginning(broker: Broker, tell: Callable[[str], None]) -> None:
    """Install three nodes, and wait until another node than 0 joins."""
    begin = time.monotonic()
    broker.install(3)
    eventually(lambda: joins(broker, 1) or joins(broker, 2), lambda: log_of(broker, 1))
    tell(f"a node of RabbitMQ joins {time.monotonic() - begin:.0f} s after the install")


def joins(broker: Broker, number: int) -> bool:
    """Whether a node has begun to join."""
    return "Joining rabbit@" in log_of(broker, number)


def log_of(broker: Broker, number: int) -> str:
    with contextlib.suppress(AssertionError):
        return broker.kubectl("logs", f"rabbitmq-server-{number}", "--container=server")
    return ""


def test_node_0_killed_while_others_join_leaves_one_cluster(broker: Broker, tell: Callable[[str], None]) -> None:
    install_beginning(broker, tell)
    broker.kubectl("exec", "rabbitmq-server-0", "--container=server", "--", "pkill", "-9", "beam.smp")
    broker.settle(3)
    begun = [number for number in range(3) if "Beginning a cluster" in log_of(broker, number)]
    assert begun in ([], [0])


def test_pods_deleted_while_they_join_leave_one_cluster(broker: Broker, tell: Callable[[str], None]) -> None:
    install_beginning(broker, tell)
    broker.kubectl("delete", "pod/rabbitmq-server-1", "pod/rabbitmq-server-2", "--force", "--grace-period=0")
    broker.settle(3)


def test_a_node_that_was_forced_out_joins_again(broker: Broker) -> None:
    broker.install(3)
    broker.settle(3)
    assert broker.ask("PUT", "queues/%2F/queue", {"durable": True}) == {}
    broker.publish("queue", 20)
    broker.kubectl("exec", "rabbitmq-server-2", "--container=server", "--", "rabbitmqctl", "stop_app")
    forget = ("rabbitmqctl", "forget_cluster_node", broker.names(3)[2])
    broker.kubectl("exec", "rabbitmq-server-0", "--container=server", "--", *forget)
    broker.kubectl("delete", "pod/rabbitmq-server-2", "--force", "--grace-period=0")
    broker.settle(3)
    eventually(lambda: broker.queues() == {"queue": (20, broker.names(3))}, lambda: f"{broker.queues()}")

"""The adapter's promises on the real RabbitMQ of the cluster."""

import subprocess
from collections.abc import Iterator

import pytest

from stackwright.adapters.rabbitmq import Access
from tests.contracts.rabbitmq import BrokerContract
from tests.e2e import cloud as clouds
from tests.e2e.cloud import Cloud
from tests.e2e.waiting import eventually

URL = {
    "apiVersion": "rabbitmq.openstack.org/v1beta1",
    "kind": "TransportURL",
    # Others than those of the cloud's own services.
    "metadata": {"name": "kettle"},
    "spec": {"rabbitmqClusterName": "rabbitmq", "username": "kettle", "vhost": "kitchen"},
}
# The management API is for the operators alone; these tests dial it from outside of the cluster.
WAY = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "management-from-outside"},
    "spec": {
        "podSelector": {"matchLabels": {"app.kubernetes.io/name": "rabbitmq"}},
        "policyTypes": ["Ingress"],
        "ingress": [{"ports": [{"port": 15672}]}],
    },
}


@pytest.fixture(scope="module")
def access(cloud: Cloud) -> Iterator[Access]:
    """The broker of the cloud, dialled by the address of its Service."""
    kubectl = cloud.kubectl
    kubectl.apply(URL)
    address = kubectl.get("service/rabbitmq", "{.spec.clusterIP}")
    kubectl.apply(WAY)
    eventually(lambda: clouds.answers(address, 15672), "the management API answers")
    user, password = (clouds.secret(kubectl, "rabbitmq-default-user", key) for key in ("username", "password"))
    yield Access(f"http://{address}:15672", user, password)
    kubectl("delete", "networkpolicy/management-from-outside", "transporturl/kettle")
    eventually(lambda: not clouds.answers(address, 15672), "the management API is closed again")


def test_a_transport_url_names_a_user_who_may_use_its_virtual_host(cloud: Cloud, access: Access) -> None:
    cloud.kubectl.wait("transporturl/kettle", "condition=Ready")
    name = cloud.kubectl.get("transporturl/kettle", "{.status.secretName}")
    url = clouds.secret(cloud.kubectl, name, "transport_url")
    assert url.startswith("rabbit://kettle:")
    # The URL as oslo.messaging reads it, on a real connection.
    script = (
        "import sys; from oslo_config import cfg; import oslo_messaging as m; import kombu; "
        "u = m.TransportURL.parse(cfg.ConfigOpts(), sys.stdin.read()); h = u.hosts[0]; "
        "c = kombu.Connection(hostname=h.hostname, port=h.port, userid=h.username, password=h.password, "
        "virtual_host=u.virtual_host); c.connect(); print('connected')"
    )

    def dialled() -> subprocess.CompletedProcess[str]:
        command = cloud.kubectl.command("exec", "--stdin", "client", "--", "python3", "-c", script)
        return subprocess.run(command, input=url, capture_output=True, text=True, timeout=60, check=False)

    assert "Connection refused" in dialled().stderr
    # As docs/network-policies.md says: a pod that uses the broker has the label of that need.
    cloud.kubectl("label", "pod", "client", "broker.needs.openstack.org/rabbitmq=true")
    eventually(lambda: dialled().stdout.strip() == "connected", "who needs the broker is let in")
    cloud.kubectl("label", "pod", "client", "broker.needs.openstack.org/rabbitmq-")


class TestRealRabbitMQ(BrokerContract):
    """The real one keeps the contract."""

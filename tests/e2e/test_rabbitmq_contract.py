"""The adapter's promises on the real RabbitMQ of the cluster."""

import base64
import json

import pytest

from stackwright.adapters.rabbitmq import Access
from tests.contracts.rabbitmq import BrokerContract
from tests.e2e.conftest import Kubectl


@pytest.fixture
def access(kubectl: Kubectl) -> Access:
    """The first RabbitMq of the cluster that is deployed, dialled by the address of its Service."""
    found = json.loads(kubectl("get", "rabbitmqs.rabbitmq.openstack.org", "--all-namespaces", "--output=json"))
    deployed = [broker["metadata"] for broker in found["items"] if "external" not in broker["spec"]]
    if not deployed:
        pytest.skip("there is no RabbitMq in the cluster")
    name, place = deployed[0]["name"], Kubectl(kubectl.program, kubectl.kubeconfig, deployed[0]["namespace"])
    address = place.get(f"service/{name}", "{.spec.clusterIP}")
    user, password = (
        base64.b64decode(place.get(f"secret/{name}-default-user", f"{{.data.{key}}}")).decode()
        for key in ("username", "password")
    )
    return Access(f"http://{address}:15672", user, password)


class TestRealRabbitMQ(BrokerContract):
    """The real one keeps the contract."""

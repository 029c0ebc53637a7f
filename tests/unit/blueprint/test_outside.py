"""What machines outside of the cluster can reach."""

from typing import Any

import pytest

from stackwright.blueprint import endpoints
from stackwright.blueprint.needs import Given, OutsideBroker
from stackwright.blueprint.needs.given import GIVEN_BROKER_ALONE
from stackwright.blueprint.outside_addresses import is_inside, lead_to
from stackwright.kube.resource import ObjectMeta
from stackwright.services.rabbitmq.kinds import RabbitMq, RabbitMqStatus
from tests.unit.blueprint.resolving import secret
from tests.unit.blueprint.services_and_nodes import NODES, service
from tests.unit.blueprint.working_alone import given

NEED = OutsideBroker(name="outside", broker=Given(name="messaging", of=GIVEN_BROKER_ALONE))
INSIDE = "rabbit://u:p%40@rabbitmq-server-0.rabbitmq-nodes.openstack.svc:5672,u:p%40@b.n.openstack.svc:5672/cell1?ssl=0"


@pytest.mark.parametrize(
    ("host", "inside"),
    [
        ("rabbitmq.openstack.svc", True),
        ("rabbitmq-server-0.rabbitmq-nodes.openstack.svc", True),
        ("rabbitmq.openstack.svc.cluster.local.", True),
        ("rabbitmq.openstack.SVC.cloud.example.org", True),
        ("rabbitmq", True),
        ("localhost", True),
        ("127.0.0.1", True),
        ("[::1]", True),
        ("", True),
        ("10.0.0.1", False),
        ("[2001:db8::1]", False),
        ("bus.example.org", False),
        ("svc.example.org", False),
    ],
)
def test_a_name_of_the_cluster_means_nothing_outside(host: str, inside: bool) -> None:
    assert is_inside(host) is inside


def test_one_address_takes_the_place_of_all_nodes() -> None:
    assert lead_to(INSIDE, "10.0.0.1:30672") == "rabbit://u:p%40@10.0.0.1:30672/cell1?ssl=0"


PORTS = [{"port": 15672, "nodePort": 31672}, {"port": 5672, "nodePort": 30672}]


@pytest.mark.parametrize(
    ("found", "place"),
    [
        pytest.param(None, "", id="no-service"),
        pytest.param(service("rabbitmq"), "", id="a-cluster-ip"),
        pytest.param(
            service("rabbitmq", type="NodePort", ports=PORTS), "10.0.0.1:30672", id="the-right-port-of-several"
        ),
        pytest.param(service("rabbitmq", type="LoadBalancer"), "", id="a-load-balancer-that-is-late"),
        pytest.param(
            service("rabbitmq", {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}, type="LoadBalancer"),
            "192.0.2.7:5672",
            id="a-load-balancer",
        ),
    ],
)
def test_a_port_of_a_service_is_reached_from_outside_by_its_type(found: Any, place: str) -> None:
    assert endpoints.place_outside(found, NODES, 5672) == place


def broker(address: str) -> RabbitMq:
    metadata = ObjectMeta(name="rabbitmq", namespace="openstack")
    return RabbitMq(metadata=metadata, status=RabbitMqStatus(outsideAddress=address))


@pytest.mark.parametrize(
    ("content", "there", "url", "why"),
    [
        pytest.param(
            {"transport_url": "rabbit://u:p@bus.example.org:5672/"},
            (),
            "rabbit://u:p@bus.example.org:5672/",
            "",
            id="a-broker-elsewhere-is-reached-as-it-is",
        ),
        pytest.param(
            {"transport_url": INSIDE, "brokerServer": "rabbitmq"},
            (broker("10.0.0.1:30672"),),
            "rabbit://u:p%40@10.0.0.1:30672/cell1?ssl=0",
            "",
            id="a-broker-of-ours-is-reached-at-its-address-outside",
        ),
        pytest.param(
            {"transport_url": INSIDE, "brokerServer": "rabbitmq"},
            (broker(""),),
            "",
            "RabbitMq rabbitmq has no address outside of the cluster; set its spec.override.service.spec.type",
            id="a-broker-of-ours-that-is-not-exposed",
        ),
        pytest.param(
            {"transport_url": INSIDE}, (), "", "Secret login has a host name of the cluster", id="one-by-hand"
        ),
    ],
)
def test_a_broker_is_reached_from_outside_or_it_says_what_to_set(
    content: dict[str, str], there: tuple[Any, ...], url: str, why: str
) -> None:
    found = given(NEED, secret("login", content), *there)
    assert found.ready
    assert found.fact.transport_url == url
    assert why in found.fact.why
    assert bool(found.fact.why) == bool(why)

"""Which addresses Services of type LoadBalancer get, and which ones the node answers for."""

from ipaddress import IPv4Network
from typing import Any

import pytest

from stackwright.kube.builtin import Service
from stackwright.kube.plan import Step
from stackwright.kube.resource import ObjectMeta
from stackwright.local.cluster import addresses, load_balancer
from stackwright.local.cluster.load_balancer import Assign, Drop, Hold, Refuse

POOL = IPv4Network("10.192.0.192/31")
FIRST, SECOND = "10.192.0.192", "10.192.0.193"


def service(name: str, address: str = "", created: str = "2030-01-01T00:00:00Z", **spec: Any) -> Service:
    ingress = [{"ip": address}] if address else []
    return Service(
        metadata=ObjectMeta(name=name, namespace="shop", creationTimestamp=created),
        spec={"type": "LoadBalancer", **spec},
        status={"loadBalancer": {"ingress": ingress}} if ingress else {},
    )


def decided(*services: Service, held: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    return [shortly(step) for step in load_balancer.decide(services, held, POOL)]


def shortly(step: Step) -> tuple[str, str]:
    match step:
        case Hold(address=address):
            return "hold", address
        case Drop(address=address):
            return "drop", address
        case Assign(service=found, address=address):
            return found.metadata.name, address
        case Refuse(service=found):
            return found.metadata.name, "none"
    raise AssertionError(step)


def test_the_node_answers_for_an_address_before_anybody_is_told_of_it() -> None:
    assert decided(service("web")) == [("hold", FIRST), ("web", FIRST)]


def test_nothing_is_done_where_all_is_well() -> None:
    assert decided(service("web", FIRST), service("api", SECOND), held=(FIRST, SECOND)) == []


def test_the_older_service_is_the_first() -> None:
    young, old = service("a", created="2030-01-02T00:00:00Z"), service("z")
    assert decided(young, old)[2:] == [("z", FIRST), ("a", SECOND)]


def test_an_address_stays_with_its_service_when_the_node_starts_anew() -> None:
    old, young = service("old"), service("young", FIRST, created="2030-01-02T00:00:00Z")
    assert decided(old, young) == [("hold", FIRST), ("hold", SECOND), ("old", SECOND)]


def test_an_address_that_nobody_has_any_more_is_dropped() -> None:
    assert decided(held=(FIRST,)) == [("drop", FIRST)]


def test_two_that_have_the_same_address_do_not_keep_it() -> None:
    assert decided(service("a", FIRST), service("b", FIRST), held=(FIRST,)) == [("hold", SECOND), ("b", SECOND)]


@pytest.mark.parametrize("told", ["192.0.2.1", "2001:db8::1"])
def test_an_address_of_another_pool_is_replaced(told: str) -> None:
    assert decided(service("web", told)) == [("hold", FIRST), ("web", FIRST)]


def test_a_pool_that_is_used_up_is_told() -> None:
    steps = load_balancer.decide([service("a", FIRST), service("b", SECOND), service("c")], (FIRST, SECOND), POOL)
    [refused] = steps
    assert isinstance(refused, Refuse)
    assert refused.service.metadata.name == "c"
    assert refused.message.startswith("All 2 addresses of 10.192.0.192/31 are taken")


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(service("web", type="NodePort"), id="it-wants-no-address"),
        pytest.param(service("web", loadBalancerClass="example.org/other"), id="somebody-else-gives-it-one"),
        pytest.param(
            Service(
                metadata=ObjectMeta(name="web", namespace="shop", deletionTimestamp="2030-01-01T00:00:00Z"),
                spec={"type": "LoadBalancer"},
                status={"loadBalancer": {"ingress": [{"ip": FIRST}]}},
            ),
            id="it-is-being-deleted",
        ),
    ],
)
def test_other_services_get_none(other: Service) -> None:
    assert decided(other) == []
    assert decided(other, held=(FIRST,)) == [("drop", FIRST)]


@pytest.mark.parametrize(
    ("services", "steps"),
    [
        pytest.param(
            [service("web", loadBalancerIP=SECOND)],
            [("hold", SECOND), ("web", SECOND), ("drop", FIRST)],
            id="it-gets-what-it-asks-for",
        ),
        pytest.param(
            [service("web", FIRST, loadBalancerIP=SECOND)],
            [("hold", SECOND), ("web", SECOND), ("drop", FIRST)],
            id="it-asks-for-another-one",
        ),
        pytest.param(
            [service("a", FIRST), service("b", loadBalancerIP=FIRST)], [("b", "none")], id="it-belongs-to-another"
        ),
        pytest.param([service("web", loadBalancerIP="192.0.2.1")], [("web", "none"), ("drop", FIRST)], id="not-ours"),
    ],
)
def test_an_address_can_be_asked_for(services: list[Service], steps: list[tuple[str, str]]) -> None:
    assert decided(*services, held=(FIRST,)) == steps


def test_the_pool_lies_among_the_nodes_own_addresses() -> None:
    for candidate in addresses.candidates():
        pool, nodes = IPv4Network(candidate.load_balancers), IPv4Network(candidate.nodes)
        assert pool.subnet_of(nodes)
        assert not {candidate.host, *(candidate.node(index) for index in range(100))} & set(map(str, pool))

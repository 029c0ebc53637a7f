"""Which URL of a service works from where."""

import pytest

from stackwright.api.exposure import RoutedOverride
from stackwright.blueprint import endpoints
from stackwright.blueprint.facts import Endpoints
from stackwright.kube.builtin import Node, Service
from stackwright.kube.plan import Wait
from tests.unit.blueprint.services_and_nodes import NODES, node, service


@pytest.mark.parametrize(
    ("found", "nodes", "url"),
    [
        pytest.param(
            service("k-internal"), (), "http://k-internal.openstack.svc:5000", id="a-cluster-ip-is-known-by-its-name"
        ),
        pytest.param(
            service("k", type="NodePort", ports=[{"port": 5000, "nodePort": 30500}]),
            NODES,
            "http://10.0.0.1:30500",
            id="a-node-port-is-on-the-first-node",
        ),
        pytest.param(
            service("k", type="NodePort", ports=[{"port": 5000, "nodePort": 30500}]),
            (node("a", InternalIP="10.0.0.1", ExternalIP="2001:db8::1"),),
            "http://[2001:db8::1]:30500",
            id="an-outer-address-goes-before-an-inner-one",
        ),
        pytest.param(
            service("k", {"loadBalancer": {"ingress": [{"hostname": "k.example.org"}]}}, type="LoadBalancer"),
            (),
            "http://k.example.org:5000",
            id="a-load-balancer-has-its-own-name",
        ),
    ],
)
def test_the_url_of_a_service(found: Service, nodes: tuple[Node, ...], url: str) -> None:
    assert endpoints.url_of(found, nodes, 5000) == url


@pytest.mark.parametrize(
    ("found", "nodes", "reason"),
    [
        pytest.param(service("k", type="LoadBalancer"), (), "LoadBalancerPending", id="no-address-yet"),
        pytest.param(service("k", type="NodePort", ports=[{"port": 1}]), NODES, "NodePortMissing", id="no-port-yet"),
        pytest.param(
            service("k", type="NodePort", ports=[{"nodePort": 30500}]),
            (node("a"),),
            "NodeAddressMissing",
            id="no-node-to-reach",
        ),
    ],
)
def test_what_is_not_known_yet_is_waited_for(found: Service, nodes: tuple[Node, ...], reason: str) -> None:
    wait = endpoints.url_of(found, nodes, 5000)
    assert isinstance(wait, Wait)
    assert wait.reason == reason


def test_what_a_user_says_goes_before_what_the_service_is() -> None:
    services = {"public": None, "internal": service("k-internal")}
    overrides = {"public": RoutedOverride(endpointURL="https://keystone.example.org")}
    assert endpoints.urls(services, overrides, (), 5000) == Endpoints(
        public="https://keystone.example.org", internal="http://k-internal.openstack.svc:5000"
    )


def test_a_service_that_is_not_there_is_waited_for() -> None:
    assert isinstance(endpoints.urls({"public": None}, {}, (), 5000), Wait)

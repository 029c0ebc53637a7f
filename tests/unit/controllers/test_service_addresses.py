"""The addresses by which clients know a Service."""

from datetime import UTC, datetime
from typing import Any

import pytest

from stackwright.api.service import KnownAddress
from stackwright.controllers.service import addresses
from stackwright.controllers.service.addresses import Exposed
from stackwright.kube.builtin import Node, Service
from stackwright.kube.resource import ObjectMeta
from stackwright.services.memcached.kinds import Memcached, MemcachedStatus

NOW = datetime(2026, 11, 16, 12, 0, 0, tzinfo=UTC)
NODE = Node(metadata=ObjectMeta(name="n"), status={"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]})
KNOWN = KnownAddress(nodePorts={"api": 30500}, address="10.0.0.9")
INSIDE = KnownAddress(clusterIPs=("10.96.0.7",))
BOTH = KnownAddress(clusterIPs=("10.96.0.7", "fd00::7"))
AGAIN: dict[str, Any] = {"clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7"]}


def body(kind: str, port: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    ports = [{"name": "api", "port": 5000, **(port or {})}]
    return {"metadata": {"name": "k"}, "spec": {"type": kind, "ports": ports, **spec}}


def service(kind: str, port: int, *, address: str = "", made: str = "2026-11-16T11:59:00Z", **spec: Any) -> Service:
    status = {"loadBalancer": {"ingress": [{"ip": address}]}} if address else {}
    metadata = ObjectMeta(name="k", namespace="here", creationTimestamp=made)
    return Service(metadata=metadata, spec=body(kind, {"nodePort": port}, **spec)["spec"], status=status)


@pytest.mark.parametrize(
    ("rendered", "present", "known", "asked"),
    [
        pytest.param(body("NodePort"), None, None, body("NodePort"), id="nothing-is-known"),
        pytest.param(body("NodePort"), None, KNOWN, body("NodePort", {"nodePort": 30500}), id="the-port-again"),
        pytest.param(
            body("NodePort"), service("NodePort", 30500), KNOWN, body("NodePort"), id="one-that-is-there-is-left-alone"
        ),
        pytest.param(
            body("NodePort", {"nodePort": 32187}),
            None,
            KNOWN,
            body("NodePort", {"nodePort": 32187}),
            id="what-the-user-says-wins",
        ),
        pytest.param(body("ClusterIP"), None, KNOWN, body("ClusterIP"), id="of-another-type"),
        pytest.param(
            body("NodePort", {"name": "other"}), None, KNOWN, body("NodePort", {"name": "other"}), id="another-port"
        ),
        pytest.param(
            body("LoadBalancer"),
            None,
            KNOWN,
            body("LoadBalancer", {"nodePort": 30500}, loadBalancerIP="10.0.0.9"),
            id="the-address-again",
        ),
        pytest.param(
            body("LoadBalancer"),
            None,
            KnownAddress(address="lb.example.org"),
            body("LoadBalancer"),
            id="a-name-cannot-be-asked-for",
        ),
        pytest.param(
            body("LoadBalancer"),
            service("LoadBalancer", 30500, address="10.0.0.9"),
            KNOWN,
            body("LoadBalancer"),
            id="a-balancer-that-was-never-asked-is-left-alone",
        ),
        pytest.param(
            body("LoadBalancer"),
            service("LoadBalancer", 30500, address="10.0.0.9", loadBalancerIP="10.0.0.9"),
            KNOWN,
            body("LoadBalancer", loadBalancerIP="10.0.0.9"),
            id="what-was-asked-for-stays-asked-for",
        ),
        pytest.param(
            body("LoadBalancer"),
            service("LoadBalancer", 30500, loadBalancerIP="10.0.0.9"),
            KNOWN,
            body("LoadBalancer", loadBalancerIP="10.0.0.9"),
            id="it-may-still-come",
        ),
        pytest.param(
            body("LoadBalancer"),
            service("LoadBalancer", 30500, made="2026-11-16T11:57:00Z", loadBalancerIP="10.0.0.9"),
            KNOWN,
            body("LoadBalancer"),
            id="any-address-is-better-than-none",
        ),
        pytest.param(body("ClusterIP"), None, INSIDE, body("ClusterIP", **AGAIN), id="the-address-inside-again"),
        pytest.param({"spec": {}}, None, INSIDE, {"spec": AGAIN}, id="one-without-a-type-has-an-address-inside"),
        pytest.param(body("NodePort"), None, INSIDE, body("NodePort", **AGAIN), id="one-of-the-nodes-has-one-inside"),
        pytest.param(
            body("ClusterIP"),
            service("ClusterIP", 0, clusterIP="10.96.0.8"),
            INSIDE,
            body("ClusterIP"),
            id="the-address-of-one-that-is-there-cannot-change",
        ),
        pytest.param(
            body("ClusterIP", clusterIP="10.96.0.9"),
            None,
            INSIDE,
            body("ClusterIP", clusterIP="10.96.0.9"),
            id="the-user-says-the-address-inside",
        ),
        pytest.param(
            body("ClusterIP", clusterIP="None"), None, INSIDE, body("ClusterIP", clusterIP="None"), id="now-headless"
        ),
        pytest.param(body("ExternalName"), None, INSIDE, body("ExternalName"), id="now-an-alias"),
        pytest.param(
            body("ClusterIP"),
            None,
            BOTH,
            body("ClusterIP", clusterIP="10.96.0.7", clusterIPs=["10.96.0.7", "fd00::7"]),
            id="of-both-families",
        ),
        pytest.param(
            body("ClusterIP", ipFamilyPolicy="SingleStack"),
            None,
            BOTH,
            body("ClusterIP", ipFamilyPolicy="SingleStack", **AGAIN),
            id="of-one-family-now",
        ),
    ],
)
def test_what_a_service_asks_for(
    rendered: Any, present: Service | None, known: KnownAddress | None, asked: Any
) -> None:
    found = addresses.ask_again(rendered, present, known, NOW)
    assert found == asked
    assert (found is rendered) is (asked == rendered)


def exposed(rendered: dict[str, Any], present: Service | None = None) -> Exposed:
    return Exposed({"k": rendered}, {"k": present} if present is not None else {})


@pytest.mark.parametrize(
    ("known", "found", "kept"),
    [
        pytest.param({}, exposed(body("NodePort"), service("NodePort", 1)), {"api": 1}, id="a-first-one"),
        pytest.param({"k": KNOWN}, exposed(body("NodePort")), {"api": 30500}, id="one-that-is-away"),
        pytest.param({"k": KNOWN}, exposed(body("NodePort"), service("NodePort", 2)), {"api": 2}, id="a-new-one"),
        pytest.param({"k": KNOWN}, exposed(body("ClusterIP")), None, id="nobody-outside-knows-it-any-more"),
        pytest.param({"k": KNOWN}, Exposed({}, {}), None, id="one-that-is-not-wanted-any-more"),
    ],
)
def test_what_is_known_from_now_on(known: Any, found: Exposed, kept: dict[str, int] | None) -> None:
    after = addresses.keep(known, found)
    assert (after["k"].nodePorts if after else None) == kept


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        pytest.param(exposed(body("ClusterIP"), service("ClusterIP", 0, clusterIP="10.96.0.8")), "10.96.0.8", id="new"),
        pytest.param(exposed(body("ClusterIP"), service("ClusterIP", 0)), "10.96.0.7", id="it-has-none-yet"),
        pytest.param(exposed(body("ClusterIP")), "10.96.0.7", id="it-is-away"),
        pytest.param(exposed(body("NodePort")), "10.96.0.7", id="of-another-type"),
        pytest.param(exposed(body("ClusterIP", clusterIP="None")), None, id="headless"),
        pytest.param(exposed(body("ExternalName"), service("ExternalName", 0)), None, id="an-alias"),
    ],
)
def test_which_address_inside_is_known_from_now_on(found: Exposed, kept: str | None) -> None:
    after = addresses.keep({"k": INSIDE}, found)
    assert (after["k"].clusterIPs if after else None) == ((kept,) if kept else None)


@pytest.mark.parametrize(
    ("rendered", "now", "said"),
    [
        (body("ClusterIP"), "10.96.0.7", []),
        (
            body("ClusterIP"),
            "10.96.0.8",
            ["Service k now has the address 10.96.0.8 inside the cluster, and no longer 10.96.0.7"],
        ),
        (body("ClusterIP", clusterIP="10.96.0.8"), "10.96.0.8", []),
    ],
    ids=["the-same", "another", "the-user-asked-for-it"],
)
def test_a_new_address_inside_is_told(rendered: Any, now: str, said: list[str]) -> None:
    found = exposed(rendered, service("ClusterIP", 0, clusterIP=now))
    before = Memcached(status=MemcachedStatus(addresses={"k": INSIDE}))
    after = MemcachedStatus(addresses=addresses.keep({"k": INSIDE}, found))
    sentences = list(addresses.moved(before, after, found, (NODE,)))
    assert [sentence.partition(": the old")[0] for sentence in sentences] == said


@pytest.mark.parametrize(
    ("found", "said"),
    [
        pytest.param(exposed(body("NodePort"), service("NodePort", 30500)), [], id="the-same"),
        pytest.param(
            exposed(body("NodePort"), service("NodePort", 31000)),
            ["Service k is now reached at http://10.0.0.1:31000, and no longer at http://10.0.0.1:30500"],
            id="another-port",
        ),
        pytest.param(
            exposed(body("NodePort", {"nodePort": 31000}), service("NodePort", 31000)), [], id="the-user-asked-for-it"
        ),
        pytest.param(
            exposed(body("LoadBalancer"), service("LoadBalancer", 31000, address="10.0.0.9")), [], id="ports-behind-it"
        ),
        pytest.param(exposed(body("LoadBalancer"), service("LoadBalancer", 30500)), [], id="it-waits"),
        pytest.param(
            exposed(body("LoadBalancer"), service("LoadBalancer", 30500, address="10.0.0.8")),
            ["Service k is now reached at http://10.0.0.8:5000, and no longer at http://10.0.0.9:5000"],
            id="another-address",
        ),
    ],
)
def test_a_new_address_is_told(found: Exposed, said: list[str]) -> None:
    before = Memcached(status=MemcachedStatus(addresses={"k": KNOWN}))
    after = MemcachedStatus(addresses=addresses.keep({"k": KNOWN}, found))
    sentences = list(addresses.moved(before, after, found, (NODE,)))
    assert [sentence.partition(": the old")[0] for sentence in sentences] == said


def test_an_address_that_does_not_come_is_looked_at_again() -> None:
    waiting = exposed(body("LoadBalancer"), service("LoadBalancer", 1, loadBalancerIP="10.0.0.9"))
    assert addresses.give_up_in(waiting, NOW) == [60.0]
    given = exposed(body("LoadBalancer"), service("LoadBalancer", 1, address="10.0.0.9", loadBalancerIP="10.0.0.9"))
    assert addresses.give_up_in(given, NOW) == []

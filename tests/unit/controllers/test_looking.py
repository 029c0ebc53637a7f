"""Who looked at something is woken when it changes."""

from typing import Any

import structlog

from stackwright.blueprint.service import Service
from stackwright.controllers.looking import Interests
from stackwright.controllers.service import ServiceController
from stackwright.kube.builtin import ConfigMap, Node
from stackwright.kube.controller import Context
from stackwright.kube.informer import Change
from stackwright.kube.informers import Informers
from stackwright.kube.resource import ObjectMeta
from stackwright.services.keystone.service import SERVICE
from tests.unit.controllers.test_service_decide import ENVIRONMENT

READER = ConfigMap(metadata=ObjectMeta(name="reader", namespace="openstack"))
NOBODY: Any = None


def node(address: str, beat: str = "") -> Node:
    addresses = [{"type": "InternalIP", "address": address}]
    return Node(metadata=ObjectMeta(name="one"), status={"addresses": addresses, "beat": beat})


def context() -> Context:
    """Return a context with an empty cache of nodes, that nobody fills."""
    informers = Informers(NOBODY)
    informers.of(Node)
    return Context(NOBODY, informers, NOBODY, "test", structlog.get_logger())


def test_who_looked_at_all_cluster_wide_objects_is_woken_by_each() -> None:
    interests = Interests()
    assert interests.begin(READER, context()).all(Node) == []
    assert tuple(interests.watch(Node).to(node("192.0.2.1"))) == (READER.key,)


def test_a_service_with_an_endpoint_is_woken_by_a_node_that_moves_and_not_by_its_heartbeat() -> None:
    service: Service[Any, Any] = SERVICE
    watches = ServiceController(service, ENVIRONMENT).controller().watches
    (when,) = (watch.when for watch in watches if watch.kind is Node)
    assert when is not None
    assert when(Change(node("192.0.2.1"), node("192.0.2.2")))
    assert not when(Change(node("192.0.2.1"), node("192.0.2.1", "later")))
    assert when(Change(None, node("192.0.2.1")))

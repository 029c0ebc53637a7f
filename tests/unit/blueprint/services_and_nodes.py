"""Services and nodes, as URLs are worked out from them."""

from typing import Any

from stackwright.kube.builtin import Node, Service
from stackwright.kube.resource import ObjectMeta


def service(name: str, status: dict[str, Any] | None = None, **spec: Any) -> Service:
    return Service(metadata=ObjectMeta(name=name, namespace="openstack"), spec=spec, status=status or {})


def node(name: str, **addresses: str) -> Node:
    listed = [{"type": kind, "address": address} for kind, address in addresses.items()]
    return Node(metadata=ObjectMeta(name=name), status={"addresses": listed})


NODES = (node("b", InternalIP="10.0.0.2"), node("a", InternalIP="10.0.0.1"))

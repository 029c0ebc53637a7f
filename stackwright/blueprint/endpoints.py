"""Which URL of a service works from where: by what its Kubernetes Services are. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from stackwright.blueprint.facts import Endpoints
from stackwright.blueprint.outside_addresses import is_url_inside
from stackwright.kube.builtin import Node, Service
from stackwright.kube.plan import Wait


def urls(
    services: Mapping[str, Service | None], overrides: Mapping[str, Any], nodes: Iterable[Node], port: int
) -> Endpoints | Wait:
    """Return the URLs of the interfaces that `services` has, or what they wait for; `overrides` are the spec's."""
    found: dict[str, str] = {}
    for interface in services:
        override = overrides.get(interface)
        if override is not None and override.endpointURL:
            found[interface] = override.endpointURL
            continue
        service = services[interface]
        if service is None:
            return Wait("ServiceMissing", f"The Service of the {interface} endpoint does not exist yet", "")
        url = url_of(service, nodes, port)
        if isinstance(url, Wait):
            return url
        found[interface] = url
    return Endpoints(**found)


def url_of(service: Service, nodes: Iterable[Node], port: int) -> str | Wait:
    """Return the URL under which a Service is reached from where its type promises."""
    match service.spec.get("type", "ClusterIP"):
        case "NodePort":
            return _node_port(service, nodes, port)
        case "LoadBalancer":
            return _load_balancer(service, port)
        case _:
            return f"http://{service.metadata.name}.{service.metadata.namespace}.svc:{port}"


def place_outside(service: Service | None, nodes: Iterable[Node], port: int) -> str:
    """Return where clients outside of the cluster reach a port of a Service, as host:port; "" where they cannot."""
    url = url_of(service, nodes, port) if service is not None else ""
    return "" if isinstance(url, Wait) or is_url_inside(url) else url.removeprefix("http://")


def _node_port(service: Service, nodes: Iterable[Node], port: int) -> str | Wait:
    entries = [entry for entry in service.spec.get("ports", ()) if entry.get("nodePort")]
    # A Service may have several ports.
    entries.sort(key=lambda entry: entry.get("port") != port)
    given = entries[0]["nodePort"] if entries else None
    if given is None:
        return Wait("NodePortMissing", f"Service {service.metadata.name} has no node port yet")
    address = next(filter(None, map(address_of, sorted(nodes, key=lambda node: node.metadata.name))), "")
    if not address:
        return Wait("NodeAddressMissing", "No node has an address under which a node port could be reached")
    return f"http://{_bracketed(address)}:{given}"


def _load_balancer(service: Service, port: int) -> str | Wait:
    entries = service.status.get("loadBalancer", {}).get("ingress") or ()
    address = next((entry.get("ip") or entry.get("hostname") for entry in entries), "")
    if not address:
        message = f"Service {service.metadata.name} waits for a load balancer to give it an address"
        return Wait("LoadBalancerPending", message)
    return f"http://{_bracketed(address)}:{port}"


def address_of(node: Node) -> str:
    """Return the address of a node for clients outside the cluster; "" if it has none."""
    addresses = {entry.get("type"): entry.get("address", "") for entry in node.status.get("addresses") or ()}
    return addresses.get("ExternalIP") or addresses.get("InternalIP") or ""


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address

"""The addresses by which clients know a Service: kept in the status, requested again if it is recreated.

A port of the nodes, the address of a load balancer and the address inside the cluster are chosen by the cluster. A
Service that somebody deletes would come back with others, and all that its clients were told would be wrong: the
clients of OVN's databases, for example, know them by number.
"""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from stackwright.api.base import CustomResource, JsonObject
from stackwright.api.service import KnownAddress, WorkloadStatus
from stackwright.blueprint import endpoints
from stackwright.blueprint.service_fields import status_of
from stackwright.kube.builtin import Node, Service
from stackwright.kube.controller import Context
from stackwright.kube.shapes.outcome import Outcome

# How long a load balancer may take to give the address that it is asked for, before any address is better than none.
PATIENCE = timedelta(minutes=2)


def ask_again(body: JsonObject, present: Service | None, known: KnownAddress | None, now: datetime) -> JsonObject:
    """Return a rendered Service with its known address if it has to be recreated; what it says itself wins."""
    spec: JsonObject = body.get("spec") or {}
    if known is None:
        return body
    changed = dict(spec)
    if present is None:
        # The address inside of one that is there cannot change, so only one that is away asks for it.
        changed |= _inside_again(spec, known)
        if _is_outside(spec):
            changed["ports"] = [_with_port(port, known) for port in spec.get("ports") or ()]
    if spec.get("type") == "LoadBalancer" and "loadBalancerIP" not in spec and _is_address(known.address):
        # What was asked for is asked for as long as it may still come: to take it back might move the Service.
        asked = present is None or (present.spec.get("loadBalancerIP") == known.address and not _in_vain(present, now))
        changed |= {"loadBalancerIP": known.address} if asked else {}
    return body if changed == spec else {**body, "spec": changed}


@dataclass(frozen=True)
class Exposed:
    """The Services of a release by their names: as they are rendered, and as they are, if they are there."""

    wanted: Mapping[str, JsonObject]
    present: Mapping[str, Service]


def find(outcome: Outcome, context: Context) -> Exposed:
    """Return the Services of a release after they were applied."""
    items = [item for item in outcome.desired if item.of is Service]
    found = {item.key.name: outcome.latest(item, context.store(Service).get(item.key)) for item in items}
    return Exposed(
        {item.key.name: item.otherwise or item.body for item in items},
        {name: service for name, service in found.items() if isinstance(service, Service) and not service.deleting},
    )


def give_up_in(exposed: Exposed, now: datetime) -> list[float]:
    """Return in how many seconds each address that a load balancer was asked for, and does not give, is given up."""
    services = exposed.present.values()
    waiting = (service for service in services if service.spec.get("loadBalancerIP") and not _given(service))
    return [left for service in waiting if (left := (_created(service) + PATIENCE - now).total_seconds()) > 0]


def keep(known: Mapping[str, KnownAddress], exposed: Exposed) -> dict[str, KnownAddress]:
    """Return what to know of the Services that are wanted from now on; one that is away is known as before."""
    found: dict[str, KnownAddress] = {}
    for name, body in exposed.wanted.items():
        spec: JsonObject = body.get("spec") or {}
        before = _narrow(known.get(name, KnownAddress()), spec)
        now = _narrow(_known(exposed.present[name], before), spec) if name in exposed.present else before
        if now != KnownAddress():
            found[name] = now
    return found


def moved(resource: CustomResource, status: WorkloadStatus, exposed: Exposed, nodes: Iterable[Node]) -> Iterator[str]:
    """Yield a sentence for each Service that is reached at another address than before, and was not asked to be.

    `status` is what is known now; the resource has what was known before.
    """
    nodes = tuple(nodes)
    before, after, wanted = status_of(resource).addresses, status.addresses, exposed.wanted
    for name in sorted(before.keys() & after.keys() & exposed.present.keys()):
        old, new, spec = before[name], after[name], wanted[name]["spec"]
        yield from _moved_inside(name, spec, old, new)
        said = {_key(port) for port in spec.get("ports") or () if port.get("nodePort")}
        ports = [
            (str(port), str(new.nodePorts[key]))
            for key, port in old.nodePorts.items()
            if key not in said and new.nodePorts.get(key, port) != port
        ]
        # The clients of a load balancer do not see the ports behind it.
        if spec.get("type") == "LoadBalancer":
            changes = [(old.address, new.address)] if old.address and old.address != new.address else []
        else:
            changes = ports
        for one, other in changes:
            was, now = _shown(exposed.present[name], nodes, one, other)
            yield (
                f"Service {name} is now reached at {now}, and no longer at {was}: the old address could not be "
                "had again, or somebody changed it; the catalog follows, clients that keep addresses must be told"
            )


def _moved_inside(name: str, spec: JsonObject, old: KnownAddress, new: KnownAddress) -> Iterator[str]:
    """Yield a sentence for each address inside the cluster that is another one, and was not asked to be."""
    if "clusterIP" in spec or "clusterIPs" in spec:
        return
    for was, now in zip(old.clusterIPs, new.clusterIPs, strict=False):
        if was != now:
            yield (
                f"Service {name} now has the address {now} inside the cluster, and no longer {was}: the old one could "
                "not be had again; what knows it by number is configured anew, and may restart"
            )


def _is_outside(spec: JsonObject) -> bool:
    return spec.get("type") in ("NodePort", "LoadBalancer")


def _has_inside(spec: JsonObject) -> bool:
    """Return whether the cluster gives a Service an address inside; a headless one has none, and an alias neither."""
    said = [spec.get("clusterIP"), *(spec.get("clusterIPs") or ())]
    return spec.get("type") != "ExternalName" and "None" not in said


def _inside_again(spec: JsonObject, known: KnownAddress) -> JsonObject:
    """Return the fields by which a Service asks for its address inside the cluster."""
    if not known.clusterIPs or not _has_inside(spec) or spec.get("clusterIP") or spec.get("clusterIPs"):
        return {}
    addresses = known.clusterIPs[:1] if spec.get("ipFamilyPolicy") == "SingleStack" else known.clusterIPs
    return {"clusterIP": addresses[0], "clusterIPs": list(addresses)}


def _narrow(known: KnownAddress, spec: JsonObject) -> KnownAddress:
    """Return of what is known what a Service of this type can have."""
    outside, inside = _is_outside(spec), _has_inside(spec)
    return KnownAddress(
        nodePorts=known.nodePorts if outside else {},
        address=known.address if outside else "",
        clusterIPs=known.clusterIPs if inside else (),
    )


def _shown(service: Service, nodes: Iterable[Node], old: str, new: str) -> tuple[str, str]:
    """Return an old and a new address, as URLs where that is possible."""
    port = next((int(entry["port"]) for entry in service.spec.get("ports") or () if "port" in entry), 80)
    url = endpoints.url_of(service, nodes, port)
    return (url.replace(new, old), url) if isinstance(url, str) and new in url else (old, new)


def _with_port(port: JsonObject, known: KnownAddress) -> JsonObject:
    number = known.nodePorts.get(_key(port))
    return {**port, "nodePort": number} if number and "nodePort" not in port else port


def _known(service: Service, before: KnownAddress) -> KnownAddress:
    ports = {_key(port): port["nodePort"] for port in service.spec.get("ports") or () if port.get("nodePort")}
    inside = service.spec.get("clusterIPs") or (service.spec.get("clusterIP", ""),)
    # One that waits for its load balancer has the old address in mind.
    address = _given(service) or before.address
    return KnownAddress(
        # The former ports, if there are none yet, and no load balancer either.
        nodePorts=ports or ({} if address else before.nodePorts),
        address=address,
        clusterIPs=tuple(filter(_is_address, inside)) or before.clusterIPs,
    )


def _key(port: JsonObject) -> str:
    return str(port.get("name") or port.get("port"))


def _given(service: Service) -> str:
    entries: Any = service.status.get("loadBalancer", {}).get("ingress") or ()
    return next((str(entry.get("ip") or entry.get("hostname") or "") for entry in entries), "")


def _in_vain(service: Service, now: datetime) -> bool:
    return not _given(service) and now - _created(service) >= PATIENCE


def _created(service: Service) -> datetime:
    return datetime.fromisoformat(service.metadata.creationTimestamp)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True

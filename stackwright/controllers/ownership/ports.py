"""Ports of nodes, which a whole cluster has once: they are on Services, and resources of any kind ask for them. Pure.

A resource that creates others hands its ports down to them, so that their Services are its own.
"""

from stackwright import services
from stackwright.blueprint import taken_ports
from stackwright.blueprint.claims import Claim
from stackwright.controllers.ownership.claims import Around
from stackwright.kube.builtin import Service
from stackwright.kube.resource import CustomResource, Resource, ResourceName

# No resource is owned through that many others; whoever says so by hand sends us round in a circle.
_DEEPEST = 8


def is_port(claim: Claim) -> bool:
    """Return whether a claim is one on a port of nodes."""
    return claim.sort == taken_ports.NODE_PORT


def asked_by(resource: CustomResource) -> tuple[Claim, ...]:
    """Return the ports that a resource asks for; one that runs elsewhere asks for none."""
    service = services.blueprint_of(type(resource))
    return () if service is None or service.elsewhere(resource) else taken_ports.claims(resource)


def holder(claim: Claim, around: Around) -> Service | None:
    """Return the Service that has a port."""
    return next((each for each in around.everywhere(Service) if taken_ports.has_port(each, claim)), None)


def is_of(service: Service, resource: CustomResource, around: Around) -> bool:
    """Return whether a Service belongs to a resource or to what it created, or was left by one of its name."""
    if service.metadata.namespace != resource.metadata.namespace:
        return False
    if service.metadata.controller is None:
        return service.metadata.name.startswith(f"{resource.metadata.name}-")
    return _name(resource) in _line(service, around)


def are_kin(one: CustomResource, other: CustomResource, around: Around) -> bool:
    """Return whether one of two resources created the other, or what created it: a port is handed down to it."""
    return _name(one) in _line(other, around) or _name(other) in _line(one, around)


def _line(item: Resource, around: Around) -> tuple[ResourceName, ...]:
    """Return an object's own name, that of its owner, and so on."""
    names = [_name(item)]
    present: Resource | None = item
    while present is not None and (owner := present.metadata.controller) is not None:
        names.append((owner.kind, owner.name))
        kind = next((kind for kind in services.kinds() if kind.kind.name == owner.kind), None)
        present = around.named(kind, owner.name) if kind is not None and len(names) < _DEEPEST else None
    return tuple(names)


def _name(item: Resource) -> ResourceName:
    return item.kind.name, item.metadata.name


def describe(present: Service, resource: CustomResource) -> str:
    """Return how a sentence about a resource names the Service that has its port."""
    metadata = present.metadata
    owner = f" of {metadata.controller.kind} {metadata.controller.name}" if metadata.controller is not None else ""
    there = f" in the namespace {metadata.namespace}" if metadata.namespace != resource.metadata.namespace else ""
    return f"Service {metadata.name}{owner}{there}"

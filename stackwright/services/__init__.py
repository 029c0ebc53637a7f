"""One folder for each service: its kinds, its data, small pure functions. Found by looking, listed nowhere.

The rule of this folder: a service's folder says all that we know of that service, and imports the floors
below (`blueprint`, `api`, `kube`), never a sibling. This file knows how to find them and names none.
"""

import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import stackwright.api
from stackwright.api import discovery
from stackwright.api.base import CustomResource
from stackwright.api.controlplane import OpenStackControlPlane, Part, Section, control_plane_type
from stackwright.blueprint.dataplane.node_service import NodeService
from stackwright.blueprint.needs import CatalogEntry
from stackwright.blueprint.providers import Offerer
from stackwright.blueprint.service import Service
from stackwright.blueprint.things import Thing
from stackwright.kube.controller import Controller

# Says what the service of a kind is, or None where the kind is no service's.
BlueprintOf = Callable[[type[CustomResource]], Service[Any, Any] | None]


@cache
def kinds() -> tuple[type[CustomResource], ...]:
    """Return every kind that we serve: those of `api`, and those in the `kinds` of each service's folder."""
    own = discovery.kinds_in(sys.modules[__name__], module="kinds")
    shared = (kind for kind in discovery.kinds_in(stackwright.api) if kind is not OpenStackControlPlane)
    return tuple(sorted((*shared, *own, control_plane()), key=lambda kind: kind.kind.crd_name))


@cache
def sections() -> tuple[Section, ...]:
    """Return what each service's folder adds to the umbrella."""
    return discovery.sections_in(sys.modules[__name__])


@cache
def control_plane() -> type[OpenStackControlPlane]:
    """Return the umbrella with the sections of all services; it is always the same type."""
    return control_plane_type(sections())


@cache
def blueprints() -> tuple[Service[Any, Any], ...]:
    """Return what each service's folder says the service is."""
    package = sys.modules[__name__]
    single = discovery.values_in(package, "service", "SERVICE")
    several = (service for found in discovery.values_in(package, "service", "SERVICES") for service in found)
    return tuple(sorted((*single, *several), key=lambda service: str(service.name)))


@cache
def checks() -> dict[type[CustomResource], tuple[Any, ...]]:
    """Return the folders' own checks of resources that are written, by kind; also of kinds that are not their own."""
    found: dict[type[CustomResource], tuple[Any, ...]] = {}
    for entries in discovery.values_in(sys.modules[__name__], "admission", "CHECKS"):
        for kind, check in entries.items():
            found[kind] = (*found.get(kind, ()), check)
    return found


@cache
def things() -> tuple[Thing, ...]:
    """Return what folders explain that no resource stands for."""
    found = discovery.values_in(sys.modules[__name__], "explanations", "THINGS")
    return tuple(thing for entries in found for thing in entries)


@cache
def controllers() -> tuple[Controller, ...]:
    """Return the controllers that folders add to those of their services; each names its team."""
    found = discovery.values_in(sys.modules[__name__], "controllers", "CONTROLLERS")
    return tuple(controller for entries in found for controller in entries)


@cache
def node_services() -> tuple[NodeService, ...]:
    """Return what folders run on machines outside of the cluster."""
    found = discovery.values_in(sys.modules[__name__], "node_services", "NODE_SERVICES")
    return tuple(sorted((each for entries in found for each in entries), key=lambda each: str(each.name)))


def part_of(kind: type[CustomResource]) -> tuple[Section, Part] | None:
    """Return the section, and its part, that makes resources of a kind; None where the umbrella makes none."""
    found = ((section, section.part_of(kind)) for section in sections())
    return next(((section, part) for section, part in found if part is not None), None)


def blueprint_of(kind: type[CustomResource]) -> Service[Any, Any] | None:
    """Return what the service of a kind is, or None where the kind is no service's."""
    return _by_kind().get(kind)


def family_of(resource: CustomResource, blueprint_of: BlueprintOf = blueprint_of) -> Iterator[CustomResource]:
    """Yield a resource, and the children that its service foresees by its spec, to any depth."""
    yield resource
    service = blueprint_of(type(resource))
    if service is not None and service.foreseen is not None and not service.elsewhere(resource):
        for child in service.foreseen(resource):
            yield from family_of(child, blueprint_of)


@cache
def providers() -> dict[str, Offerer]:
    """Return the providers of everything that can be needed, by its word; an API by its type in the catalog."""
    found: dict[str, Offerer] = {}
    for service in blueprints():
        if (given := service.provides) is not None:
            found[given.word] = Offerer(service.kind, service.name, given.offer, given.imagined)
        for need in service.needs:
            if isinstance(need, CatalogEntry):
                found[need.type] = Offerer(service.kind, service.name, need.offer)
    return found


@cache
def _by_kind() -> dict[type[CustomResource], Service[Any, Any]]:
    return {service.kind: service for service in blueprints()}

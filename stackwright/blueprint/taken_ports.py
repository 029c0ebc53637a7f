"""Node ports that users ask for, and that somebody else has. Pure."""

from collections.abc import Iterable, Iterator

from stackwright.api.base import CustomResource
from stackwright.api.forms import Form
from stackwright.blueprint import embedding, structs
from stackwright.kube.builtin import Service


def problems(resource: CustomResource, services: Iterable[Service]) -> Iterator[tuple[str, str]]:
    """Yield the ports that another Service has, and those that the resource itself uses twice."""
    others = {port: service for service in services if not _is_of(service, resource) for port in _ports(service)}
    before: dict[int, str] = {}
    spec = getattr(resource, "spec", None)
    for field in (*structs.fields("spec", spec), *embedding.fields("spec", spec)):
        if Form.NODE_PORT not in field.markers:
            continue
        if field.value in others:
            owner = _named(others[field.value], resource)
            yield field.path, f"{field.value} is the port of {owner}; use another, or leave it out"
        elif field.value in before:
            yield field.path, f"{field.value} is used by {before[field.value]} too; use another, or leave it out"
        before.setdefault(field.value, field.path)


def _named(service: Service, resource: CustomResource) -> str:
    """Return what a sentence calls a Service; one of the resource's own namespace by its name alone."""
    name, place = service.metadata.name, service.metadata.namespace
    return f"Service {name}" if place == resource.metadata.namespace else f"Service {name} of namespace {place}"


def _ports(service: Service) -> Iterator[int]:
    for port in service.spec.get("ports") or ():
        if isinstance(port.get("nodePort"), int):
            yield port["nodePort"]


def _is_of(service: Service, resource: CustomResource) -> bool:
    """Return whether a Service belongs to a resource, or was left by a resource of its name."""
    if service.metadata.namespace != resource.metadata.namespace:
        return False
    owner = service.metadata.controller
    if owner is not None:
        return (owner.kind, owner.name) == (resource.kind.name, resource.metadata.name)
    return service.metadata.name.startswith(f"{resource.metadata.name}-")

"""Which pod security profile a namespace can enforce: the strictest that allows what its services declare. Pure."""

from collections.abc import Iterable, Iterator
from typing import Any

from stackwright import services
from stackwright.api.base import CustomResource
from stackwright.blueprint.service import Component
from stackwright.blueprint.workloads import Profile, loosest
from stackwright.services import BlueprintOf


def needed_profile(
    resources: Iterable[CustomResource], blueprint_of: BlueprintOf = services.blueprint_of
) -> tuple[Profile, tuple[str, ...]]:
    """Return the strictest profile that allows all pods of some resources, and the resources that need it.

    No resource is named if that is the strictest profile there is. Of children only the kinds are known beforehand, so
    every component that a child can have counts.
    """
    needed = {
        f"{resource.kind.name} {resource.metadata.name}": loosest(
            component.profile for component in _components_of(resource, blueprint_of)
        )
        for resource in resources
    }
    profile = loosest(needed.values())
    takers = sorted(name for name, own in needed.items() if own == profile and own != "restricted")
    return profile, tuple(takers)


def _components_of(resource: CustomResource, blueprint_of: BlueprintOf) -> Iterator[Component[Any, Any]]:
    service = blueprint_of(type(resource))
    if service is None or service.elsewhere(resource):
        return
    yield from service.components_of(resource)
    waiting, known = list(service.owns), {type(resource)}
    while waiting:
        kind = waiting.pop()
        child = blueprint_of(kind)
        if child is not None and kind not in known:
            known.add(kind)
            yield from child.known_components
            waiting += child.owns

"""All that is refused of a service's resource: at the door, where it is reconciled, and by `check`. Pure."""

from collections.abc import Iterator
from typing import Any

from stackwright.api.base import CustomResource
from stackwright.blueprint import admission, configuration, names, ranges
from stackwright.blueprint.service import Look, Service


def problems(service: Service[Any, Any], resource: CustomResource, look: Look) -> Iterator[tuple[str, str]]:
    """Yield the path of each field that cannot be, and a sentence that says what to do."""
    yield from admission.problems(resource)
    yield from ranges.problems(resource)
    yield from of_service(service, resource, look)


def of_service(service: Service[Any, Any], resource: CustomResource, look: Look) -> Iterator[tuple[str, str]]:
    """Yield those that only the service itself knows of."""
    yield from names.problems(service, resource)
    yield from configuration.problems(service, resource)
    if service.problems is not None:
        yield from service.problems(resource, look)

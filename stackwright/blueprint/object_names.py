"""What the objects of a service are called: those of its release, and the Secrets with its configuration. Pure.

Two resources whose objects have the same names cannot exist next to each other.
"""

from collections.abc import Iterator
from typing import Any

from stackwright.api.base import CustomResource
from stackwright.blueprint import configuration
from stackwright.blueprint.service import Service


def of_release(service: Service[Any, Any], resource: CustomResource) -> tuple[str, ...]:
    """Return the names of the objects in a release, each once; Jobs have a hash after theirs."""
    name = resource.metadata.name
    return tuple(f"{name}-{part}" if part else name for part in dict.fromkeys(_parts(service, resource)))


def of_secrets(service: Service[Any, Any], resource: CustomResource) -> tuple[str, ...]:
    """Return the names of the Secrets with configuration, each once."""
    parts = (None, *(job for job in service.jobs_of(resource) if job.secret))
    return tuple(dict.fromkeys(configuration.secret_name(resource, part) for part in parts))


def _parts(service: Service[Any, Any], resource: CustomResource) -> Iterator[str]:
    """Yield what stands behind the release's name in the names of its objects."""
    yield ""
    yield from (component.name for component in service.components_of(resource))
    yield from (job.name for job in service.jobs_of(resource))
    yield from (schedule.name for schedule in service.schedules)
    for endpoint in service.endpoints_of(resource):
        yield from (endpoint.key(interface) for interface in endpoint.interfaces)
    yield from ("wait", "db-create", "identity-create")
    yield from service.parts

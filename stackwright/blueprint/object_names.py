"""What the objects of a service are called: those of its release, and the Secrets with its configuration. Pure.

Two resources whose objects have the same names cannot exist next to each other.
"""

from collections.abc import Iterator
from typing import Any

from stackwright.api.base import CustomResource
from stackwright.api.service import MOST_REPLICAS
from stackwright.blueprint import configuration, names
from stackwright.blueprint.needs import TYPES
from stackwright.blueprint.service import Service


def of_release(service: Service[Any, Any], resource: CustomResource) -> tuple[str, ...]:
    """Return the names of the objects in a release, each once; Jobs have a hash after theirs."""
    name = resource.metadata.name
    objects = (f"{name}-{part}" if part else name for part in _suffixes(service, resource))
    jobs = (names.before_digest(name, job.name) for job in service.jobs_of(resource))
    schedules = (names.cron_job(name, schedule.name) for schedule in service.schedules)
    return tuple(dict.fromkeys((*objects, *jobs, *schedules)))


def of_secrets(service: Service[Any, Any], resource: CustomResource) -> tuple[str, ...]:
    """Return the names of the Secrets with configuration, each once."""
    parts = (None, *(job for job in service.jobs_of(resource) if job.secret))
    return tuple(dict.fromkeys(configuration.secret_name(resource, part) for part in parts))


def of_volumes(service: Service[Any, Any], resource: CustomResource) -> Iterator[str]:
    """Yield the names of the PersistentVolumeClaims that StatefulSets create, for as many pods as they may have."""
    for component in service.components_of(resource):
        if component.workload == "StatefulSet" and component.data:
            suffix = component.name if component.suffix is None else component.suffix
            name = component.named or "-".join(filter(None, (resource.metadata.name, suffix)))
            yield from (f"data-{name}-{number}" for number in range(MOST_REPLICAS))


def _suffixes(service: Service[Any, Any], resource: CustomResource) -> Iterator[str]:
    """Yield what stands behind the release's name in the names of its objects."""
    yield ""
    yield from (component.name for component in service.components_of(resource))
    for endpoint in service.endpoints_of(resource):
        yield from (endpoint.key(interface) for interface in endpoint.interfaces)
    yield "wait"
    yield from (entry.job for of in TYPES for entry in of.provisions)
    yield from service.objects

"""Everything that is refused in a resource: at admission, in the reconcile, and by `check`. Pure."""

from collections.abc import Iterable, Iterator
from typing import Any

from stackwright.api.base import CustomResource
from stackwright.blueprint import (
    admission,
    configuration,
    mounts,
    name_lengths,
    options,
    ranges,
    tls,
    topology_namespaces,
)
from stackwright.blueprint.dataplane import name_lengths as machine_names
from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.look import Look
from stackwright.blueprint.service import Service
from stackwright.blueprint.spec_memory import SpecMemory

_memory = SpecMemory[tuple[str, str]]()
_of_values = SpecMemory[tuple[str, str]]()


def describe(found: Iterable[tuple[str, str]]) -> str:
    """Return all that is refused as one message; "" if nothing is."""
    return "; ".join(f"{path}: {sentence}" for path, sentence in found)


def problems(
    service: Service[Any, Any], resource: CustomResource, look: Look, image: ComponentImage | None
) -> Iterator[tuple[str, str]]:
    """Yield the path of each field that is refused, and a sentence that says what to do; `image` is what would run."""
    yield from _memory.recall(resource, image, lambda: _of_spec(service, resource, image))
    yield from of_service(service, resource, look)


def _of_spec(
    service: Service[Any, Any], resource: CustomResource, image: ComponentImage | None
) -> Iterator[tuple[str, str]]:
    """Yield the refusals that follow from the spec alone."""
    yield from admission.problems(resource)
    yield from mounts.problems(resource)
    yield from ranges.problems(resource)
    yield from tls.problems(getattr(resource, "spec", None))
    yield from topology_namespaces.problems(resource)
    yield from options.problems(service, resource, image)


def of_values(resource: CustomResource) -> tuple[tuple[str, str], ...]:
    """Return the values that are refused in a resource of any kind: what no object of Kubernetes could have."""
    return _of_values.recall(resource, None, lambda: tuple(_of_any_kind(resource)))


def _of_any_kind(resource: CustomResource) -> Iterator[tuple[str, str]]:
    yield from mounts.problems(resource)
    yield from ranges.problems(resource)
    yield from machine_names.problems(resource)


def of_service(service: Service[Any, Any], resource: CustomResource, look: Look) -> Iterator[tuple[str, str]]:
    """Yield the refusals that only the service itself knows."""
    yield from name_lengths.problems(service, resource)
    yield from mounts.of_service(service, resource)
    yield from configuration.problems(service, resource)
    if service.problems is not None:
        yield from service.problems(resource, look)

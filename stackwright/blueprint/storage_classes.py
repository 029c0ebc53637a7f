"""Whether the StorageClass that a resource names is there. Pure."""

from collections.abc import Iterator

from stackwright.api.base import CustomResource
from stackwright.blueprint.look import Look
from stackwright.kube.builtin import StorageClass


def problems(resource: CustomResource, path: str, name: str | None, look: Look) -> Iterator[tuple[str, str]]:
    """Yield that the class is missing which the field at `path` names; volumes cannot move to another one later."""
    if name and look(StorageClass, name) is None:
        yield path, f"StorageClass {name} does not exist; create it, or create another {resource.kind.name}"

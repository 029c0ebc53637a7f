"""Where a resource names a Topology of another namespace: one check for all kinds, with upstream's words. Pure."""

from collections.abc import Iterator

from stackwright.api.base import CustomResource
from stackwright.api.topology import find_references


def problems(resource: CustomResource) -> Iterator[tuple[str, str]]:
    """Yield the path of each reference that leaves the namespace, and what is wrong with it."""
    for path, reference in find_references("spec", getattr(resource, "spec", None)):
        if reference.namespace not in ("", resource.metadata.namespace):
            yield f"{path}.namespace", "Customizing namespace field is not supported"

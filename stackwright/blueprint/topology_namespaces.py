"""Where a resource names a Topology of another namespace: one check for all kinds, with upstream's words. Pure."""

from collections.abc import Iterator

from stackwright.api.base import CustomResource
from stackwright.api.topology import find_references
from stackwright.blueprint.refusal import Refusal


def problems(resource: CustomResource) -> Iterator[tuple[str, str]]:
    """Yield the path of each reference that leaves the namespace, and what is wrong with it."""
    for path, reference in find_references("spec", getattr(resource, "spec", None)):
        if reference.namespace not in ("", resource.metadata.namespace):
            # Upstream prints the name of the field here, not its value.
            yield f"{path}.namespace", Refusal("Customizing namespace field is not supported", "namespace")

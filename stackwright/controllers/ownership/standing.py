"""Whether a resource was refused, by its conditions, because it claims what another one owns. Pure."""

from collections.abc import Iterable
from typing import TypeVar

from stackwright.kube.resource import CustomResource

C = TypeVar("C", bound=CustomResource)

# The reason of such a condition.
TAKEN = "BelongsToAnother"


def is_refused(resource: CustomResource) -> bool:
    """Return whether a resource was refused, and so makes nothing."""
    return any(found.reason == TAKEN and found.status != "True" for found in resource.status.conditions)


def serving(resources: Iterable[C]) -> list[C]:
    """Return the resources to choose from if none is named: those that are not being deleted and were not refused.

    If all were refused, all count: one of them may still serve, although something is in its way now.
    """
    staying = [resource for resource in resources if not resource.deleting]
    return [resource for resource in staying if not is_refused(resource)] or staying

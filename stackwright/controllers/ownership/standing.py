"""Whether a resource was refused because it would make what is another's, as its conditions say. Pure."""

from collections.abc import Iterable
from typing import TypeVar

from stackwright.kube.resource import CustomResource

C = TypeVar("C", bound=CustomResource)

# The reason of a condition that says so.
TAKEN = "BelongsToAnother"


def is_refused(resource: CustomResource) -> bool:
    """Return whether a resource was refused, and so makes nothing."""
    return any(found.reason == TAKEN and found.status != "True" for found in resource.status.conditions)


def serving(resources: Iterable[C]) -> list[C]:
    """Return those of one kind that can be meant where none is named: not one that goes, nor one that was refused.

    Where all were refused, one that something is in the way of today may still serve.
    """
    staying = [resource for resource in resources if not resource.deleting]
    return [resource for resource in staying if not is_refused(resource)] or staying

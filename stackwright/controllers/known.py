"""What admission is told that there is, beside the resource that is written."""

from typing import Protocol

from stackwright.kube.resource import R


class Known(Protocol):
    """Lists the objects that a namespace has, from the caches."""

    def __call__(self, kind: type[R], namespace: str) -> list[R]:
        """Return the objects of a kind in a namespace; none where this process does not follow the kind."""
        ...

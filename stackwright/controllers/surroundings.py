"""What admission knows of other objects, besides the resource that is written."""

from typing import Protocol

from stackwright.kube.resource import R


class Known(Protocol):
    """Lists the objects that a namespace has, from the caches."""

    def __call__(self, kind: type[R], namespace: str | None) -> list[R]:
        """Return the objects of a kind in a namespace; None stands for all namespaces that are watched.

        There are none of a kind that this process does not follow.
        """
        ...


def nothing_known(kind: type[R], namespace: str | None) -> list[R]:  # noqa: ARG001  the form of `Known`
    """Say that there is nothing else."""
    return []

"""How a pure function reads objects: through a look into the caches, which remembers the reader."""

from collections.abc import Iterable
from typing import Protocol, TypeVar, runtime_checkable

from stackwright.api.base import Resource

R = TypeVar("R", bound=Resource)


class Look(Protocol):
    """Reads an object of the resource's own namespace, of one that is named, or a cluster-wide one, from the cache.

    Whoever may write a resource may then see something of that namespace, too: a service that lets its users name one
    has to decide whether they may.
    """

    def __call__(self, kind: type[R], name: str, *, namespace: str = "") -> R | None:
        """Return the object, or None when it is not there; the resource is looked at again when it changes.

        Raise Blocked for a namespace that the operator does not read.
        """
        ...


@runtime_checkable
class Survey(Protocol):
    """A look that can also list. A resource that lists is looked at again when any object of the kind changes."""

    def of_kind(self, kind: type[R]) -> Iterable[R]:
        """Return all objects of a kind in the resource's own namespace."""
        ...

"""What another resource reports of itself: whether one of its conditions is True, or anything else of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from stackwright.api.base import CustomResource
from stackwright.blueprint.needs.need import Imagination, Need, Resolved
from stackwright.blueprint.providers import Sight
from stackwright.kube import conditions
from stackwright.kube.resource import Condition, ObjectMeta


@dataclass(frozen=True, kw_only=True)
class Reported(Need):
    """Whether a condition of another resource is True, as a fact: nothing waits for it.

    `of` is the kind of that resource, `resource` returns its name. With `condition` it is for a resource further down,
    which the parent does not make. With `read` it is for a child of the service's own: the fact is what that returns
    of the child; None where there is no such child.
    """

    of: type[CustomResource]
    resource: Callable[[Any], str]
    condition: str = ""
    read: Callable[[Any], Any] | None = None

    def resolve(self, resource: Any, sight: Sight) -> Resolved:
        """Return whether it is True, for the present generation of that resource."""
        other = sight(self.of, self.resource(resource))
        if self.read is not None:
            return Resolved(ready=True, fact=self.read(other) if other is not None else None)
        return Resolved(
            ready=True, fact=other is not None and conditions.is_true(other.status.conditions, self.condition)
        )

    def imagine(self, resource: Any, world: Imagination) -> None:
        """Put a resource there that has reported it; a child of the service's own is imagined with the service."""
        if self.read is not None:
            return
        said = (Condition(type=self.condition, status="True", reason=conditions.READY),)
        add_telling(self.of, self.resource(resource), world, conditions=said)


def add_telling(kind: Any, name: str, world: Imagination, **status: Any) -> None:
    """Put a resource there of which no more is known than a name and a status: what it asks for, its parent says."""
    if world(kind, name) is None:
        made: Any = kind(metadata=ObjectMeta(name=name), spec=None)
        world.add(msgspec.structs.replace(made, status=msgspec.structs.replace(made.status, **status)))

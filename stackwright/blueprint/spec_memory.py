"""Remembers what follows from a spec alone, for as long as the spec is the same.

A resource is looked at again and again while it comes up, and mostly it is its status that has changed.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from stackwright.api.base import CustomResource

T = TypeVar("T")

# How many resources are remembered: more than a large cloud has.
REMEMBERED = 1024


@dataclass(frozen=True)
class SpecMemory(Generic[T]):
    """What follows from the specs of resources, by uid; those that were asked for least recently are forgotten."""

    known: OrderedDict[str, tuple[Any, Any, tuple[T, ...]]] = field(default_factory=OrderedDict)

    def recall(self, resource: CustomResource, beside: Any, make: Callable[[], Iterable[T]]) -> tuple[T, ...]:
        """Return what follows from a resource's spec, its name, and what stands `beside` it; `make` works it out."""
        uid, spec = resource.metadata.uid, getattr(resource, "spec", None)
        if not uid:
            # Nobody has created it yet.
            return tuple(make())
        found = self.known.get(uid)
        if found is None or found[0] != spec or found[1] != beside:
            found = self.known[uid] = spec, beside, tuple(make())
        self.known.move_to_end(uid)
        while len(self.known) > REMEMBERED:
            self.known.popitem(last=False)
        return found[2]

"""Remembers what follows from an object, for as long as it is that object: values are frozen, a change is a new one."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")

# How many objects are remembered: more than are looked at between two looks at the same one.
REMEMBERED = 256


@dataclass(frozen=True)
class ObjectMemory(Generic[T]):
    """What follows from objects, by what they are and not by what they are equal to; the latest ones are remembered."""

    known: OrderedDict[int, tuple[object, T]] = field(default_factory=OrderedDict)

    def recall(self, item: object, make: Callable[[], T]) -> T:
        """Return what follows from an object; `make` works it out."""
        # An object that is remembered is alive, so that no other one has its id.
        found = self.known.get(id(item))
        if found is None:
            found = self.known[id(item)] = item, make()
            while len(self.known) > REMEMBERED:
                self.known.popitem(last=False)
        return found[1]

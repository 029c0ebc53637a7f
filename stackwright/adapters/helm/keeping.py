"""What is remembered up to a weight and not only up to a number: users decide how large each thing is."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True)
class Kept(Generic[K, V]):
    """Remembers values until they weigh more than `most` together, or are more than `number`.

    Those that were asked for least recently are forgotten first. The latest one always stays.
    """

    weigh: Callable[[V], int]
    most: int
    number: int = 256
    known: OrderedDict[K, tuple[V, int]] = field(default_factory=OrderedDict)

    def get(self, key: K) -> V | None:
        """Return the value that is remembered, or None."""
        found = self.known.get(key)
        if found is None:
            return None
        self.known.move_to_end(key)
        return found[0]

    def put(self, key: K, value: V) -> V:
        """Remember a value, and return it."""
        self.known[key] = value, self.weigh(value)
        self.known.move_to_end(key)
        while len(self.known) > 1 and (len(self.known) > self.number or self.weight > self.most):
            self.known.popitem(last=False)
        return value

    def recall(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key; `make` works it out where it is not remembered."""
        found = self.known.get(key)
        if found is None:
            return self.put(key, make())
        self.known.move_to_end(key)
        return found[0]

    @property
    def weight(self) -> int:
        """How much all that is remembered weighs."""
        return sum(weight for _, weight in self.known.values())

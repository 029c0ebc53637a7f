"""Remembers failures for a while, longer each time, so that they are not repeated at once."""

import copy
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

from stackwright.adapters.errors import AdapterError, Unavailable

K = TypeVar("K", bound=Hashable)

FIRST, LONGEST = 5.0, 600.0
# How many are remembered.
REMEMBERED = 256


class _Failure(NamedTuple):
    times: int
    until: float
    error: AdapterError


class Failures(Generic[K]):
    """Remembers failed attempts: for 5 seconds, then for twice as long each time, 10 minutes at most."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: OrderedDict[K, _Failure] = OrderedDict()

    def refuse(self, key: K) -> None:
        """Raise the error of the last attempt again, if it was a short while ago."""
        known = self._known.get(key)
        if known is None or (left := known.until - self._clock()) <= 0:
            return
        # A traceback would grow with every raise.
        error = copy.copy(known.error).with_traceback(None)
        if isinstance(error, Unavailable):
            error.after = left
        raise error

    def note(self, key: K, error: AdapterError) -> float:
        """Remember a failure; return for how many seconds."""
        times = self._known[key].times + 1 if key in self._known else 0
        seconds = min(FIRST * 2.0 ** min(times, 60), LONGEST)
        self._known[key] = _Failure(times, self._clock() + seconds, error)
        self._known.move_to_end(key)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return seconds

    def forget(self, key: K) -> None:
        """Forget a failure after a success."""
        self._known.pop(key, None)

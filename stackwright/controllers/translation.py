"""Translates the adapters' errors into what a reconcile may raise."""

from collections.abc import Iterator
from contextlib import contextmanager

from stackwright.adapters.errors import AdapterError, Refused, Rejected, Unavailable
from stackwright.kube.errors import Blocked, Retry

# How often somebody else's refusal is tried again: it may heal there without a change that we could watch.
REFUSED_SECONDS = 15.0


@contextmanager
def translated(condition: str = "") -> Iterator[None]:
    """Turn errors of adapters inside the block into `Blocked` or `Retry`, which are reported in the given condition."""
    try:
        yield
    except AdapterError as error:
        raise translate(error, condition) from error


def translate(error: AdapterError, condition: str = "") -> Blocked | Retry:
    """Return the error as a reconcile raises it."""
    match error:
        case Rejected():
            return Blocked(str(error), reason="Rejected", condition=condition)
        case Refused():
            return Retry(str(error), reason="Refused", condition=condition, after=REFUSED_SECONDS)
        case Unavailable(after=after):
            return Retry(str(error), reason="Unavailable", condition=condition, after=after)
        case _:
            return Retry(str(error), reason="Unavailable", condition=condition)

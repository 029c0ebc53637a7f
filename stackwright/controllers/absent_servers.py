"""What the controllers of things outside the cluster share: an absent server, and why a login failed."""

from dataclasses import dataclass

from stackwright.adapters.errors import AdapterError, Refused, Unavailable
from stackwright.controllers.translation import REFUSED_SECONDS, translate
from stackwright.kube.errors import Blocked, Retry
from stackwright.kube.plan import Wait


@dataclass(frozen=True)
class Absent:
    """There is no server to ask: `wait` says why; `gone` says that the server we know will not come back."""

    wait: Wait
    gone: bool = False


def explained(error: AdapterError, condition: str, *, login: str, source: str, again: float) -> Blocked | Retry:
    """Return an adapter's error as a reconcile raises it, told in `condition`, or in `login` where we did not get in.

    A refused login says where the password is from. Who did not answer is asked again after `again` seconds: one that
    was down for long is found again soon, and not when a grown backoff has passed.
    """
    match error:
        case Refused():
            return Retry(f"{error}; {source}", reason="Refused", condition=login, after=REFUSED_SECONDS)
        case Unavailable():
            return Retry(str(error), reason="Unavailable", condition=login, after=again)
    return translate(error, condition)

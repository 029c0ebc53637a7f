"""What the controllers of things outside the cluster share: who is absent, what a Secret holds, why a login failed."""

import base64
import binascii
from dataclasses import dataclass

from stackwright.adapters.errors import AdapterError, Refused, Unavailable
from stackwright.controllers.translation import REFUSED_SECONDS, translate
from stackwright.kube.builtin import Secret
from stackwright.kube.errors import Blocked, Retry
from stackwright.kube.plan import Ends, Wait


@dataclass(frozen=True)
class Absent:
    """There is nobody to ask: `wait` says why; `gone` that nobody comes back under what we know of it."""

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


def text_of(secret: Secret | None, key: str) -> str | None:
    """Return what stands under a key of a Secret, as it stands there; "" for nothing, None for what is no text."""
    if secret is None:
        return ""
    try:
        return base64.b64decode(secret.data.get(key, ""), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def read_value(
    secret: Secret | None, name: str, key: str, condition: str, *, ends: Ends = Ends.BY_AUTHOR
) -> str | Wait:
    """Return a value of a Secret, or what is to be waited for; `ends` says who brings what is missing.

    A file's last newline is easily taken for a part of the password. Pods get what is in the Secret, whole, so it can
    be left out nowhere: it is refused.
    """
    if secret is None:
        message = f"Secret {name} does not exist; create it with the key {key}"
        return Wait("SecretMissing", message, condition, ends=ends)
    value = text_of(secret, key)
    if value is None:
        message = f"Secret {name}: the value of the key {key} is no text; correct it"
        return Wait("SecretInvalid", message, condition, ends=Ends.BY_USER)
    if not value:
        message = f"Secret {name} has no value under the key {key}; add it"
        return Wait("SecretIncomplete", message, condition, ends=ends)
    if value != value.strip():
        message = (
            f"Secret {name}: the value of the key {key} begins or ends with a blank or a newline; write it without"
        )
        return Wait("SecretInvalid", message, condition, ends=Ends.BY_USER)
    return value

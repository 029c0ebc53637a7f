"""Values in Secrets: the text under a key, or a wait that says what is missing or broken. Pure.

This is the one place that decodes and encodes them.
"""

import base64
from collections.abc import Mapping

from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Ends, Wait

_ENDS_OF_LINES = str.maketrans("", "", "\r\n")


def decode(value: str) -> bytes | None:
    """Return a value of `data` or `binaryData` as bytes; None if it is not valid Base64.

    Kubernetes takes it with ends of lines in it, as the program `base64` writes it.
    """
    try:
        return base64.b64decode(value.translate(_ENDS_OF_LINES), validate=True)
    except ValueError:
        return None


def text_of(secret: Secret | None, key: str) -> str | None:
    """Return the text under a key of a Secret; "" if there is none, None if the value is not text."""
    value = decode(secret.data.get(key, "")) if secret is not None else b""
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def has_value(secret: Secret | None, key: str) -> bool:
    """Return whether something stands under a key of a Secret."""
    return secret is not None and bool(secret.data.get(key))


def read_value(
    secret: Secret | None, name: str, key: str, condition: str, *, ends: Ends = Ends.BY_AUTHOR
) -> str | Wait:
    """Return a value of a Secret, or a wait for it; `ends` says who has to add a missing value.

    A file's last newline is easily taken for a part of the password. Pods get what is in the Secret, whole, so it can
    be left out nowhere: it is refused.
    """
    if secret is None:
        message = f"Secret {name} does not exist; create it with the key {key}"
        return Wait("SecretMissing", message, condition, ends=ends)
    value = text_of(secret, key)
    if value is None:
        message = f"Secret {name}: the value of the key {key} is not text; correct it"
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


def read_database_password(secret: Secret | None, name: str, key: str, condition: str) -> str | Wait:
    """Return the password of a user of a database, or a wait for one that clients can log in with.

    The client library of all services sends Latin-1, and the server keeps UTF-8: they differ beyond ASCII.
    """
    value = read_value(secret, name, key, condition)
    if isinstance(value, Wait) or value.isascii():
        return value
    message = f"Secret {name}: the value of the key {key} has characters beyond ASCII; choose another password"
    return Wait("SecretInvalid", message, condition, ends=Ends.BY_USER)


def texts_of(secret: Secret) -> dict[str, str]:
    """Return all that stands in a Secret, by key; "" for what is no text."""
    return {key: text_of(secret, key) or "" for key in secret.data}


def encode(content: Mapping[str, str]) -> dict[str, str]:
    """Return texts as the `data` of a Secret has them."""
    return {name: base64.b64encode(text.encode()).decode() for name, text in content.items()}

"""The passwords of a user of MariaDB, as digests: the present one, and perhaps a former one beside it. Pure.

Since MariaDB 10.4 a user may have several, of which each lets it in. It has two at most here: PyMySQL, with which
OpenStack's services connect, answers once when a server asks again for a password that was not the first one.
"""

import hashlib
import re
from collections.abc import Iterable

import msgspec

# Older servers do not have this table, and give a user one password only.
READ = "SELECT Priv FROM mysql.global_priv WHERE BINARY User = %s AND Host = '%%'"
PLUGIN = "mysql_native_password"

_DIGEST = re.compile(r"\*[0-9A-F]{40}")


class _Way(msgspec.Struct):
    """One way to log in; the first of several stands in the row itself, and is empty in the list."""

    plugin: str = ""
    authentication_string: str = ""


class _Row(_Way):
    auth_or: list[_Way] = []


def digest(password: str) -> str:
    """Return a password as the server keeps it (mysql_native_password)."""
    once = hashlib.sha1(password.encode(), usedforsecurity=False).digest()
    return "*" + hashlib.sha1(once, usedforsecurity=False).hexdigest().upper()


def read_digests(row: str | bytes) -> tuple[str, ...]:
    """Return the digests of a user's passwords, the newest first; what lets it in by other means is none."""
    try:
        found = msgspec.json.decode(row, type=_Row)
    except msgspec.DecodeError:
        return ()
    ways = (way if way.plugin else found for way in found.auth_or or [found])
    texts = (way.authentication_string for way in ways if way.plugin == PLUGIN)
    return tuple(dict.fromkeys(text for text in texts if _DIGEST.fullmatch(text)))


def choose_kept(known: Iterable[str], new: str) -> str:
    """Return which of the digests that a user has is kept beside a new one; "" if there is none.

    That is the oldest. There are two if the password was changed again before all worked with the change before: all
    worked with the oldest, and perhaps nobody with the one between.
    """
    return next((text for text in reversed(tuple(known)) if text != new), "")


def identified(digests: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """Return what stands behind the user in ALTER USER, as a template, and the values for it."""
    values = tuple(digests)
    if len(values) == 1:
        # As servers also know it on which a user has one password.
        return "IDENTIFIED BY PASSWORD %s", values
    return "IDENTIFIED VIA " + " OR ".join(f"{PLUGIN} USING %s" for _ in values), values

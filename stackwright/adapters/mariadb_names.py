"""Which names a schema and a user may have: those that MariaDB keeps as they are, and none of the server's own. Pure.

The server keeps user names without the blanks at their end, so `DROP USER 'root '` drops root; some servers do not
tell upper from lower case in names of schemas. So every spelling of a name of the server's own is the server's.
"""

import re
import unicodedata

# Where the operators record the owners of a server's schemas and users.
LEDGER = "stackwright_ledger"
SYSTEM_SCHEMAS = frozenset({"mysql", "sys", "information_schema", "performance_schema", LEDGER})
# The administrators, the user by whom the nodes of a Galera copy from each other and look after their servers, and the
# role that everybody has.
SYSTEM_USERS = frozenset({"root", "mysql", "public", "debian-sys-maint", "event_scheduler"})
# How the users are called by whom the views and procedures of the system's schemas run.
SYSTEM_PREFIXES = ("mysql.", "mariadb.")

_IDENTIFIER = re.compile(r"[a-zA-Z0-9_]{1,64}")
# What may stand around a name without being part of it.
_AROUND = " \t\r\n\v\f\0`'\""
# How a statement names a schema by its folder.
_FOLDER = "#mysql50#"
# The server keeps names in utf8mb3, which has no characters beyond this one.
_LAST_CHARACTER = "\uffff"


def bare(name: str) -> str:
    """Return a name without blanks and quotes around it, and without a difference between upper and lower case."""
    return unicodedata.normalize("NFKC", name).strip(_AROUND).casefold().removeprefix(_FOLDER).strip(_AROUND)


def is_identifier(name: str) -> bool:
    """Return whether a name needs no quotes and means the same on every file system."""
    return _IDENTIFIER.fullmatch(name) is not None


def is_system_schema(name: str) -> bool:
    """Return whether a schema is the server's own, however its name is spelled."""
    return bare(name) in SYSTEM_SCHEMAS


def is_system_user(name: str) -> bool:
    """Return whether a user is the server's own, however the name is spelled, with its host or without."""
    user = bare(bare(name).partition("@")[0])
    return user in SYSTEM_USERS or user.startswith(SYSTEM_PREFIXES)


def schema_problem(name: str) -> str:
    """Return why a schema cannot have this name, and what to do; an empty text where it can."""
    if is_system_schema(name):
        return f"{name} is a schema of the server itself; choose another name"
    if not is_identifier(name):
        return f"{name!r} is not a name that MariaDB accepts here; use letters, digits and underscores, at most 64"
    return ""


def user_problem(name: str) -> str:
    """Return why a user cannot have this name, and what to do; an empty text where it can."""
    if is_system_user(name):
        return f"{name} is the server's own; choose another name"
    if not name or name != name.strip() or not name.isprintable() or max(name) > _LAST_CHARACTER:
        return (
            f"{name!r} is not a name that MariaDB keeps unchanged; use printable characters, without emoji, and no"
            " blank at the beginning or the end"
        )
    return ""

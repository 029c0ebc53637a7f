"""The conflicts of an unforced apply: which fields another manager owns."""

import re
from dataclasses import dataclass

from stackwright.kube import answers

_MANAGER = re.compile(r'conflict with "(?P<manager>(?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class FieldConflict:
    """A field (as the server writes it, `.spec.replicas`) and who owns it."""

    field: str
    manager: str


@dataclass(frozen=True)
class Conflicts:
    """Why an unforced apply was refused; nothing was changed."""

    fields: tuple[FieldConflict, ...]
    message: str


def conflicts_of(body: bytes) -> Conflicts | None:
    """Return the conflicts in an answer with code 409, or None when that has another reason."""
    status = answers.status_of(body)
    if status is None or status.details is None:
        return None
    fields = tuple(
        FieldConflict(cause.field, _manager(cause.message))
        for cause in status.details.causes or ()
        if cause.reason == "FieldManagerConflict"
    )
    return Conflicts(fields, status.message) if fields else None


def _manager(message: str) -> str:
    """Return the manager that a cause names: `conflict with "kubectl" using apps/v1`."""
    found = _MANAGER.search(message)
    return found["manager"].replace('\\"', '"') if found else message

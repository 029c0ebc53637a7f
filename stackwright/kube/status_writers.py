"""Who wrote a status, by what the server notes of it. Pure.

The server notes a writer until all of its fields are another's. It does not note who only takes fields away.
"""

from typing import Any

from stackwright.kube.field_owners import APPLY
from stackwright.kube.informer import Change
from stackwright.kube.resource import CustomResource, FieldManager, ObjectMeta

STATUS = "status"


def find_others(metadata: ObjectMeta, ours: str) -> frozenset[FieldManager]:
    """Return who else wrote a status, and when, as far as some of that is still there."""
    return frozenset(entry for entry in metadata.managedFields if entry.subresource == STATUS and not _is(entry, ours))


def find_own(metadata: ObjectMeta, ours: str) -> FieldManager | None:
    """Return what the server notes of our own writes to a status, None where we wrote nothing that is still there."""
    return next((entry for entry in metadata.managedFields if entry.subresource == STATUS and _is(entry, ours)), None)


def has_moved(change: Change[Any]) -> bool:
    """Return whether an object of ours that was known has another status now."""
    old, new = change.old, change.new
    return isinstance(old, CustomResource) and isinstance(new, CustomResource) and old.status != new.status


def is_by_another(change: Change[Any], ours: str) -> bool:
    """Return whether a change is what somebody else wrote into a status that we keep."""
    if not isinstance(change.new, CustomResource) or change.old is None:
        return False
    after = change.new.metadata
    # Mostly nobody else wrote anything, and then nothing is compared.
    others = find_others(after, ours)
    is_new = bool(others) and bool(others - find_others(change.old.metadata, ours))
    return is_new and find_own(after, ours) is not None and has_moved(change)


def is_by_hand(change: Change[Any], ours: str) -> bool:
    """Return whether a status that moved was ours up to then, and no other process of ours has written it anew."""
    own = find_own(change.old.metadata, ours) if change.old is not None else None
    return own is not None and change.new is not None and find_own(change.new.metadata, ours) == own


def _is(entry: FieldManager, ours: str) -> bool:
    # We write by applies alone: who updates a status under our name is somebody else.
    return (entry.manager, entry.operation) == (ours, APPLY)

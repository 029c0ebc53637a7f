"""What came of a pass over the children of a resource: what was applied, what failed, and what each child is now."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from stackwright.kube import conditions, fields
from stackwright.kube.builtin import Secret
from stackwright.kube.conditions import REQUESTED, Finding
from stackwright.kube.controller import Context
from stackwright.kube.errors import Blocked
from stackwright.kube.resource import CompositeStatus, CustomResource, ObjectKey, Overridden, Resource
from stackwright.kube.shapes import strangers
from stackwright.kube.shapes.child import Child
from stackwright.kube.shapes.states import state_of


@dataclass(frozen=True)
class Applied:
    """A child as the server has it after an apply, the owners of fields that were left out, and what others added."""

    resource: Resource
    left_out: Mapping[str, str]
    added: tuple[tuple[str, str], ...] = ()

    @property
    def overridden(self) -> tuple[tuple[str, str], ...]:
        """All that is not as it is asked for, by path and manager."""
        return (*self.left_out.items(), *self.added)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a pass over the children; the parallel steps fill it.

    `staying` are those that nobody asks for any more, and that go when their neighbours have rolled; the children
    `turning` lead clients there until then.
    """

    parent: CustomResource
    desired: Sequence[Child]
    failed: dict[ObjectKey, Exception]
    applied: dict[ObjectKey, Applied]
    staying: tuple[Resource, ...] = ()
    turning: tuple[ObjectKey, ...] = ()

    def overridden(self) -> tuple[Overridden, ...]:
        """Return all that is overridden: found just now, or before on children that were not applied this time."""
        others = {label_of(item, self.parent) for item in self.desired if item.object_key not in self.applied}
        known = [entry for entry in overridden_of(self.parent) if entry.resource in others]
        found = [
            Overridden(resource=label_of(item, self.parent), field=path, manager=manager, wanted=_wanted(item, path))
            for item in self.desired
            if item.object_key in self.applied
            for path, manager in self.applied[item.object_key].overridden
        ]
        return tuple(sorted((*known, *found), key=lambda entry: (entry.resource, entry.field)))

    def findings(self, context: Context) -> Iterable[Finding]:
        """Return what is known of each child, and of what could not be pruned."""
        for item in self.desired:
            present = self.latest(item, context.store(item.of).get(item.key))
            if item.object_key in self.failed:
                yield conditions.finding_of(self.failed[item.object_key], item.condition)
            elif present is None:
                yield Finding(item.condition, "False", REQUESTED, f"{item} is gone; it is created again", "Info")
            elif present.deleting:
                message = f"{item} is being deleted; it is created again once it is gone"
                yield Finding(item.condition, "False", "Deleting", message, "Info")
            elif item.object_key in self.turning:
                # No hand has led it there.
                yield replace((item.state or state_of)(present), condition=item.condition)
            else:
                yield replace(_state(item, present), condition=item.condition)
        wanted = {item.object_key for item in self.desired}
        yield from (conditions.finding_of(error) for key, error in self.failed.items() if key not in wanted)

    def failure(self, *, waiting: bool) -> Exception | None:
        """Return the failure that decides: what heals by trying again goes before what waits for the user.

        A pass that is `waiting` is run again anyway, so the queue need not know of a block.
        """
        for failure in sorted(self.failed.values(), key=conditions.mildness):
            return None if isinstance(failure, Blocked) and waiting else failure
        return None

    def present(self, seen: Sequence[Resource]) -> tuple[Resource, ...]:
        """Return the objects that there are: those of the cache, as they are now, and those that were made just now."""
        known = {(item.kind, item.key) for item in seen}
        made = (applied.resource for key, applied in self.applied.items() if key not in known)
        return (*(self.newest(item) for item in seen), *made)

    def newest(self, cached: Resource) -> Resource:
        """Return an object of the cache as it is, where it is a child that was applied just now."""
        applied = (item for item in self.desired if item.of is type(cached) and item.key == cached.key)
        return next((self.latest(item, cached) or cached for item in applied), cached)

    def latest(self, item: Child, cached: Resource | None) -> Resource | None:
        """Return a child as it is: the cache may not have what was applied just now, or have more."""
        if item.object_key not in self.applied:
            return cached
        applied = self.applied[item.object_key].resource
        return applied if cached is None or version_of(cached) < version_of(applied) else cached


def _wanted(item: Child, path: str) -> str:
    """Return what is asked for at a path, for a status; the content of a Secret is not shown."""
    if item.of.kind == Secret.kind:
        return ""
    try:
        return fields.shown(fields.value_at(item.body, path))
    except KeyError:
        return ""


def _state(item: Child, present: Resource) -> Finding:
    """Return a child's state; pods that somebody took away are missed, although their controller misses none.

    So are clients that somebody leads away from them.
    """
    if where := strangers.led_away(item.body, present):
        message = f"{item} was changed by hand and leads to {where}, not to its own pods (stackwright take reverts it)"
        return Finding("", "False", "LedAway", message, "Warning")
    if not strangers.is_emptied(item.body, present):
        return (item.state or state_of)(present)
    asked = strangers.asked_replicas(item.body)
    message = f"{item} was scaled to 0 by hand and does not serve; asked for: {asked} (stackwright take reverts it)"
    return Finding("", "False", "ScaledToZero", message, "Warning")


def version_of(resource: Resource) -> int:
    """Return the version of an object as a number: versions of one object grow."""
    return int(resource.metadata.resourceVersion)


def label_of(item: Child, parent: Resource) -> str:
    """Return what a status calls a child; one of a cluster-wide parent may be in any namespace."""
    return f"{item.of.kind.name}/{item.key.name if parent.metadata.namespace else item.key}"


def overridden_of(parent: CustomResource) -> tuple[Overridden, ...]:
    """Return what the status says of overridden children; nothing if the kind is not one with children."""
    return parent.status.overridden if isinstance(parent.status, CompositeStatus) else ()

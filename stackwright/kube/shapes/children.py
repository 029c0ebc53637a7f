"""The children of a resource: applied without force as their owner, pruned when gone, and read for their state.

A field that somebody else set on a child stays theirs: it is left out of the apply, and reported with its manager. A
child that must outlive its parent is `kept`: it has no owner, and nothing here deletes it. Children of another parent
are not written (`belonging`), and a child that somebody changes back each time is left alone (`exchange`).
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import msgspec

from stackwright.kube import conditions, fields
from stackwright.kube.builtin import Secret
from stackwright.kube.conditions import REQUESTED, Finding
from stackwright.kube.controller import Context
from stackwright.kube.errors import Blocked, Invalid, Retry
from stackwright.kube.resource import (
    CompositeStatus,
    CustomResource,
    JsonObject,
    Key,
    ObjectKey,
    Overridden,
    Resource,
    manifest,
    owner_reference,
)
from stackwright.kube.shapes import exchange, strangers, versions
from stackwright.kube.shapes.belonging import MADE_FOR, made_for, maker_of, refuse_elsewhere, refuse_foreign
from stackwright.kube.shapes.exchange import Exchanges
from stackwright.kube.shapes.states import state_of

# What refers to another object that the server looks at when it is applied.
_LATE = frozenset({"RoleBinding", "ClusterRoleBinding"})
# Seconds after which the address of a deleted object can be had again.
_GIVEN_BACK = 0.5


@dataclass(frozen=True, eq=False)
class Child:
    """One resource that the parent stands for.

    `condition` is the parent's condition that follows the child's state; `state` reads that state, by
    default from the child's own Ready condition. A child that is `kept` has no owner and outlives its parent. One that
    is there `once` is what it is: a Job, say, whose name stands for all that it does. `otherwise` is what to apply
    where the server does not accept the body.
    """

    of: type[Resource]
    body: JsonObject
    condition: str = ""
    state: Callable[[Resource], Finding] | None = None
    kept: bool = False
    once: bool = False
    otherwise: JsonObject | None = None

    @property
    def key(self) -> Key:
        """Which object this is."""
        return Key(self.body["metadata"].get("namespace", ""), self.body["metadata"]["name"])

    @property
    def object_key(self) -> ObjectKey:
        """Which object of all this is."""
        return self.of.kind, self.key

    def __str__(self) -> str:
        return f"{self.of.kind.name} {self.key.name}"


def child(
    resource: Resource,
    *,
    condition: str = "",
    state: Callable[[Resource], Finding] | None = None,
    kept: bool = False,
) -> Child:
    """Return a typed resource as a child."""
    return Child(type(resource), manifest(resource), condition, state, kept)


@dataclass(frozen=True)
class Apply:
    """Bring a child to what its parent says."""

    child: Child

    @property
    def object_key(self) -> ObjectKey:
        """Which object this step is about."""
        return self.child.object_key


@dataclass(frozen=True)
class Prune:
    """Delete a resource that the parent no longer stands for."""

    resource: Resource

    @property
    def object_key(self) -> ObjectKey:
        """Which object this step is about."""
        return self.resource.kind, self.resource.key


def _nothing(_: Resource) -> bool:
    return False


def decide(  # noqa: PLR0913  all but two by name
    desired: Iterable[Child],
    seen: Iterable[Resource],
    *,
    prune: bool,
    mark: str,
    doubtful: Container[ObjectKey] = (),
    settled: Mapping[ObjectKey, str] = MappingProxyType({}),
    forsaken: Callable[[Resource], bool] = _nothing,
) -> tuple[Apply | Prune, ...]:
    """Return what differs between the children that should be and those that are.

    Only what carries our mark is pruned: others may own things by the parent too. Without `prune` that is only what is
    `forsaken`: nothing that is not known yet could bring it back. `doubtful` are applied even if
    they look right; not so those that are still as their last apply left them, whose fingerprints are `settled`.
    """
    wanted = {child.object_key: child for child in desired}
    present = {(resource.kind, resource.key): resource for resource in seen}
    applies = (
        Apply(child)
        for key, child in wanted.items()
        if key not in present
        or not (
            (child.once and mark in present[key].metadata.annotations)
            or (key not in doubtful and is_applied(present[key], child, mark))
            or (key in settled and settled[key] == fingerprint(present[key], child))
        )
    )
    prunes = (
        Prune(resource)
        for key, resource in present.items()
        if (prune or forsaken(resource))
        and key not in wanted
        and not resource.deleting
        and mark in resource.metadata.annotations
    )
    return (*applies, *prunes)


def waves(steps: Iterable[Apply | Prune]) -> tuple[tuple[Apply | Prune, ...], ...]:
    """Return steps in the groups that are taken one after the other: nearly all of them are in the first.

    Without cluster-wide rights we can bind a role only after the server has it and sees its rules.
    """
    steps = tuple(steps)
    late = tuple(step for step in steps if isinstance(step, Apply) and step.child.of.kind.name in _LATE)
    return tuple(some for some in (tuple(step for step in steps if step not in late), late) if some)


def is_applied(present: Resource, child: Child, mark: str) -> bool:
    """Return whether a child is as its parent last asked, and still asks, for it.

    The mark (an annotation with the manifest's digest) notices what the parent no longer asks for, and speaks for
    the fields that the type does not know; the comparison notices what others changed.
    """
    return _is_marked(present, child, mark) and fields.covers(present, child.body)


def _is_marked(present: Resource, child: Child, mark: str) -> bool:
    return present.metadata.annotations.get(mark) == fields.digest(child.body)


def fingerprint(present: Resource, child: Child) -> str:
    """Return a short name for what a child is and what is asked of it, the same until one of the two changes."""
    body = manifest(present)
    metadata = {
        name: value for name, value in body["metadata"].items() if name not in ("resourceVersion", "generation")
    }
    # Writers of the status do not matter here.
    writers = [msgspec.to_builtins(entry) for entry in present.metadata.managedFields if not entry.subresource]
    return fields.digest({"asked": child.body, "is": {**body, "metadata": metadata, "status": None}, "by": writers})


@dataclass(frozen=True)
class Children:
    """Keeps the children of all parents of one kind.

    `settled` remembers, of each parent, the children that an apply did not make what was asked for, because the
    server writes it in another way (`500m` for `0.5`) or because others own a part: they are not applied again
    before something changes.
    """

    owns: tuple[type[Resource], ...]
    settled: dict[Key, dict[ObjectKey, str]] = field(default_factory=dict, init=False, repr=False, compare=False)
    exchanges: Exchanges = field(default_factory=Exchanges, init=False, repr=False, compare=False)

    async def keep(
        self,
        parent: CustomResource,
        children: Iterable[Child],
        context: Context,
        *,
        prune: bool,
        forsaken: Callable[[Resource], bool] = _nothing,
    ) -> "Outcome":
        """Apply what differs and prune what is no longer wanted, in parallel where possible; return the outcome."""
        desired = tuple(_placed(item, parent, context) for item in children)
        owned = (resource for kind in self.owns for resource in context.store(kind).owned_by(parent.metadata.uid))
        kept = (context.store(item.of).get(item.key) for item in desired if item.kept)
        seen = [resource for resource in owned if _controls(parent, resource)]
        seen.extend(resource for resource in kept if resource is not None)
        # Only the server knows who owns a field: ask it after each change, until nothing is overridden any more.
        shown = {entry.resource for entry in _overridden(parent)}
        doubtful = {item.object_key for item in desired if _label(item, parent) in shown}
        ours = context.client.field_manager
        doubtful |= {(resource.kind, resource.key) for resource in seen if strangers.strangers(resource, ours)}
        settled = self.settled.get(parent.key, {})
        mark = mark_of(context)
        steps = decide(desired, seen, prune=prune, mark=mark, doubtful=doubtful, settled=settled, forsaken=forsaken)
        outcome = Outcome(parent, desired, {}, {})
        for some in waves(steps):
            async with asyncio.TaskGroup() as group:
                for step in some:
                    group.create_task(self._take(step, parent, context, outcome))
        self._remember(outcome, context.client.field_manager)
        self.exchanges.keep(parent.key, {item.object_key for item in desired})
        return outcome

    def forget(self, key: Key) -> None:
        """Forget a parent that no longer exists."""
        self.settled.pop(key, None)
        self.exchanges.forget(key)

    async def _take(self, step: Apply | Prune, parent: Resource, context: Context, outcome: "Outcome") -> None:
        """Carry out one step; one that fails does not stop its neighbours."""
        try:
            match step:
                case Prune(resource):
                    await versions.delete(context.client, resource, lambda seen: _is_ours(seen, parent, context))
                case Apply(item):
                    outcome.applied[step.object_key] = await self._apply(item, parent, context)
        except Exception as error:  # noqa: BLE001  told in the status, then raised again by the shape
            outcome.failed[step.object_key] = error

    async def _apply(self, item: Child, parent: Resource, context: Context) -> "Applied":
        """Apply a child, unless it is changed back each time."""
        name = (parent.key, *item.object_key)
        before = context.store(item.of).get(item.key)
        absent = before is None
        if left := self.exchanges.rest(name, time.monotonic(), absent=absent):
            raise Retry(exchange.told(str(item), absent=absent), reason=exchange.REASON, after=left)
        applied = await _apply(item, parent, context, missed=absent and self.exchanges.has_written(name))
        changed = before is None or _version(before) != _version(applied.resource)
        digest, now = fields.digest(item.body), time.monotonic()
        if changed and self.exchanges.note(name, digest, now, absent=absent, once=item.once):
            context.events.event(parent, "Warning", exchange.REASON, exchange.told(str(item), absent=absent))
        return applied

    def _remember(self, outcome: "Outcome", ours: str) -> None:
        before = self.settled.pop(outcome.parent.key, {})
        now = {item.object_key: before[item.object_key] for item in outcome.desired if item.object_key in before}
        for item in outcome.desired:
            if item.object_key in outcome.applied:
                now.pop(item.object_key, None)
                applied = outcome.applied[item.object_key]
                shared = applied.left_out or strangers.strangers(applied.resource, ours)
                if shared or not is_applied(applied.resource, item, mark_by(ours)):
                    now[item.object_key] = fingerprint(applied.resource, item)
        if now:
            self.settled[outcome.parent.key] = now


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
    """The outcome of a pass over the children; the parallel steps fill it."""

    parent: CustomResource
    desired: Sequence[Child]
    failed: dict[ObjectKey, Exception]
    applied: dict[ObjectKey, Applied]

    def overridden(self) -> tuple[Overridden, ...]:
        """Return all that is overridden: found just now, or before on children that were not applied this time."""
        others = {_label(item, self.parent) for item in self.desired if item.object_key not in self.applied}
        known = [entry for entry in _overridden(self.parent) if entry.resource in others]
        found = [
            Overridden(resource=_label(item, self.parent), field=path, manager=manager, wanted=_wanted(item, path))
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

    def newest(self, cached: Resource) -> Resource:
        """Return an object of the cache as it is, where it is a child that was applied just now."""
        applied = (item for item in self.desired if item.of is type(cached) and item.key == cached.key)
        return next((self.latest(item, cached) or cached for item in applied), cached)

    def latest(self, item: Child, cached: Resource | None) -> Resource | None:
        """Return a child as it is: the cache may not have what was applied just now, or have more."""
        if item.object_key not in self.applied:
            return cached
        applied = self.applied[item.object_key].resource
        return applied if cached is None or _version(cached) < _version(applied) else cached


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


def _version(resource: Resource) -> int:
    return int(resource.metadata.resourceVersion)


def _label(item: Child, parent: Resource) -> str:
    """Return what a status calls a child; one of a cluster-wide parent may be in any namespace."""
    return f"{item.of.kind.name}/{item.key.name if parent.metadata.namespace else item.key}"


def _controls(parent: Resource, resource: Resource) -> bool:
    owner = resource.metadata.controller
    return owner is not None and owner.uid == parent.metadata.uid


def _is_ours(resource: Resource, parent: Resource, context: Context) -> bool:
    return _controls(parent, resource) and mark_of(context) in resource.metadata.annotations


async def _apply(child: Child, parent: Resource, context: Context, *, missed: bool) -> Applied:
    try:
        return await apply_unforced(child, parent, context, missed=missed)
    except Invalid:
        if child.otherwise is not None:
            return await _apply_otherwise(child, child.otherwise, parent, context)
        if not child.once or (present := context.store(child.of).get(child.key)) is None:
            raise
    # A hand made it in another way, and it cannot be changed. What it does is not cut in the middle.
    if (child.state or state_of)(present).status == "True":
        await context.client.delete(child.of, child.key.name, child.key.namespace, uid=present.metadata.uid)
    raise Retry(
        f"{child} was created with other inputs; once it is done, it is created again", reason="Replacing", after=2.0
    )


async def _apply_otherwise(child: Child, otherwise: JsonObject, parent: Resource, context: Context) -> Applied:
    """Apply a child that the server refused: once more as it is, and then without its wish."""
    # The server tells of a deletion before it gives the addresses of what was deleted back.
    await asyncio.sleep(_GIVEN_BACK)
    with contextlib.suppress(Invalid):
        return await apply_unforced(child, parent, context)
    return await apply_unforced(replace(child, body=otherwise, otherwise=None), parent, context)


def status_of(parent: CustomResource) -> CompositeStatus:
    """Return the status of a kind that has children."""
    assert isinstance(parent.status, CompositeStatus)  # noqa: S101  a shape checks its kind
    return parent.status


def _overridden(parent: CustomResource) -> tuple[Overridden, ...]:
    """Return what the status says of overridden children; nothing if the kind is not one with children."""
    return parent.status.overridden if isinstance(parent.status, CompositeStatus) else ()


def mark_of(context: Context) -> str:
    """Return the annotation that remembers what was applied."""
    return mark_by(context.client.field_manager)


def mark_by(field_manager: str) -> str:
    """Return the annotation by which a field manager remembers what it applied."""
    return f"{field_manager}{conditions.MARK}"


def was_asked_for(item: Child, parent: Resource, context: Context) -> bool:
    """Return whether a child was applied as it is asked for now, whatever others have set on it since."""
    placed = _placed(item, parent, context)
    present = context.store(placed.of).get(placed.key)
    return present is not None and _is_marked(present, placed, mark_of(context))


async def apply_unforced(child: Child, parent: Resource, context: Context, *, missed: bool = False) -> Applied:
    """Apply a child, leaving out what others own of it; return it with what was left out.

    `missed` says that it was made before, and is not in the cache.
    """
    refuse_elsewhere(str(child), child.body, parent)
    present = context.store(child.of).get(child.key)
    refuse_foreign(str(child), present, parent)
    marked = with_annotation(child.body, mark_of(context), fields.digest(child.body))
    if present is not None and (owned := await strangers.renamed(context.client, child.body, present)):
        return Applied(present, owned, await strangers.added(context.client, present, owned))
    result, left_out = await versions.apply(context.client, child.of, marked, present, missed=missed)
    return Applied(result, left_out, await strangers.added(context.client, result, left_out))


def _placed(item: Child, parent: Resource, context: Context) -> Child:
    """Return a child in its parent's namespace, with its owner, or with the annotation of kept objects."""
    otherwise = _placed_body(item, item.otherwise, parent, context) if item.otherwise is not None else None
    return replace(item, body=_placed_body(item, item.body, parent, context), otherwise=otherwise)


def _is_kept_for(present: Resource | None, parent: Resource, context: Context) -> bool:
    """Return whether a kept object is the parent's own.

    An earlier version did not annotate what it made. An object that only we have written to was made by us.
    """
    if made_for(present, parent):
        return True
    assert present is not None  # noqa: S101  what is not there yet will be made for the parent
    metadata, ours = present.metadata, context.client.field_manager
    writers = {entry.manager for entry in metadata.managedFields if not entry.subresource}
    return MADE_FOR not in metadata.annotations and mark_by(ours) in metadata.annotations and writers == {ours}


def _present(item: Child, metadata: JsonObject, context: Context) -> Resource | None:
    return context.store(item.of).get(Key(metadata.get("namespace", ""), metadata["name"]))


def _placed_body(item: Child, body: JsonObject, parent: Resource, context: Context) -> JsonObject:
    metadata = dict(body["metadata"])
    if item.of.kind.namespaced:
        metadata.setdefault("namespace", parent.metadata.namespace)
    if not item.kept:
        metadata["ownerReferences"] = [owner_reference(parent)]
    elif _is_kept_for(_present(item, metadata, context), parent, context):
        metadata["annotations"] = {**metadata.get("annotations", {}), MADE_FOR: maker_of(parent)}
    return {**body, "metadata": metadata}


def with_annotation(body: JsonObject, name: str, value: str) -> JsonObject:
    """Return an object with one more annotation."""
    metadata = body["metadata"]
    return {**body, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), name: value}}}

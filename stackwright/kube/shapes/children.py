"""Keeps the children of a resource: applies them without force as their owner, and prunes what is no longer wanted.

A field that somebody else set on a child stays theirs: it is left out of the apply, and reported with its manager. A
child that must outlive its parent is `kept`: it has no owner, and nothing here deletes it. Children of another parent
are not written, nor what a user made, where a kind says so (`belonging`). A child that somebody changes back each time,
or that the server refuses, is left alone for a while (`exchange`, `refusals`).
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from stackwright.kube.controller import Context
from stackwright.kube.errors import Invalid, Retry, TypedPatchRefused
from stackwright.kube.resource import (
    CompositeStatus,
    CustomResource,
    JsonObject,
    Key,
    ObjectKey,
    Resource,
    is_controlled,
    owner_reference,
)
from stackwright.kube.shapes import exchange, leaving, refusals, strangers, versions
from stackwright.kube.shapes.belonging import (
    MADE_FOR,
    made_for,
    maker_of,
    refuse_elsewhere,
    refuse_foreign,
    refuse_stale,
    refuse_users,
)
from stackwright.kube.shapes.child import (
    Apply,
    Child,
    Prune,
    decide,
    fingerprint,
    is_applied,
    mark_by,
    nothing,
    waves,
    with_annotation,
)
from stackwright.kube.shapes.exchange import Exchanges
from stackwright.kube.shapes.outcome import Applied, Outcome, label_of, overridden_of, version_of
from stackwright.kube.shapes.refusals import Refusals
from stackwright.kube.shapes.states import state_of

# Seconds after which the address of a deleted object can be had again.
_GIVEN_BACK = 0.5


@dataclass(frozen=True)
class Children:
    """Keeps the children of all parents of one kind.

    `settled` remembers, of each parent, the children that an apply did not make what was asked for, because the
    server writes it in another way (`500m` for `0.5`) or because others own a part: they are not applied again
    before something changes. `spares_users` says that what a user made under the name of a child is refused, and stays
    as it is.
    """

    owns: tuple[type[Resource], ...]
    spares_users: bool = False
    settled: dict[Key, dict[ObjectKey, str]] = field(default_factory=dict, init=False, repr=False, compare=False)
    exchanges: Exchanges = field(default_factory=Exchanges, init=False, repr=False, compare=False)
    refusals: Refusals = field(default_factory=Refusals, init=False, repr=False, compare=False)

    async def keep(
        self,
        parent: CustomResource,
        children: Iterable[Child],
        context: Context,
        *,
        prune: bool,
        forsaken: Callable[[Resource], bool] = nothing,
        hurried: Callable[[Sequence[Resource]], bool] = lambda _: True,
    ) -> Outcome:
        """Apply what differs and prune what is no longer wanted, in parallel where possible; return the outcome.

        Unless this is `hurried`, a workload goes only when those that stay have rolled; it is asked if there is one,
        with all that would wait.
        """
        desired = tuple(_placed(item, parent, context) for item in children)
        owned = (resource for kind in self.owns for resource in context.store(kind).owned_by(parent.metadata.uid))
        kept = (context.store(item.of).get(item.key) for item in desired if item.kept)
        seen = [resource for resource in owned if is_controlled(resource, parent)]
        seen.extend(resource for resource in kept if resource is not None)
        # Only the server knows who owns a field: ask it after each change, until nothing is overridden any more.
        shown = {entry.resource for entry in overridden_of(parent)}
        doubtful = {item.object_key for item in desired if label_of(item, parent) in shown}
        ours = context.client.field_manager
        doubtful |= {(resource.kind, resource.key) for resource in seen if strangers.strangers(resource, ours)}
        settled = self.settled.get(parent.key, {})
        mark = mark_of(context)
        steps = decide(desired, seen, prune=prune, mark=mark, doubtful=doubtful, settled=settled, forsaken=forsaken)
        staying = leaving.find_staying(steps, seen)
        if staying and hurried([step.resource for step in staying]):
            staying = ()
        turning = leaving.find_turning(steps, staying, seen)
        outcome = Outcome(parent, desired, {}, {})
        for some in waves(step for step in steps if step not in staying and step not in turning):
            await self._take_all(some, parent, context, outcome)
        if staying and leaving.has_to_wait(steps, outcome.present(seen), outcome.failed):
            outcome = replace(
                outcome,
                staying=tuple(step.resource for step in staying),
                turning=tuple(step.object_key for step in turning),
            )
        else:
            # Clients go before the pods.
            await self._take_all(turning, parent, context, outcome)
            await self._take_all(staying, parent, context, outcome)
        self._remember(outcome, context.client.field_manager)
        for memory in (self.exchanges, self.refusals):
            memory.keep(parent.key, {item.object_key for item in desired})
        return outcome

    def forget(self, key: Key) -> None:
        """Forget a parent that no longer exists."""
        self.settled.pop(key, None)
        self.exchanges.forget(key)
        self.refusals.forget(key)

    async def _take_all(
        self, steps: Iterable[Apply | Prune], parent: Resource, context: Context, outcome: Outcome
    ) -> None:
        """Carry out steps in parallel."""
        async with asyncio.TaskGroup() as group:
            for step in steps:
                group.create_task(self._take(step, parent, context, outcome))

    async def _take(self, step: Apply | Prune, parent: Resource, context: Context, outcome: Outcome) -> None:
        """Carry out one step; one that fails does not stop its neighbours."""
        try:
            match step:
                case Prune(resource):
                    await versions.delete(context.client, resource, lambda seen: _is_ours(seen, parent, context))
                case Apply(item):
                    outcome.applied[step.object_key] = await self._apply(item, parent, context)
        except Exception as error:  # noqa: BLE001  told in the status, then raised again by the shape
            outcome.failed[step.object_key] = error

    async def _apply(self, item: Child, parent: Resource, context: Context) -> Applied:
        """Apply a child, unless it is changed back each time, or the server refuses it as it is."""
        name = (parent.key, *item.object_key)
        before = context.store(item.of).get(item.key)
        asked = refusals.asked_of(item.digest, before)
        if self.spares_users and not item.kept:
            refuse_users(str(item), before, parent, mark_of(context))
        self.refusals.stop(name, asked, time.monotonic())
        absent = before is None
        if left := self.exchanges.rest(name, time.monotonic(), absent=absent):
            raise Retry(exchange.describe_exchange(str(item), absent=absent), reason=exchange.REASON, after=left)
        try:
            applied = await _apply(item, parent, context, missed=absent and self.exchanges.has_written(name))
        except (Invalid, TypedPatchRefused) as error:
            raise self.refusals.note(name, asked, item.of, error, time.monotonic()) from error
        self.refusals.settle(name)
        changed = before is None or version_of(before) != version_of(applied.resource)
        digest, now = item.digest, time.monotonic()
        if changed and self.exchanges.note(name, digest, now, absent=absent, once=item.once):
            context.events.event(
                parent, "Warning", exchange.REASON, exchange.describe_exchange(str(item), absent=absent)
            )
        return applied

    def _remember(self, outcome: Outcome, ours: str) -> None:
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


def _is_ours(resource: Resource, parent: Resource, context: Context) -> bool:
    return is_controlled(resource, parent) and mark_of(context) in resource.metadata.annotations


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


def mark_of(context: Context) -> str:
    """Return the annotation that remembers what was applied."""
    return mark_by(context.client.field_manager)


async def apply_unforced(child: Child, parent: Resource, context: Context, *, missed: bool = False) -> Applied:
    """Apply a child, leaving out what others own of it; return it with what was left out.

    `missed` says that it was made before, and is not in the cache.
    """
    refuse_elsewhere(str(child), child.body, parent)
    present = context.store(child.of).get(child.key)
    refuse_foreign(str(child), present, parent)
    if present is not None and present.metadata.controller is None and not child.kept:
        there = await context.client.find(type(parent), parent.metadata.name, parent.metadata.namespace)
        refuse_stale(str(child), parent, there)
    marked = with_annotation(child.body, mark_of(context), child.digest)
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

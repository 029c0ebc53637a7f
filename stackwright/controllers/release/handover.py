"""Hands the objects of a release over between the operator and somebody who uses helm by hand."""

from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

import msgspec

from stackwright import tasks
from stackwright.controllers.release import kinds
from stackwright.controllers.release.differences import HELM
from stackwright.controllers.release.history import Revision, helm_at_work, history_of
from stackwright.controllers.release.owner import (
    CONTESTED,
    Owner,
    preview,
    release_of,
    who_owns,
    why_contested,
)
from stackwright.kube import clock, field_owners
from stackwright.kube.builtin import PersistentVolumeClaim, Secret
from stackwright.kube.client import Client
from stackwright.kube.controller import Context
from stackwright.kube.errors import Blocked, Conflict, NotFound, Retry
from stackwright.kube.field_managers import ManagedMeta, managed
from stackwright.kube.resource import JsonObject, Key, ObjectKey, ObjectMeta, Overridden, Resource, is_controlled
from stackwright.kube.shapes.child import mark_by
from stackwright.kube.shapes.children import mark_of

# Helm leaves what says so where it is when the release goes.
POLICY = "helm.sh/resource-policy"
# What may hold something that cannot be made again is not deleted for us.
HOLDS_DATA = (PersistentVolumeClaim.kind, Secret.kind)
# How often an object that others change at the same time is tried.
TRIES = 5


class Contested(Blocked):
    """The user must say who owns a release; `overridden` is what the operator would change if it owned it."""

    def __init__(self, message: str, overridden: tuple[Overridden, ...], condition: str) -> None:
        super().__init__(message, reason=CONTESTED, condition=condition)
        self.overridden = overridden


async def settle(
    resource: Resource, context: Context, objects: Iterable[JsonObject] = (), *, condition: str = ""
) -> Owner:
    """Hand the release to its owner, and return who that is: OPERATOR or HELM.

    `objects` are those rendered; who gives a release back need not render. Raises Blocked, told in `condition`, where
    the user must say. Call it before the objects are applied, and apply nothing where it returns HELM.
    """
    history = history_of(context.store(Secret).list(resource.metadata.namespace), resource.metadata.name)
    rendered = tuple(objects)
    wanted = {_object_key(body, resource) for body in rendered if kinds.is_known(body)}
    present = _there(wanted, context)
    owner = who_owns(resource, history, present)
    match owner:
        case Owner.CONTESTED:
            raise Contested(
                why_contested(resource, history, present),
                preview(history, rendered),
                condition,
            )
        case Owner.HELM:
            await _give_back(resource, history, wanted, context)
            return Owner.HELM
        case _:
            if wait := helm_at_work(history, clock.now()):
                # What it changes is looked at when it is done, and not taken from under its hands.
                raise Retry(wait.message, reason=wait.reason, condition=condition, after=wait.after)
            await _take_over(resource, history, wanted, context)
            return Owner.OPERATOR


async def _take_over(resource: Resource, history: Sequence[Revision], wanted: set[ObjectKey], context: Context) -> None:
    """Take the fields of objects that helm applied, and delete what its release held and ours does not."""
    foreign = [revision for revision in history if not revision.owner and not revision.ours]
    if foreign:
        # A hand may have changed objects that are ours already; only the server knows which.
        taken = wanted
        held = {
            _object_key(body, resource) for revision in foreign for body in revision.objects if kinds.is_known(body)
        }
        await _all(_prune(key, resource, context) for key in held - wanted)
    else:
        taken = {(item.kind, item.key) for item in _there(wanted, context) if not is_controlled(item, resource)}
    manager = context.client.field_manager
    mark = mark_of(context)
    await _all(_hand(context.client, key, (HELM, manager), mark) for key in taken)


async def _give_back(resource: Resource, history: Sequence[Revision], wanted: set[ObjectKey], context: Context) -> None:
    """Leave the objects and the records to helm: without our name on their fields, our mark, and their owner."""
    mark = mark_of(context)
    recorded = {
        _object_key(body, resource) for revision in history[-1:] for body in revision.objects if kinds.is_known(body)
    }
    ours = [item for item in _there(wanted | recorded, context) if is_controlled(item, resource)]
    await _all(_release(context.client, (item.kind, item.key), resource, mark) for item in ours)
    kept = [revision.secret for revision in history if revision.owner == resource.metadata.uid]
    await _all(_disown(context.client, secret, resource) for secret in kept)


async def take_fields(client: Client, key: ObjectKey, fields: Iterable[tuple[str, str]], operator: str) -> None:
    """Transfer fields of an object, by manager and path, from their managers to the operator.

    Their values stay until the operator's next apply, which makes them what it asks for and removes what it does not.
    The mark goes, so that it knows that it has to apply again.
    """
    entries = tuple(fields)

    def change(seen: ManagedMeta) -> JsonObject:
        left: Sequence[JsonObject] = seen.managedFields
        for manager, path in entries:
            left = field_owners.taken(left, manager, path, operator)
        return {"managedFields": list(left), "annotations": {mark_by(operator): None}}

    await _change(client, key, change)


async def _hand(client: Client, key: ObjectKey, managers: tuple[str, str], mark: str) -> None:
    """Hand all fields of an object from one manager to the other.

    Our mark is removed: a typed object does not show who owns its fields, and the next pass has to apply it again.
    """
    giver, taker = managers

    def change(seen: ManagedMeta) -> JsonObject:
        if not field_owners.manages(seen.managedFields, giver):
            return {}
        return {"managedFields": field_owners.handed(seen.managedFields, giver, taker), "annotations": {mark: None}}

    await _change(client, key, change)


async def _release(client: Client, key: ObjectKey, resource: Resource, mark: str) -> None:
    """Hand all fields of an object to helm, and take our mark and its owner away in the same write."""
    uid = resource.metadata.uid
    less = (
        ("f:metadata", "f:annotations", f"f:{mark}"),
        ("f:metadata", "f:ownerReferences", f'k:{{"uid":"{uid}"}}'),
    )

    def change(seen: ManagedMeta) -> JsonObject:
        return {
            "managedFields": field_owners.handed(seen.managedFields, client.field_manager, HELM, less=less),
            "annotations": {mark: None},
            "ownerReferences": _others(seen, uid),
        }

    await _change(client, key, change)


async def _disown(client: Client, secret: Secret, resource: Resource) -> None:
    def change(seen: ManagedMeta) -> JsonObject:
        return {"ownerReferences": _others(seen, resource.metadata.uid)}

    await _change(client, (Secret.kind, secret.key), change)


async def _change(client: Client, which: ObjectKey, change: Callable[[ManagedMeta], JsonObject]) -> None:
    """Change an object's metadata as long as nobody else does; an object that is gone needs no change."""
    kind, key = which
    of = managed(kind)
    for _ in range(TRIES):
        try:
            seen = (await client.get(of, key.name, key.namespace)).metadata
            if changed := change(seen):
                body = {"metadata": {**changed, "uid": seen.uid, "resourceVersion": seen.resourceVersion}}
                await client.patch(of, key.name, key.namespace, body)
        except NotFound:
            return
        except Conflict:
            continue
        return
    raise Retry(f"{kind.name} {key.name} is being changed by others right now", reason="Conflict")


async def _prune(which: ObjectKey, resource: Resource, context: Context) -> None:
    """Delete an object of a hand-made revision, unless it is somebody else's or to be kept."""
    kind, key = which
    if key.namespace != resource.metadata.namespace:
        # Whoever may write a record here need not have any rights there.
        return
    of = managed(kind)
    found = await context.client.find(of, key.name, key.namespace)
    if found is None or release_of(found) != resource.metadata.name or found.deleting:
        return
    metadata = found.metadata
    if metadata.controller is not None or metadata.annotations.get(POLICY) == "keep":
        return
    if kind in HOLDS_DATA:
        note = (
            f"{kind.name} {key.name} of a revision that was made with helm by hand was left; delete it if nothing "
            "needs it"
        )
        context.events.event(resource, "Normal", "StrayLeft", note)
        return
    await context.client.delete(of, key.name, key.namespace, uid=metadata.uid)
    note = (
        f"{kind.name} {key.name} of a revision that was made with helm by hand was deleted: the resource does not "
        "ask for it"
    )
    context.events.event(resource, "Normal", "StrayDeleted", note)


def there(resource: Resource, objects: Iterable[JsonObject], context: Context) -> list[Resource]:
    """Return those of the rendered objects of a resource that the caches have."""
    return _there({_object_key(body, resource) for body in objects if kinds.is_known(body)}, context)


def _there(keys: Iterable[ObjectKey], context: Context) -> list[Resource]:
    """Return those of the objects that the caches have."""
    types = {kind.kind: kind for kind in kinds.KINDS}
    found = (context.store(types[kind]).get(key) for kind, key in keys)
    return [item for item in found if item is not None]


def _object_key(body: JsonObject, resource: Resource) -> ObjectKey:
    metadata = body.get("metadata") or {}
    namespace = metadata.get("namespace") or resource.metadata.namespace
    return kinds.type_of(body).kind, Key(namespace, metadata.get("name", ""))


def _others(seen: ObjectMeta, uid: str) -> list[JsonObject]:
    return [msgspec.to_builtins(owner) for owner in seen.ownerReferences if owner.uid != uid]


async def _all(doings: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Do all at once; one that fails does not stop its neighbours, and the first failure is raised."""
    for outcome in await tasks.outcomes(*doings):
        if isinstance(outcome, BaseException):
            raise outcome

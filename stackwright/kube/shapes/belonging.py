"""To which resource an object belongs: to its owner, or to the resource for which it was made and kept. Pure.

What is kept has no owner that Kubernetes knows of, because it outlives its parent. An annotation says for whom it was
made: a resource that is made again under the same name finds it, and nobody else takes it. What a user made has no such
annotation; it is used, and stays the user's. What has an owner goes with it. So where a kind spares what users made,
such an object gets an owner only if a user hands it over, by the same annotation.
"""

from collections.abc import Iterable

from stackwright.kube.errors import Blocked, Retry
from stackwright.kube.resource import JsonObject, OwnerReference, Resource

# On what is kept: for which resource it was made, as Kind/name.
MADE_FOR = "stackwright/made-for"

# The reason of a refusal because a user made the object.
MADE_BY_USER = "MadeByUser"

# How often a child that belongs to somebody else is looked at again: its changes wake its owner, not us.
FOREIGN_SECONDS = 30.0


def maker_of(resource: Resource) -> str:
    """Return how an annotation names the resource for which something was made."""
    return f"{resource.kind.name}/{resource.metadata.name}"


def spoken(maker: str) -> str:
    """Return a maker's name as a sentence has it."""
    return maker.replace("/", " ", 1)


def made_for(present: Resource | None, parent: Resource) -> bool:
    """Return whether a kept object is the parent's own: one that is not there yet will be."""
    return present is None or present.metadata.annotations.get(MADE_FOR) == maker_of(parent)


def not_anothers(present: Resource, parent: Resource) -> bool:
    """Return whether a kept object was made for the parent, or for nobody that is known: by a user, say."""
    return present.metadata.annotations.get(MADE_FOR, maker_of(parent)) == maker_of(parent)


def is_made_by_user(present: Resource, mark: str) -> bool:
    """Return whether nothing on an object says that we made it, or for whom it is.

    The `mark` is on all that we apply. It stays when an owner is taken away, or is lost with a backup.
    """
    annotations = present.metadata.annotations
    return present.metadata.controller is None and mark not in annotations and MADE_FOR not in annotations


def tell_made_by_user(what: str, parent: Resource) -> str:
    """Return what a user is told of an object that is in the way, and how it is handed over."""
    who = f"{parent.kind.name} {parent.metadata.name}"
    return (
        f"{what} exists, was not created for {who}, and is left alone; use another name or delete it. To hand it over, "
        f"so that it is changed and deleted with {who}, set its annotation {MADE_FOR}: {maker_of(parent)}"
    )


def refuse_users(what: str, present: Resource | None, parent: Resource, mark: str) -> None:
    """Refuse to write what a user made: it would get an owner, and be deleted with it."""
    if present is not None and is_made_by_user(present, mark):
        # It has no owner, so nothing wakes us when it goes or is handed over.
        raise Retry(tell_made_by_user(what, parent), reason=MADE_BY_USER, after=FOREIGN_SECONDS)


def refuse_elsewhere(what: str, body: JsonObject, parent: Resource) -> None:
    """Refuse what the garbage collector would take at once, or never, because it does not find the owner there."""
    namespace, place = parent.metadata.namespace, body["metadata"].get("namespace", "")
    if namespace and place != namespace:
        wanted = f"in namespace {place}" if place else "without a namespace"
        raise Blocked(
            f"{what} is wanted {wanted}, and {parent.kind.name} {parent.metadata.name} is in {namespace}: "
            "what is owned lives where its owner does",
            reason="CannotOwn",
        )


def refuse_stale(what: str, parent: Resource, there: Resource | None) -> None:
    """Refuse to give an object an owner that is gone: the garbage collector would delete what somebody orphaned.

    `there` is what the server has in the parent's place.
    """
    if there is None or there.deleting or there.metadata.uid != parent.metadata.uid:
        message = f"{what} is left alone: {parent.kind.name} {parent.metadata.name} is gone, or another one by now"
        raise Retry(message, reason="Replacing")


def is_forsaken(resource: Resource, kind: type[Resource], there: Iterable[Resource]) -> bool:
    """Return whether the garbage collector is about to take an object, because none of its owners is there any more.

    `there` are the objects of a kind in its place. A backup that is restored names owners as they were: one of the same
    name is another one. Of owners of other kinds nothing is known, so they count as there.
    """
    owners = resource.metadata.ownerReferences
    alive = {each.metadata.uid for each in there if not each.deleting}
    return bool(owners) and all(_is_of(owner, kind) and owner.uid not in alive for owner in owners)


def _is_of(owner: OwnerReference, kind: type[Resource]) -> bool:
    return (
        owner.kind == kind.kind.name and owner.apiVersion.partition("/")[0] == kind.kind.api_version.partition("/")[0]
    )


def refuse_foreign(what: str, present: Resource | None, parent: Resource) -> None:
    """Refuse to write what is another resource's: no two parents write one object in turn."""
    if present is None:
        return
    owner = present.metadata.controller
    maker = present.metadata.annotations.get(MADE_FOR, "")
    if owner is None and maker not in ("", maker_of(parent)):
        message = f"{what} belongs to {spoken(maker)}; rename or delete one of the two"
        raise Retry(message, reason="OwnedByAnother", after=FOREIGN_SECONDS)
    if owner is None or owner.uid == parent.metadata.uid:
        return
    if (owner.kind, owner.name) == (parent.kind.name, parent.metadata.name):
        message = (
            f"{what} belongs to a {owner.kind} of the same name that was deleted; it is created again once it is gone"
        )
        raise Retry(message, reason="Replacing", after=FOREIGN_SECONDS)
    message = f"{what} belongs to {owner.kind} {owner.name}; rename or delete one of the two"
    raise Retry(message, reason="OwnedByAnother", after=FOREIGN_SECONDS)

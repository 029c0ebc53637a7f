"""Decides who owns a release: the operator, or a person who uses helm by hand. Pure."""

from collections.abc import Iterable
from enum import Enum

from stackwright.adapters.helm.records import DEPLOYED, UNINSTALLED
from stackwright.controllers.release.differences import differences
from stackwright.controllers.release.history import Revision
from stackwright.kube.resource import JsonObject, Overridden, Resource, is_controlled

# On a service's resource: `helm` gives its release back, `operator` takes it over.
RELEASE_OWNER = "openstack.org/release-owner"
RELEASE_NAME = "meta.helm.sh/release-name"

# Reasons of conditions: a release that was given to helm, and one whose owner nobody named.
GIVEN, CONTESTED = "GivenToHelm", "ReleaseContested"
# How a sentence begins that says why nobody knows what taking a release over would change.
UNKNOWN = "What that changes is not known yet"


class Owner(Enum):
    """The owner of a release."""

    OPERATOR = "operator"
    HELM = "helm"
    NOBODY = "nobody"
    CONTESTED = "contested"


def is_given(resource: Resource) -> bool:
    """Return whether the user gave the release of a resource to helm."""
    return resource.metadata.annotations.get(RELEASE_OWNER) == Owner.HELM.value


def why_given(history: tuple[Revision, ...]) -> str:
    """Return the sentence about a release that was given to helm, and how to take it back."""
    return (
        f"{named(history)} belongs to helm; set the annotation {RELEASE_OWNER}: operator to take it over "
        "(stackwright take shows first what that changes)"
    )


def named(history: tuple[Revision, ...]) -> str:
    """Return what a sentence calls a release: with its newest revision, so that readers know what was looked at."""
    return f"revision {history[-1].version} of the release" if history else "the release"


def who_owns(resource: Resource, history: tuple[Revision, ...], objects: Iterable[Resource]) -> Owner:
    """Return the owner of a resource's release.

    `objects` are those of the release that are there. What the user says decides; without a word, what the operator
    made is its own, and what is not there is nobody's. What a hand has changed with success is not reverted unasked.
    """
    said = resource.metadata.annotations.get(RELEASE_OWNER)
    if said is not None:
        return {"helm": Owner.HELM, "operator": Owner.OPERATOR}.get(said, Owner.CONTESTED)
    if is_changed_by_hand(history):
        return Owner.CONTESTED
    there = tuple(objects)
    if any(is_controlled(item, resource) for item in there):
        return Owner.OPERATOR
    if history and history[-1].ours:
        return Owner.OPERATOR
    if history and history[-1].status != UNINSTALLED:
        return Owner.CONTESTED
    elsewhere = any(release_of(item) not in ("", resource.metadata.name) for item in there)
    return Owner.CONTESTED if elsewhere else Owner.NOBODY


def is_changed_by_hand(history: tuple[Revision, ...]) -> bool:
    """Return whether the newest revision is a hand's that says otherwise than the last one of the operator's."""
    if not history or not _is_a_hands(history[-1]) or history[-1].status != DEPLOYED:
        return False
    ours = next((revision for revision in reversed(history) if not _is_a_hands(revision)), None)
    return ours is not None and bool(differences(history[-1].objects, ours.objects))


def preview(history: tuple[Revision, ...], objects: Iterable[JsonObject]) -> tuple[Overridden, ...]:
    """Return what would change if the operator applied these objects over what helm deployed, field by field."""
    newest = next((revision for revision in reversed(history) if revision.status == DEPLOYED), None)
    return differences(newest.objects, objects) if newest is not None else ()


def _is_a_hands(revision: Revision) -> bool:
    return not revision.owner and not revision.ours


def why_contested(resource: Resource, history: tuple[Revision, ...], objects: Iterable[Resource]) -> str:
    """Return the sentence that tells the user what to do about a release that is contested.

    What is wrong stands before the first semicolon and names the release, as `stackwright take` expects it.
    """
    name, label = resource.metadata.name, f"{resource.kind.name.lower()}/{resource.metadata.name}"
    said = resource.metadata.annotations.get(RELEASE_OWNER)
    by_hand = f"stackwright give {label} keeps it for helm ({RELEASE_OWNER}: helm)"
    if said is not None:
        return (
            f"nobody knows who owns {named(history)}: the annotation {RELEASE_OWNER} of {label} is {said!r}; write "
            "helm or operator, or remove it"
        )
    if is_changed_by_hand(history):
        return (
            f"{named(history)} was made with helm by hand and changes what the operator applied; stackwright take "
            f"{label} shows what, asks, and reverts it (or set the annotation {RELEASE_OWNER}: operator on {label}; "
            f"status.overridden shows the same); {by_hand}"
        )
    if history:
        return (
            f"{named(history)} {name} was made with helm by hand; if it is this service, stackwright take {label} "
            "shows what differs, asks, and hands it to the operator, which deletes what the resource does not ask for "
            f"(or set the annotation {RELEASE_OWNER}: operator on {label}); {by_hand}; if it is something else, run "
            f"helm uninstall {name} -n {resource.metadata.namespace}, or give this resource another name"
        )
    return _why_held(resource, label, [item for item in objects if release_of(item) not in ("", name)])


def _why_held(resource: Resource, label: str, items: list[Resource]) -> str:
    """Return the sentence about objects of other releases; one that another resource keeps comes back if it goes."""
    name, namespace = resource.metadata.name, resource.metadata.namespace
    others = ", ".join(f"{item.kind.name} {item.metadata.name} of release {release_of(item)}" for item in items)
    held = f"the release {name} cannot be made, because other Helm releases hold what it needs: {others}"
    keepers = {f"{owner.kind} {owner.name}": None for item in items if (owner := item.metadata.controller) is not None}
    if keepers:
        return f"{held}; these belong to {', '.join(keepers)}: give this resource another name, or delete those"
    uninstall = ", ".join(dict.fromkeys(f"helm uninstall {release_of(item)} -n {namespace}" for item in items))
    return (
        f"{held}; if nothing needs them, run {uninstall}, which deletes all of their objects, or give this resource "
        f"another name; only if they are this service under another name, stackwright take {label} (or the annotation "
        f"{RELEASE_OWNER}: operator on {label}) takes these objects over, and the next helm upgrade of the other "
        f"release changes them again. {UNKNOWN}: the record is that of another release"
    )


def release_of(item: Resource) -> str:
    """Return the name of the Helm release that an object says it belongs to; empty where it says none."""
    return item.metadata.annotations.get(RELEASE_NAME, "")

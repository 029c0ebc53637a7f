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
    """Return the sentence that tells the user what to do about a release that is contested."""
    name = resource.metadata.name
    said = resource.metadata.annotations.get(RELEASE_OWNER)
    if said is not None:
        return f"the annotation {RELEASE_OWNER} is {said!r}; write helm or operator, or remove it"
    if is_changed_by_hand(history):
        return (
            f"{named(history)} was made with helm by hand and changes what the operator applied; status.overridden"
            f" shows what. Set the annotation {RELEASE_OWNER}: operator to revert that (stackwright take shows it "
            f"first), or {RELEASE_OWNER}: helm to continue by hand"
        )
    if history:
        return (
            f"there is a Helm release {name} made by hand ({named(history)}); set the annotation {RELEASE_OWNER}: "
            "operator to have the operator take it over (status.overridden shows what that changes), or "
            f"{RELEASE_OWNER}: helm to keep it"
        )
    items = [item for item in objects if release_of(item) not in ("", name)]
    others = ", ".join(f"{item.kind.name} {item.metadata.name} of release {release_of(item)}" for item in items)
    return (
        f"other Helm releases hold what {name} needs: {others}; uninstall them, or set the annotation "
        f"{RELEASE_OWNER}: operator to have the operator take these objects over"
    )


def release_of(item: Resource) -> str:
    """Return the name of the Helm release that an object says it belongs to; empty where it says none."""
    return item.metadata.annotations.get(RELEASE_NAME, "")

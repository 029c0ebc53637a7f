"""Whose a release is: the operator's, or that of who uses helm by hand. Pure."""

from collections.abc import Iterable
from enum import Enum

from stackwright.adapters.helm.records import UNINSTALLED
from stackwright.controllers.release.history import Revision
from stackwright.kube.resource import Resource

# On a service's resource: `helm` gives its release back, `operator` takes it over.
RELEASE_OWNER = "openstack.org/release-owner"
RELEASE_NAME = "meta.helm.sh/release-name"

GIVEN = f"the release is in the hands of helm; set the annotation {RELEASE_OWNER}: operator to take it over"


class Owner(Enum):
    """Whose a release is."""

    OPERATOR = "operator"
    HELM = "helm"
    NOBODY = "nobody"
    CONTESTED = "contested"


def is_given(resource: Resource) -> bool:
    """Return whether the user gave the release of a resource to helm."""
    return resource.metadata.annotations.get(RELEASE_OWNER) == Owner.HELM.value


def who_owns(resource: Resource, history: tuple[Revision, ...], objects: Iterable[Resource]) -> Owner:
    """Return whose the release of a resource is.

    `objects` are those of the release that are there. What the user says decides; without a word, what the operator
    made is its own, and what is not there is nobody's.
    """
    said = resource.metadata.annotations.get(RELEASE_OWNER)
    if said is not None:
        return {"helm": Owner.HELM, "operator": Owner.OPERATOR}.get(said, Owner.CONTESTED)
    there = tuple(objects)
    if any(belongs(item, resource) for item in there):
        return Owner.OPERATOR
    if history and history[-1].ours:
        return Owner.OPERATOR
    if history and history[-1].status != UNINSTALLED:
        return Owner.CONTESTED
    elsewhere = any(release_of(item) not in ("", resource.metadata.name) for item in there)
    return Owner.CONTESTED if elsewhere else Owner.NOBODY


def why_contested(resource: Resource, history: tuple[Revision, ...], objects: Iterable[Resource]) -> str:
    """Return the sentence that tells the user what to do about a release that is contested."""
    name = resource.metadata.name
    said = resource.metadata.annotations.get(RELEASE_OWNER)
    if said is not None:
        return f"the annotation {RELEASE_OWNER} is {said!r}; write helm or operator, or take it away"
    if history:
        return (
            f"there is a Helm release {name} made by hand (revision {history[-1].version}); set the annotation "
            f"{RELEASE_OWNER}: operator to have the operator take it over, or {RELEASE_OWNER}: helm to keep it"
        )
    items = [item for item in objects if release_of(item) not in ("", name)]
    others = ", ".join(f"{item.kind.name} {item.metadata.name} of release {release_of(item)}" for item in items)
    return (
        f"other Helm releases hold what {name} needs: {others}; uninstall them, or set the annotation "
        f"{RELEASE_OWNER}: operator to have the operator take these objects over"
    )


def belongs(item: Resource, resource: Resource) -> bool:
    """Return whether an object goes with the resource."""
    owner = item.metadata.controller
    return owner is not None and owner.uid == resource.metadata.uid


def release_of(item: Resource) -> str:
    """Return the name of the Helm release that an object says it belongs to; empty where it says none."""
    return item.metadata.annotations.get(RELEASE_NAME, "")

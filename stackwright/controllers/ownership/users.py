"""What a user made under a name that we would use: it is left alone, and the resource says so. Pure.

What a resource owns goes with it. An object that nobody of ours made must therefore not get an owner: it would be
changed, and deleted with the resource. An installation by hand is no exception before the user hands it over.
"""

from collections.abc import Iterable

from stackwright.adapters.helm.records import UNINSTALLED
from stackwright.api.annotations import GENERATED_FOR, RELEASE_OWNER
from stackwright.controllers import release
from stackwright.controllers.ownership.standing import TAKEN
from stackwright.kube.builtin import Secret
from stackwright.kube.errors import Retry
from stackwright.kube.resource import CustomResource, Resource
from stackwright.kube.shapes.belonging import FOREIGN_SECONDS, MADE_FOR, maker_of
from stackwright.kube.shapes.children import mark_by

# Under which name all operators write.
FIELD_MANAGER = "stackwright"


class MadeByUser(Retry):
    """An object that a user made is in the way; it has no owner, and wakes nobody when it goes."""


def maker_named_on(present: Resource) -> str:
    """Return for which resource an object says that it was made; empty where it says none."""
    annotations = present.metadata.annotations
    return annotations.get(MADE_FOR) or annotations.get(GENERATED_FOR, "")


def is_unmarked(present: Resource) -> bool:
    """Return whether an object has no owner, and no operator ever applied it."""
    return present.metadata.controller is None and mark_by(FIELD_MANAGER) not in present.metadata.annotations


def is_a_users(present: Resource, resource: Resource) -> bool:
    """Return whether nothing on an object says that it was made for a resource, by an operator or by its chart."""
    return (
        is_unmarked(present)
        and maker_named_on(present) != maker_of(resource)
        and release.release_of(present) != resource.metadata.name
    )


def hands_over(resource: CustomResource, secrets: Iterable[Secret]) -> bool:
    """Return whether a user hands an installation by hand over, or is asked to, by the release that helm made.

    `stackwright render` of a version before this one left no mark on the Secrets of such an installation.
    """
    if resource.metadata.annotations.get(RELEASE_OWNER) == release.Owner.OPERATOR.value:
        return True
    history = release.history_of(secrets, resource.metadata.name)
    newest = history[-1] if history else None
    return newest is not None and not newest.owner and not newest.ours and newest.status != UNINSTALLED


def sentence(what: str, advice: str, *, release: bool) -> str:
    """Return what is wrong with an object that a user made, and what to do; one of a `release` can be handed over."""
    if not release:
        return f"{what} exists and was not created for this resource; {advice}, or delete it"
    return (
        f"{what} exists, was not created for this resource and is left alone; rename or delete it, or {advice}. If it "
        f"is of an installation of this service by hand, set the annotation {RELEASE_OWNER}: operator to hand it over"
    )


def refuse_users(
    resource: CustomResource, there: Iterable[Resource], secrets: Iterable[Secret], condition: str
) -> None:
    """Refuse objects of a release that are `there` already and that a user made.

    Whose those of other Helm releases are, is asked where releases change hands.
    """
    found = [present for present in there if is_a_users(present, resource) and not release.release_of(present)]
    if found and not hands_over(resource, secrets):
        whats = ", ".join(f"{present.kind.name} {present.metadata.name}" for present in found)
        message = sentence(whats, "give this resource another name", release=True)
        raise MadeByUser(f"metadata.name: {message}", reason=TAKEN, condition=condition, after=FOREIGN_SECONDS)

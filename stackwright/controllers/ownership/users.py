"""Objects that a user made under names that we would use: they are left alone, and the resource says so. Pure.

What a resource owns is deleted with it. An object that we did not create must therefore not get an owner: it would be
changed, and deleted with the resource. This also holds for an installation by hand, until the user hands it over.
"""

from collections.abc import Iterable
from functools import cache

from stackwright import services
from stackwright.adapters.helm.records import UNINSTALLED
from stackwright.api.annotations import GENERATED_FOR, RELEASE_OWNER
from stackwright.blueprint.policies import COMPONENT, INSTANCE, NAME
from stackwright.blueprint.service_fields import status_of
from stackwright.controllers import release
from stackwright.controllers.ownership.standing import TAKEN
from stackwright.kube.builtin import PersistentVolumeClaim, Secret
from stackwright.kube.errors import Retry
from stackwright.kube.resource import CustomResource, Resource
from stackwright.kube.shapes.belonging import FOREIGN_SECONDS, MADE_FOR, maker_of, spoken
from stackwright.kube.shapes.child import mark_by

# The field manager of all operators.
FIELD_MANAGER = "stackwright"


class MadeByUser(Retry):
    """An object that a user made is in the way; it has no owner, so nothing wakes us when it is deleted."""


def maker_named_on(present: Resource) -> str:
    """Return the resource that an object was made for, by its annotations; empty if they name none."""
    annotations = present.metadata.annotations
    return annotations.get(MADE_FOR) or annotations.get(GENERATED_FOR, "")


def release_labelled_on(present: Resource) -> str:
    """Return the release whose StatefulSet, of one of our charts, made a volume; "" if its labels do not say so.

    Nothing else says it. The label of the release alone proves nothing: tools that deploy write it on all that a user
    prepares.
    """
    labels = present.metadata.labels
    ours = bool(labels.get(COMPONENT)) and labels.get(NAME) in _names_of_pods()
    return instance_of_volume(present) if ours else ""


def instance_of_volume(present: Resource) -> str:
    """Return the release that a volume names, whoever wrote its labels; "" for any other object.

    Other objects say by their annotations whose they are.
    """
    return present.metadata.labels.get(INSTANCE, "") if isinstance(present, PersistentVolumeClaim) else ""


@cache
def _names_of_pods() -> frozenset[str]:
    """Return what our charts call the pods of services; without values, as `helm` by hand may be, that of the chart."""
    return frozenset(name for service in services.blueprints() for name in (service.name, service.chart_name))


def is_marked_for(present: Resource, resource: Resource) -> bool:
    """Return whether an object says that it was made for a resource."""
    return maker_named_on(present) == maker_of(resource) or release_labelled_on(present) == resource.metadata.name


def keeper_of(present: Resource, resource: Resource) -> str:
    """Return in words for whom an object is kept, if it says so and that is not the resource; "" otherwise.

    A StatefulSet of a user's own chart takes a volume without asking, so each label counts that names a release.
    """
    named = instance_of_volume(present)
    if maker_named_on(present) == maker_of(resource) or named == resource.metadata.name:
        return ""
    return spoken(maker_named_on(present)) or (f"release {named}" if named else "")


def is_unmarked(present: Resource) -> bool:
    """Return whether an object has no owner, and was never applied by an operator."""
    return present.metadata.controller is None and mark_by(FIELD_MANAGER) not in present.metadata.annotations


def is_a_users(present: Resource, resource: Resource) -> bool:
    """Return whether nothing on an object says that an operator or the chart made it for the resource."""
    return (
        is_unmarked(present)
        and maker_named_on(present) != maker_of(resource)
        and release.release_of(present) != resource.metadata.name
    )


def hands_over(resource: CustomResource, secrets: Iterable[Secret]) -> bool:
    """Return whether a user hands an installation by hand over, or is asked to because helm recorded a release.

    In earlier versions, `stackwright render` left no mark on the Secrets of such an installation. A record alone proves
    nothing, because whoever writes Secrets can write one. So it counts only where it stops the operator until the user
    has said whose the release is: not if the operator has recorded the release already, or if there is no release.
    """
    if resource.metadata.annotations.get(RELEASE_OWNER) == release.Owner.OPERATOR.value:
        return True
    if not _may_be_a_hands(resource):
        return False
    history = release.history_of(secrets, resource.metadata.name)
    newest = history[-1] if history else None
    return newest is not None and not newest.owner and not newest.ours and newest.status != UNINSTALLED


def _may_be_a_hands(resource: CustomResource) -> bool:
    service = services.blueprint_of(type(resource))
    return service is not None and service.has_chart and release.RECORDED not in status_of(resource).hash


def sentence(what: str, advice: str, *, release: bool) -> str:
    """Return what is wrong with an object of a user, and what to do; an object of a `release` can be handed over."""
    if not release:
        return f"{what} exists and was not created for this resource; {advice}, or delete it"
    return (
        f"{what} exists, was not created for this resource and is left alone; rename or delete it, or {advice}. If it "
        f"is part of a manual installation of the service, set the annotation {RELEASE_OWNER}: operator to hand it over"
    )


def refuse_users(
    resource: CustomResource, there: Iterable[Resource], secrets: Iterable[Secret], condition: str
) -> None:
    """Refuse objects of a release that are `there` already and that a user made.

    Objects of other Helm releases are checked where releases are handed over.
    """
    found = [present for present in there if is_a_users(present, resource) and not release.release_of(present)]
    if found and not hands_over(resource, secrets):
        whats = ", ".join(f"{present.kind.name} {present.metadata.name}" for present in found)
        message = sentence(whats, "give this resource another name", release=True)
        raise MadeByUser(f"metadata.name: {message}", reason=TAKEN, condition=condition, after=FOREIGN_SECONDS)

"""Checks a control plane when it is written; every check runs again when it is reconciled."""

from collections.abc import Iterator

from stackwright import services
from stackwright.api.controlplane import OpenStackControlPlane
from stackwright.api.sections_to_come import asked_for
from stackwright.controllers.controlplane.refusals import without_effect
from stackwright.controllers.controlplane.resolution import is_disabled, resolve
from stackwright.controllers.surroundings import Known
from stackwright.kube.admission.checks import FieldError, Objections
from stackwright.kube.resource import CustomResource


def check(old: CustomResource | None, new: CustomResource, known: Known) -> Objections:
    """Return what is wrong with a control plane beyond what is checked in every kind."""
    assert isinstance(new, OpenStackControlPlane)  # noqa: S101  it is registered for that kind alone
    to_come = (
        f"spec.{section.name} is kept, but this release does not deploy it: {section.title}"
        for section in asked_for(new.spec)
    )
    ignored = (f"{path} has no effect: {why}" for path, why in without_effect(new.spec, services.sections()))
    removed = _removed(old, new) if isinstance(old, OpenStackControlPlane) else ()
    return Objections(warnings=(*to_come, *ignored, *removed)) + (_alone(new, known) if old is None else Objections())


def _removed(old: OpenStackControlPlane, new: OpenStackControlPlane) -> Iterator[str]:
    """Yield what servers are left with, for each section that was deployed and is removed by a change.

    Only Nova knows whether there are servers; it is not asked while somebody waits for an answer.
    """
    before, after = (_deployed(each) for each in (old, new))
    for section in services.sections():
        # Infrastructure that nothing needs any more stays: it holds data.
        goes = is_disabled(section, new.spec) or not section.infrastructure
        if section.without and goes and section.name in before - after:
            yield (
                f"spec.{section.name} is removed, its data is kept. {section.without}, until you set "
                f"spec.{section.name}.enabled to true again"
            )


def _deployed(umbrella: OpenStackControlPlane) -> set[str]:
    return {instance.section.name for instance in resolve(umbrella.spec, services.sections(), frozenset())}


def _alone(new: OpenStackControlPlane, known: Known) -> Objections:
    namespace = new.metadata.namespace
    present = (other.metadata.name for other in known(services.control_plane(), namespace))
    names = sorted(name for name in present if name != new.metadata.name)
    if not names:
        return Objections()
    message = (
        f"namespace {namespace} has OpenStackControlPlane {names[0]} already, and a namespace has at most one: "
        "change that one, or use another namespace"
    )
    return Objections(errors=(FieldError("metadata.namespace", message, reason="FieldValueForbidden"),))

"""The early answer to who writes a control plane; all that it checks is checked again where it is reconciled."""

from collections.abc import Callable, Iterable

from stackwright import services
from stackwright.api.controlplane import OpenStackControlPlane
from stackwright.blueprint import admission as snippets
from stackwright.controllers.controlplane.refusals import refusals
from stackwright.kube.admission.checks import FieldError, Findings, Webhook

# Returns the names of the control planes that a namespace has.
Others = Callable[[str], Iterable[str]]


def webhook(others: Others) -> Webhook[OpenStackControlPlane]:
    """Return what admission does for the umbrella; `others` is asked when one is made.

    The snippets in its templates are read here as they are in the services' own resources.
    """

    def validate(old: OpenStackControlPlane | None, new: OpenStackControlPlane) -> Findings:
        errors = tuple(
            FieldError(refusal.field, refusal.message, reason="FieldValueForbidden")
            for refusal in refusals(new.spec, services.sections())
        )
        alone = _alone(new, others) if old is None else Findings()
        return Findings(errors=errors) + alone + snippets.check(old, new)

    return Webhook(services.control_plane(), validate=validate)


def _alone(new: OpenStackControlPlane, others: Others) -> Findings:
    namespace = new.metadata.namespace
    names = sorted(name for name in others(namespace) if name != new.metadata.name)
    if not names:
        return Findings()
    message = (
        f"namespace {namespace} has OpenStackControlPlane {names[0]} already, and a namespace has one at most: "
        "change that one, or use another namespace"
    )
    return Findings(errors=(FieldError("metadata.namespace", message, reason="FieldValueForbidden"),))

"""The checks of admission for resources of every kind: one list, each check a pure function.

Every check runs again when a resource is reconciled, because the webhook may have been down when it was written.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import structlog

from stackwright.api.dataplane import OpenStackDataPlaneRole
from stackwright.api.mariadb import MariaDBAccount
from stackwright.api.network import NetConfig
from stackwright.api.topology import Topology
from stackwright.blueprint import admission as snippets
from stackwright.blueprint import deprecations, mounts, refusal, tls, topology_namespaces
from stackwright.blueprint.images import ComponentImage
from stackwright.controllers import addresses, doors, option_values, ownership, reserved_database_names, topologies
from stackwright.controllers.dataplane import admission as dataplane_admission
from stackwright.controllers.surroundings import Known, nothing_known
from stackwright.kube.admission.checks import FieldError, Objections, Webhook
from stackwright.kube.resource import CustomResource, JsonObject

__all__ = ["CHECKS", "Check", "Known", "ratchet", "webhooks"]

_log = structlog.get_logger()

# Gets the old resource (None on a create), the new one, and a way to read the others.
Check = Callable[[CustomResource | None, CustomResource, Known], Objections]


def _snippets(old: CustomResource | None, new: CustomResource, _: Known) -> Objections:
    return snippets.check(old, new)


def _database_names(_: CustomResource | None, new: CustomResource, known: Known) -> Objections:
    accounts = {account.metadata.name: account for account in known(MariaDBAccount, new.metadata.namespace)}
    return Objections(tuple(FieldError(*problem) for problem in reserved_database_names.problems(new, accounts.get)))


def _mounts(_: CustomResource | None, new: CustomResource, __: Known) -> Objections:
    return Objections(errors=tuple(FieldError(path, sentence) for path, sentence in mounts.problems(new)))


def _tls(_: CustomResource | None, new: CustomResource, __: Known) -> Objections:
    found = tls.problems(getattr(new, "spec", None))
    return Objections(errors=tuple(FieldError(path, sentence, "FieldValueForbidden") for path, sentence in found))


def _topologies(_: CustomResource | None, new: CustomResource, __: Known) -> Objections:
    return refusal.as_errors(topology_namespaces.problems(new))


def _deprecations(old: CustomResource | None, new: CustomResource, _: Known) -> Objections:
    found = refusal.as_errors(deprecations.problems(old, new))
    return found + Objections(warnings=tuple(deprecations.warnings(new)))


# The checks for every kind, in the order in which their results are shown.
CHECKS: tuple[Check, ...] = (
    _snippets,
    _database_names,
    _mounts,
    _tls,
    _topologies,
    _deprecations,
    doors.check,
    ownership.check,
)
# Why a resource that somebody deletes has to stay, by kind; "" where it may go.
HOLDS: Mapping[type[CustomResource], Callable[[CustomResource, Known], str]] = {
    Topology: topologies.hold,
    NetConfig: addresses.hold,
    OpenStackDataPlaneRole: dataplane_admission.hold_role,
}


def webhooks(
    kinds: Iterable[type[CustomResource]],
    known: Known,
    further: Mapping[type[CustomResource], tuple[Check, ...]] | None = None,
    images: Mapping[str, ComponentImage] | None = None,
    fill_in: Mapping[type[CustomResource], Callable[[JsonObject], JsonObject]] | None = None,
) -> tuple[Webhook[Any], ...]:
    """Return one webhook for each kind; `further` has the checks for only some kinds.

    `images` are the images that the services run; we know every option of those that we build. `fill_in` has, for some
    kinds, what a resource becomes before it is checked.
    """

    def values(_: CustomResource | None, new: CustomResource, __: Known) -> Objections:
        return option_values.check(new, images or {})

    special = further or {}
    every = (*CHECKS, values)
    filling = fill_in or {}
    return tuple(_webhook(kind, (*every, *special.get(kind, ())), known, filling.get(kind)) for kind in kinds)


def _webhook(
    kind: type[CustomResource],
    checks: tuple[Check, ...],
    known: Known,
    mutate: Callable[[JsonObject], JsonObject] | None = None,
) -> Webhook[Any]:
    def find(old: CustomResource | None, new: CustomResource) -> Objections:
        return sum((_ask(check, old, new, known) for check in checks), Objections())

    def validate(old: CustomResource | None, new: CustomResource) -> Objections:
        found = find(old, new)
        if old is None or not found.errors:
            return refusal.tell(found)
        return refusal.tell(ratchet(find(old, old), found))

    def hold(present: CustomResource) -> str:
        return HOLDS[kind](present, known)

    return Webhook(kind, mutate=mutate, validate=validate, hold=hold if kind in HOLDS else None)


def _ask(check: Check, old: CustomResource | None, new: CustomResource, known: Known) -> Objections:
    """Return what a check objects to. One that fails is a bug of ours, and the other checks count as they would.

    The object is refused only where it is to blame by itself: its reconciles would fail in the same way. What another
    resource has brought about keeps nobody from creating resources.
    """
    try:
        return check(old, new, known)
    except Exception:  # noqa: BLE001  a bug of one check must not let an object pass all of them
        _log.exception("a check of admission failed", kind=new.kind.name, key=str(new.key))
    try:
        found = check(old, new, nothing_known)
    except Exception:  # noqa: BLE001  the log has it already
        message = "cannot be checked, because a check of the operator fails; its log has the reason"
        return Objections((FieldError("", message, "FieldValueInvalid"),))
    return found + Objections(
        warnings=(
            f"{new.kind.name} {new.metadata.name} was not compared with other resources, "
            "because a check of the operator fails; its log has the reason",
        )
    )


def ratchet(before: Objections, after: Objections) -> Objections:
    """Return the objections to a change: an error that the stored resource already had becomes a warning.

    Otherwise a resource that newer checks find invalid could not be repaired one field at a time.
    """
    had: dict[str, list[FieldError]] = {}
    for error in before.errors:
        had.setdefault(error.field, []).append(error)
    fresh = tuple(error for error in after.errors if error not in had.get(error.field, ()))
    stale = tuple(f"{each.field}: {each.cause.message}" for each in after.errors if each in had.get(each.field, ()))
    return Objections(fresh, (*after.warnings, *stale))

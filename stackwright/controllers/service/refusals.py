"""The first step: reasons to refuse a resource before anything is done for it. Pure."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from stackwright.api.base import CustomResource
from stackwright.api.mariadb import MariaDBAccount
from stackwright.blueprint import options, refusals, text_lengths, without_effect
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs import Snippets
from stackwright.blueprint.service import Service
from stackwright.blueprint.service_fields import spec_of
from stackwright.controllers import ownership, reserved_database_names
from stackwright.controllers.service import snippets
from stackwright.controllers.service.environment import Environment
from stackwright.controllers.surroundings import Known
from stackwright.kube.conditions import Finding, declared
from stackwright.kube.errors import Blocked

C = TypeVar("C", bound=CustomResource)
F = TypeVar("F", bound=Facts)


def refuse_problems(service: Service[C, F], resource: C, look: Look, environment: Environment) -> None:
    """Refuse a resource that could not work; each field is named, with what to do about it."""
    found = (
        *reserved_database_names.problems(resource, lambda account: look(MariaDBAccount, account)),
        *refusals.problems(service, resource, look, environment.images.get(service.image_name)),
        *_in_secrets(service, resource, look, environment),
    )
    if found:
        raise Blocked(refusals.describe(found), reason="InvalidInput", condition=declared(resource, "InputReady"))


def _in_secrets(service: Service[C, F], resource: C, look: Look, environment: Environment) -> Iterable[tuple[str, str]]:
    """Yield what is wrong with options that the user keeps in Secrets, if the service's options are known."""
    known, spec = options.of(service), spec_of(resource)
    if known is not None and options.certain(spec, environment.images.get(service.image_name)):
        for need in service.needs_of(resource):
            if isinstance(need, Snippets):
                yield from snippets.problems(need.secrets(resource), known, look)


def refuse_overfull(resource: CustomResource, secrets: Mapping[str, Mapping[str, str]]) -> None:
    """Refuse configuration that no Secret can hold: pods that are to mount it would wait for ever.

    The texts of the spec are refused at the door; those in Secrets of the user are only known here.
    """
    found = filter(None, (text_lengths.describe_overfull(name, content) for name, content in secrets.items()))
    if message := "; ".join(found):
        raise Blocked(message, reason="InvalidInput", condition=declared(resource, "InputReady"))


def refuse_taken(resource: CustomResource, look: Look, known: Known) -> None:
    """Refuse to touch what is another resource's; both are looked at, so that we are woken when one of them goes."""
    found = ownership.taken(resource, known)
    for each in found:
        if each.rival is not None:
            look(type(each.rival), each.rival.metadata.name, namespace=each.rival.metadata.namespace)
        if each.claim.of is not None:
            look(each.claim.of, each.claim.name)
    if (error := ownership.blocked(found, declared(resource, "InputReady"))) is not None:
        raise error


def name_unread(service: Service[C, F], resource: C) -> tuple[Finding, ...]:
    """Return what names the fields that were set and that nothing here reads yet."""
    ignored = [path for path, _ in without_effect.of_service(service, resource)]
    condition = declared(resource, "InputReady") or declared(resource, "ServiceConfigReady")
    if not ignored or not condition:
        return ()
    names = ", ".join(ignored)
    return (
        Finding(
            condition, "True", "Ready", f"All inputs are there; these fields have no effect in this release: {names}"
        ),
    )

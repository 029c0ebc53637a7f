"""Secrets and keys that a resource has worked with before and that somebody deleted or changed. Pure.

A status notes which Secrets there were. What the service takes on as it runs is made anew, and that is told; what
something else was written with, or set up with, cannot be: only a backup helps, or a word that the loss is accepted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from stackwright.api import paths
from stackwright.api.annotations import ACCEPT_LOSS, GENERATED_AGAIN
from stackwright.api.base import CustomResource
from stackwright.blueprint import configuration
from stackwright.blueprint.digests import digest
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs.need import WantedPassword
from stackwright.blueprint.passwords import NewSecret
from stackwright.blueprint.secret_values import texts_of
from stackwright.blueprint.service import Service
from stackwright.blueprint.service_fields import status_of
from stackwright.controllers.service import rings
from stackwright.kube.builtin import Secret
from stackwright.kube.conditions import READY, Finding
from stackwright.kube.errors import Blocked

C = TypeVar("C", bound=CustomResource)
F = TypeVar("F", bound=Facts)


def name_secrets(service: Service[C, F], resource: C, facts: F, look: Look) -> dict[str, str]:
    """Return a short name for each Secret of the resource's own that is there: of which one it is, not what it has.

    And one for each key that the service encrypts with.
    """
    found = ((name, look(Secret, name)) for name in _renewable(service, resource))
    own = {name: digest({"uid": secret.metadata.uid}) for name, secret in found if secret is not None}
    before, lost = status_of(resource).hash, accepted(resource)
    for wanted, name in _keys(service, resource, facts):
        # A former key stays known: what it has encrypted, nobody encrypts anew by itself.
        former = {f"{wanted.note}.{key}": "" if key in lost else key for key in _noted(before, wanted.note) - {name}}
        own |= former | {wanted.note: name}
    return own


def refuse_other_keys(service: Service[C, F], resource: C, facts: F, condition: str) -> None:
    """Raise Blocked where a key is another one than that with which the service has encrypted what it stored."""
    before, lost = status_of(resource).hash, accepted(resource)
    found = _keys(service, resource, facts)
    # A key that is kept beside the first one still opens what it has closed.
    beside = {digest({"key": password}) for password in facts.passwords.values()}
    missing = [(wanted, sorted(_noted(before, wanted.note) - {name, *lost, *beside})) for wanted, name in found]
    changed = [(wanted, words) for wanted, words in missing if words]
    if changed:
        keys = ", ".join(wanted.key for wanted, _ in changed)
        words = ",".join(word for _, words in changed for word in words)
        where = changed[0][0].secret or paths.find(resource, "spec.secret")
        stored, config = f"{resource.kind.name} {resource.metadata.name}", configuration.secret_name(resource)
        is_first = any(before.get(wanted.note) in words for wanted, words in changed)
        message = (
            f"Secret {where} has "
            + (f"another {keys} than the one" if is_first else f"beside {keys} no longer every key")
            + f" with which {stored} has encrypted what it stored; put the old one back, which Secret {config}, or one "
            f"whose name begins with {config}-, still has, or set the annotation {ACCEPT_LOSS}: {words} on {stored} to "
            "go on without it: what was stored with it is lost then"
        )
        raise Blocked(message, reason="SecretLost", condition=condition)


def _noted(before: Mapping[str, str], note: str) -> set[str]:
    """Return the short names of all keys that a service has encrypted with, as its status tells of them."""
    return {name for key, name in before.items() if name and (key == note or key.startswith(f"{note}."))}


def _keys(service: Service[C, F], resource: C, facts: F) -> Iterable[tuple[WantedPassword, str]]:
    """Return the keys that a service encrypts with, each with a short name for which one it is."""
    return (
        (wanted, digest({"key": facts.passwords[need.key]}))
        for need in service.needs_of(resource)
        for wanted in need.passwords(resource)
        if wanted.note
    )


def accepted(resource: CustomResource) -> set[str]:
    """Return the words by which a user has accepted losses of a resource."""
    return {word.strip() for word in resource.metadata.annotations.get(ACCEPT_LOSS, "").split(",")}


def accounted(service: Service[C, F], resource: C, new: Iterable[NewSecret], condition: str) -> tuple[NewSecret, ...]:
    """Return the Secrets to create, each with what is lost; raise Blocked if a lost one cannot be made again."""
    renewable = _renewable(service, resource)
    before = status_of(resource).hash
    entries = tuple(new)
    gone = [entry.name for entry in entries if entry.name in before]
    stuck = [name for name in gone if not renewable.get(name, True) and before[name] not in accepted(resource)]
    if stuck:
        raise Blocked(_stuck(stuck, resource), reason="SecretLost", condition=condition)
    return tuple(replace(entry, loss=_loss(entry.name) if entry.name in gone else "") for entry in entries)


def renewed(service: Service[C, F], resource: C, look: Look) -> dict[str, dict[str, str]]:
    """Return the content of the resource's own Secrets that took the place of lost ones, by their names."""
    names = [entry.name(resource) for entry in service.secrets if entry.wanted(resource)]
    found = ((name, look(Secret, name)) for name in names)
    return {
        name: texts_of(secret)
        for name, secret in found
        if secret is not None and secret.metadata.annotations.get(GENERATED_AGAIN) == "true"
    }


def findings(new: Iterable[NewSecret], condition: str) -> tuple[Finding, ...]:
    """Return a finding that names the Secrets that are made again; the condition still holds."""
    told = " ".join(entry.loss for entry in new if entry.loss)
    return (Finding(condition, "True", READY, told),) if told else ()


def _renewable(service: Service[C, F], resource: C) -> dict[str, bool]:
    """Return the names of the resource's own Secrets, and whether each can be made again."""
    ring = {rings.secret_name(ring, resource): not ring.migrate for ring in service.key_rings}
    return ring | {entry.name(resource): entry.renewable for entry in service.secrets if entry.wanted(resource)}


def _loss(name: str) -> str:
    return f"Secret {name} was deleted and is created again: what was issued with the old one is no longer valid."


def _stuck(names: list[str], resource: CustomResource) -> str:
    said = ", ".join(names)
    words = ",".join(status_of(resource).hash[name] for name in names)
    return (
        f"Secret {said} was deleted, and what was encrypted or set up with it needs it; restore it from a backup, "
        f"or set the annotation {ACCEPT_LOSS}: {words} on {resource.kind.name} {resource.metadata.name} to have a "
        "new one created"
    )

"""Secrets that a resource has worked with before and that somebody deleted. Pure.

A status notes which Secrets there were. What the service takes on as it runs is made anew, and that is told; what
something else was written with, or set up with, cannot be: only a backup helps, or a word that the loss is accepted.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

from stackwright.api.annotations import ACCEPT_LOSS
from stackwright.api.base import CustomResource
from stackwright.blueprint.digests import digest
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.look import Look
from stackwright.blueprint.passwords import NewSecret
from stackwright.blueprint.service import Service
from stackwright.controllers.service import rings
from stackwright.kube.builtin import Secret
from stackwright.kube.conditions import READY, Finding
from stackwright.kube.errors import Blocked

C = TypeVar("C", bound=CustomResource)
F = TypeVar("F", bound=Facts)


def noted(service: Service[C, F], resource: C, look: Look) -> dict[str, str]:
    """Return a short name for each Secret of the resource's own that is there: of which one it is, not what it has."""
    found = ((name, look(Secret, name)) for name in _renewable(service, resource))
    return {name: digest({"uid": secret.metadata.uid}) for name, secret in found if secret is not None}


def accounted(service: Service[C, F], resource: Any, new: Iterable[NewSecret], condition: str) -> tuple[NewSecret, ...]:
    """Return the Secrets to make, each with what is lost by it; raise Blocked where a lost one cannot be made anew."""
    renewable = _renewable(service, resource)
    before = resource.status.hash
    accepted = {word.strip() for word in resource.metadata.annotations.get(ACCEPT_LOSS, "").split(",")}
    entries = tuple(new)
    gone = [entry.name for entry in entries if entry.name in before]
    stuck = [name for name in gone if not renewable.get(name, True) and before[name] not in accepted]
    if stuck:
        raise Blocked(_stuck(stuck, resource), reason="SecretLost", condition=condition)
    return tuple(replace(entry, loss=_loss(entry.name) if entry.name in gone else "") for entry in entries)


def findings(new: Iterable[NewSecret], condition: str) -> tuple[Finding, ...]:
    """Return what names the Secrets that are made anew; a condition that holds goes on saying so."""
    told = " ".join(entry.loss for entry in new if entry.loss)
    return (Finding(condition, "True", READY, told),) if told else ()


def _renewable(service: Service[C, F], resource: C) -> dict[str, bool]:
    """Return the names of the Secrets of the resource's own, and whether each can be made anew."""
    ring = {rings.secret_name(ring, resource): not ring.migrate for ring in service.key_rings}
    return ring | {entry.name(resource): entry.renewable for entry in service.secrets if entry.wanted(resource)}


def _loss(name: str) -> str:
    return f"Secret {name} was deleted and is created again: what was issued with the old one is no longer valid."


def _stuck(names: list[str], resource: Any) -> str:
    said = ", ".join(names)
    words = ",".join(resource.status.hash[name] for name in names)
    return (
        f"Secret {said} was deleted, and what was encrypted or set up with it needs it; restore it from a backup, "
        f"or set the annotation {ACCEPT_LOSS}: {words} on {resource.kind.name} {resource.metadata.name} to have a "
        "new one created"
    )

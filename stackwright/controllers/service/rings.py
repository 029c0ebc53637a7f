"""When a service's key rings are made and turned. Pure: it reads caches alone."""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from stackwright.api.base import CustomResource
from stackwright.blueprint import key_rings, values
from stackwright.blueprint.actions import Course
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.service import KeyRing, Look, Service
from stackwright.controllers.service.needs import NewSecret
from stackwright.kube.builtin import Job, Secret
from stackwright.kube.plan import Wait
from stackwright.kube.shapes.states import state_of

# On the Secret of a ring: when it was turned last, and the id of the action that asked for it.
TURNED_AT = "openstack.org/turned-at"
TURNED_FOR = "openstack.org/turned-for"

C = TypeVar("C", bound=CustomResource)
F = TypeVar("F", bound=Facts)


@dataclass(frozen=True)
class Turn:
    """Turn a ring by one; `asked_by` is the id of the action, or "" where it was the clock."""

    secret: Secret
    path: str
    size: int
    asked_by: str = ""


def secret_name(ring: KeyRing[C], resource: CustomResource) -> str:
    """Return the name of the Secret that is the ring of a resource."""
    return f"{resource.metadata.name}-{ring.name}"


def keys_of(ring: KeyRing[C], resource: CustomResource, look: Look) -> Mapping[str, str]:
    """Return the keys of a ring; none where it is not there yet."""
    secret = look(Secret, secret_name(ring, resource))
    return decoded(secret) if secret is not None else {}


def decoded(secret: Secret) -> dict[str, str]:
    """Return the keys in a ring's Secret."""
    return {name: base64.b64decode(value).decode() for name, value in secret.data.items()}


def missing(service: Service[C, F], resource: C, look: Look) -> Iterable[NewSecret]:
    """Return the rings that are to be made; one that outlived an earlier resource of the name is taken as it is."""
    for ring in service.key_rings:
        if look(Secret, secret_name(ring, resource)) is None:
            yield NewSecret(secret_name(ring, resource), lambda source: key_rings.made(source.random))


def due(
    service: Service[C, F], resource: C, facts: F, look: Look, course: Course, now: datetime
) -> tuple[tuple[Turn, ...], float | None, tuple[Wait, ...]]:
    """Return the rings to turn now, in how many seconds the next is due, and what a turn waits for."""
    asked = dict(course.turns)
    turns: list[Turn] = []
    waits: list[Wait] = []
    wakes: list[float] = []
    for ring in service.key_rings:
        secret = look(Secret, secret_name(ring, resource))
        if secret is None:
            continue
        remaining = _remaining(ring, resource, secret, now)
        if remaining is not None and remaining > 0:
            wakes.append(remaining)
        if ring.name not in asked and (remaining is None or remaining > 0):
            continue
        if ring.migrate and not _migrated(service, ring, resource, facts, look):
            message = f"{secret.metadata.name} turns when {ring.migrate} has written everything with the present keys"
            waits.append(Wait("Migrating", message))
            continue
        turns.append(Turn(secret, ring.path, ring.size(resource), asked.get(ring.name, "")))
    return tuple(turns), min(wakes, default=None), tuple(waits)


def _remaining(ring: KeyRing[C], resource: C, secret: Secret, now: datetime) -> float | None:
    if ring.days is None:
        return None
    turned_at = secret.metadata.annotations.get(TURNED_AT) or secret.metadata.creationTimestamp
    return key_rings.due_in(turned_at, ring.days(resource), now)


def _migrated(service: Service[C, F], ring: KeyRing[C], resource: C, facts: F, look: Look) -> bool:
    """Return whether what was written with older keys was written anew with the present ones."""
    if ring.name not in facts.rings:
        return True
    job = next(job for job in service.jobs if job.name == ring.migrate)
    wanted = values.job_values(job, resource, facts)
    present = look(Job, f"{facts.name}-{job.name}-{wanted['hash']}") if wanted is not None else None
    return present is not None and state_of(present).status == "True"

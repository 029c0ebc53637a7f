"""When a service's key rings are made and turned. Pure: it reads caches alone."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from stackwright.api.annotations import GENERATED_FOR
from stackwright.api.base import CustomResource
from stackwright.blueprint import key_rings
from stackwright.blueprint.actions import Course
from stackwright.blueprint.digests import digest
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.look import Look
from stackwright.blueprint.passwords import NewSecret
from stackwright.blueprint.secret_values import text_of
from stackwright.blueprint.service import KeyRing, Service
from stackwright.kube.builtin import Secret
from stackwright.kube.conditions import is_true
from stackwright.kube.shapes.belonging import maker_of

# On the Secret of a ring: when it was turned last, the id of the last action that asked for it, which keys were seen
# with every pod, until when each key was the primary one, and for how many seconds more it is needed.
TURNED_AT = "openstack.org/turned-at"
TURNED_FOR = "openstack.org/turned-for"
SPREAD = "openstack.org/spread-keys"
PRIMARY_UNTIL = "openstack.org/primary-until"
NEEDED_FOR = "openstack.org/needed-for"

# Seconds in which a pod may still write with the key that was the primary one: a mounted Secret comes late.
LAG = 600.0

C = TypeVar("C", bound=CustomResource)
F = TypeVar("F", bound=Facts)


@dataclass(frozen=True)
class Turn:
    """Turn a ring by one; `asked_by` is the id of the action, or "" where it was the clock."""

    secret: Secret
    path: str
    size: int
    asked_by: str = ""
    # The keys that stay, also where the ring is longer for it.
    needed: frozenset[str] = frozenset()
    # What is noted of the keys, the new primary one included: for how long they are needed.
    lives: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Drop:
    """Take keys out of a ring that is longer than it should be: nothing that they could read is good any more."""

    secret: Secret
    keys: frozenset[str]


@dataclass(frozen=True)
class NoteLives:
    """Note for how long keys are needed once they are not the primary one any more."""

    secret: Secret
    lives: Mapping[str, int]


@dataclass(frozen=True)
class Spread:
    """Note that every pod holds the present keys of a ring: what is written from now on is written with them."""

    secret: Secret
    path: str


# What can be done about a ring.
Step = Turn | Drop | Spread | NoteLives


@dataclass(frozen=True)
class Due:
    """What to do about rings now, in how many seconds the next is due, and why actions wait, by their ids."""

    steps: tuple[Step, ...] = ()
    wake: float | None = None
    waiting: Mapping[str, str] = field(default_factory=dict)


def secret_name(ring: KeyRing[C], resource: CustomResource) -> str:
    """Return the name of the Secret that is the ring of a resource."""
    return f"{resource.metadata.name}-{ring.name}"


def keys_of(ring: KeyRing[C], resource: CustomResource, look: Look) -> Mapping[str, str]:
    """Return the keys of a ring; none where it is not there yet."""
    secret = look(Secret, secret_name(ring, resource))
    return keys_in(secret) if secret is not None else {}


def keys_in(secret: Secret) -> dict[str, str]:
    """Return the keys in a ring's Secret; none if one of its values is not text, and so not a key."""
    found = {name: text_of(secret, name) for name in secret.data}
    texts = {name: text for name, text in found.items() if text is not None}
    return texts if len(texts) == len(found) else {}


def named(service: Service[C, F], resource: C, look: Look) -> dict[str, str]:
    """Return a short name for the keys of each ring that was turned.

    One that something is migrated to has none before every pod holds it: until then a pod writes with the key before.
    """
    found = {ring: look(Secret, secret_name(ring, resource)) for ring in service.key_rings}
    return {
        ring.name: name_of(secret)
        for ring, secret in found.items()
        if secret is not None
        and key_rings.was_turned(keys_in(secret))
        and (not ring.migrate or secret.metadata.annotations.get(SPREAD) == name_of(secret))
    }


def name_of(secret: Secret) -> str:
    """Return a short name for the keys of a ring."""
    return digest(dict(keys_in(secret)))


def missing(service: Service[C, F], resource: C, look: Look) -> Iterable[NewSecret]:
    """Return the rings to create; a ring that outlived an earlier resource of the same name is used as it is."""
    for ring in service.key_rings:
        if look(Secret, secret_name(ring, resource)) is None:
            notes = {} if ring.life is None else {NEEDED_FOR: written({"1": ring.life(resource)})}
            yield NewSecret(secret_name(ring, resource), lambda source: key_rings.made(source.random), notes=notes)


def due(service: Service[C, F], resource: C, facts: F, look: Look, course: Course, now: datetime) -> Due:
    """Return what to do about the rings."""
    asked = dict(course.turns)
    steps: list[Step] = []
    waiting: dict[str, str] = {}
    wakes: list[float] = []
    for ring in service.key_rings:
        secret = look(Secret, secret_name(ring, resource))
        if secret is None:
            continue
        if ring.migrate and ring.name not in facts.rings and key_rings.was_turned(keys_in(secret)):
            steps.append(Spread(secret, ring.path))
        remaining = _remaining(ring, resource, secret, now)
        left = _left(ring, resource, secret, now)
        if remaining:
            wakes.append(remaining)
        if ring.name not in asked and (remaining is None or remaining > 0):
            names = key_rings.surplus(keys_in(secret), ring.size(resource)) if left else ()
            surplus = {name: left[name] for name in names}
            wakes.extend(seconds for seconds in surplus.values() if seconds)
            if over := frozenset(name for name, seconds in surplus.items() if not seconds):
                steps.append(Drop(secret, over))
            elif (lives := _lives(ring, resource, secret)) != noted_lives(secret):
                steps.append(NoteLives(secret, lives))
            continue
        if ring.migrate and not _migrated(ring, resource, facts, look):
            message = (
                f"{secret.metadata.name} is rotated once {ring.migrate} has encrypted everything with the current keys"
            )
            waiting[asked.get(ring.name, "")] = message
            continue
        needed = frozenset(name for name, seconds in left.items() if seconds)
        lives = _lives(ring, resource, secret, turned=True)
        steps.append(Turn(secret, ring.path, ring.size(resource), asked.get(ring.name, ""), needed, lives))
    return Due(tuple(steps), min(wakes, default=None), waiting)


def overdue(service: Service[C, F], resource: C, look: Look, now: datetime) -> tuple[tuple[Turn, ...], float | None]:
    """Return the turns that the clock asks for, where the spec is refused, and in how many seconds the next is due.

    How long a ring should be and how long its keys are needed, a refused spec does not say: all of them stay. A ring
    that something is migrated to turns on request alone.
    """
    steps: list[Turn] = []
    wakes: list[float] = []
    for ring in service.key_rings:
        secret = look(Secret, secret_name(ring, resource))
        if ring.days is None or ring.migrate or secret is None:
            continue
        if secret.metadata.annotations.get(GENERATED_FOR) != maker_of(resource):
            continue
        keys = keys_in(secret)
        if remaining := _remaining(ring, resource, secret, now):
            wakes.append(remaining)
        elif remaining == 0:
            lives = noted_lives(secret)
            if key_rings.is_ring(keys) and (former := lives.get(key_rings.primary(keys))) is not None:
                lives[key_rings.next_primary(keys)] = former
            steps.append(Turn(secret, ring.path, len(keys) + 1, needed=frozenset(keys), lives=lives))
    return tuple(steps), min(wakes, default=None)


def _remaining(ring: KeyRing[C], resource: C, secret: Secret, now: datetime) -> float | None:
    return key_rings.due_in(_turned_at(secret), ring.days(resource), now) if ring.days is not None else None


def _left(ring: KeyRing[C], resource: C, secret: Secret, now: datetime) -> dict[str, float]:
    """Return for how many seconds each key is still needed that was or is the primary one."""
    keys = keys_in(secret)
    if ring.life is None or not key_rings.is_ring(keys):
        return {}
    # With a longer window, services accept older tokens as well.
    life = ring.life(resource)
    lives = {name: max(noted, life) + LAG for name, noted in _lives(ring, resource, secret).items()}
    passed = {name: key_rings.seconds_since(at, now) for name, at in until(secret, keys).items()}
    return {name: max(0.0, seconds - passed.get(name, 0.0)) for name, seconds in lives.items()}


def _lives(ring: KeyRing[C], resource: C, secret: Secret, *, turned: bool = False) -> dict[str, int]:
    """Return what has to be noted of keys: for how long each is needed once it is not the primary one any more.

    That is the longest life that anything written with it got. A shorter one of the spec counts for keys that become
    primary when all pods work with it. Of a key of which nothing is noted, the longest life is assumed that is known.
    """
    keys = keys_in(secret)
    if ring.life is None or not key_rings.is_ring(keys):
        return {}
    noted, life = noted_lives(secret), ring.life(resource)
    longest = max((life, *noted.values()))
    lives = {name: noted.get(name, longest) for name in keys if name != str(key_rings.STAGED)}
    primary = key_rings.primary(keys)
    lives[primary] = max(lives[primary], life)
    if turned:
        lives[key_rings.next_primary(keys)] = life if _works_with_its_spec(resource) else lives[primary]
    return lives


def _works_with_its_spec(resource: CustomResource) -> bool:
    status = resource.status
    return status.observedGeneration == resource.metadata.generation and is_true(status.conditions)


def noted_lives(secret: Secret) -> dict[str, int]:
    """Return what is noted on a ring about how long its keys are needed."""
    return key_rings.read_lives(secret.metadata.annotations.get(NEEDED_FOR, ""))


def written(lives: Mapping[str, int]) -> str:
    """Return lives as they are noted."""
    return json.dumps(lives, sort_keys=True)


def until(secret: Secret, keys: Mapping[str, str]) -> dict[str, str]:
    """Return until when each key of a ring was the primary one; the present primary key is left out."""
    return key_rings.primary_until(keys, secret.metadata.annotations.get(PRIMARY_UNTIL, ""), _turned_at(secret))


def _turned_at(secret: Secret) -> str:
    said = secret.metadata.annotations.get(TURNED_AT, "")
    return said if key_rings.is_time(said) else secret.metadata.creationTimestamp


def _migrated(ring: KeyRing[C], resource: C, facts: F, look: Look) -> bool:
    """Return whether everything that was written with older keys was rewritten with the present ones."""
    if not key_rings.was_turned(keys_of(ring, resource, look)):
        return True
    if ring.name not in facts.rings:
        return False
    return ring.migrate in facts.done

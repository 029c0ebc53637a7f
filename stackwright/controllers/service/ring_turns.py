"""Turning key rings: only when every pod that reads a ring holds its present keys."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from stackwright.api.base import CustomResource, JsonObject
from stackwright.blueprint import key_rings
from stackwright.blueprint.secret_values import encode
from stackwright.blueprint.service import Service
from stackwright.controllers.service import labels, rings
from stackwright.controllers.service.environment import Environment
from stackwright.controllers.service.rings import Drop, NoteLives, Spread, Step, Turn
from stackwright.kube import clock, conditions
from stackwright.kube.builtin import Pod, Secret
from stackwright.kube.conditions import Finding
from stackwright.kube.controller import Context
from stackwright.kube.errors import Blocked, Conflict, Invalid, Retry

# A mounted Secret reaches its pods within about a minute.
HOLDING_SECONDS = 20.0
# After a lost race, look again once the cache has had time to follow.
CHANGED_SECONDS = 1.0


def holders_of(service: Service[Any, Any], resource: CustomResource, pods: Iterable[Pod], now: datetime) -> list[Pod]:
    """Return the pods that hold the keys of a resource: also those that end, for as long as they may. Pure."""
    components = {component.name for component in service.components_of(resource)}
    return [
        pod
        for pod in pods
        if pod.metadata.labels.get(labels.COMPONENT) in components
        and pod.status.get("phase") in ("Pending", "Running")
        and pod.spec.get("nodeName")
        and not _has_ended(pod, now)
    ]


def _has_ended(pod: Pod, now: datetime) -> bool:
    """Return whether a pod that is deleted serves nobody any more: a node that is lost does not report its end."""
    if not pod.deleting:
        return False
    running = any("running" in (status.get("state") or {}) for status in pod.status.get("containerStatuses") or ())
    return not running or key_rings.seconds_since(pod.metadata.deletionTimestamp, now) > 0


async def take(
    turns: Iterable[Step],
    holders: Iterable[Pod],
    context: Context,
    environment: Environment,
    now: datetime,
) -> tuple[list[float], list[Finding]]:
    """Turn the rings that are due; return when to try again those that have to wait, and what is wrong."""
    mine = tuple(holders)
    delays: list[float] = []
    stuck: list[Finding] = []
    for step in turns:
        try:
            await turn(step, mine, context, environment, now)
        except Retry as error:
            # The service is as ready as before: its keys are only a little older than they might be.
            context.logger.info("a key ring waits to be rotated", why=str(error))
            delays.append(error.after or HOLDING_SECONDS)
        except Blocked as error:
            stuck.append(conditions.finding_of(error))
    return delays, stuck


async def turn(step: Step, holders: Iterable[Pod], context: Context, environment: Environment, now: datetime) -> None:
    """Turn a ring, or note that it is spread, once all its readers hold the present keys; or shorten it."""
    keys = rings.keys_in(step.secret)
    if not key_rings.is_ring(keys):
        message = f"Secret {step.secret.metadata.name} is not a key ring: it needs the keys 0 and 1, and numbers only"
        raise Blocked(message, reason="KeyRingInvalid")
    if isinstance(step, Turn | Spread):
        await _held(step, keys, holders, context, environment)
    metadata = step.secret.metadata
    # Never turn twice for one look: the second try meets another version of the Secret.
    seen = {"op": "test", "path": "/metadata/resourceVersion", "value": metadata.resourceVersion}
    change: list[JsonObject] = [seen, *_changes(step, keys, environment, now)]
    try:
        await context.client.patch(Secret, metadata.name, metadata.namespace, change)
    except (Conflict, Invalid) as error:
        message = f"Secret {metadata.name} was changed by others just now"
        raise Retry(message, reason="Conflict", after=CHANGED_SECONDS) from error


async def _held(
    step: Turn | Spread, keys: Mapping[str, str], holders: Iterable[Pod], context: Context, environment: Environment
) -> None:
    """Raise Retry where a pod does not hold these keys yet."""
    for pod in holders:
        # One that only starts may have mounted an older ring.
        started = pod.status.get("phase") == "Running"
        if not started or not await environment.holds(context.client, pod, step.path, digests(keys)):
            message = f"Pod {pod.metadata.name} does not hold the staged key of {step.secret.metadata.name} yet"
            raise Retry(message, reason="KeyNotSpread", after=HOLDING_SECONDS)


def _changes(step: Step, keys: Mapping[str, str], environment: Environment, now: datetime) -> Iterable[JsonObject]:
    annotations = dict(step.secret.metadata.annotations)
    match step:
        case Spread():
            annotations[rings.SPREAD] = rings.name_of(step.secret)
        case NoteLives():
            annotations[rings.NEEDED_FOR] = rings.written(step.lives)
        case Turn():
            annotations[rings.TURNED_AT] = clock.seconds(now)
            # What the clock does is no reason to forget what was done for a user.
            if step.asked_by:
                annotations[rings.TURNED_FOR] = step.asked_by
            source = environment.source(f"{step.secret.metadata.name} after {key_rings.primary(keys)}")
            ring = key_rings.turned(keys, step.size, source.random, needed=step.needed)
            until = {**rings.until(step.secret, keys), key_rings.primary(keys): clock.seconds(now)}
            noted = {name: at for name, at in until.items() if name in ring}
            annotations[rings.PRIMARY_UNTIL] = json.dumps(noted, sort_keys=True)
            if lives := {name: life for name, life in step.lives.items() if name in ring}:
                annotations[rings.NEEDED_FOR] = rings.written(lives)
            yield {"op": "replace", "path": "/data", "value": encode(ring)}
        case Drop():
            ring = {name: key for name, key in keys.items() if name not in step.keys}
            annotations[rings.PRIMARY_UNTIL] = json.dumps(rings.until(step.secret, ring), sort_keys=True)
            lives = rings.noted_lives(step.secret)
            annotations[rings.NEEDED_FOR] = rings.written({name: lives[name] for name in lives if name in ring})
            yield {"op": "replace", "path": "/data", "value": encode(ring)}
    yield {"op": "add", "path": "/metadata/annotations", "value": annotations}


def digests(keys: Mapping[str, str]) -> dict[str, str]:
    """Return what tells the keys of a ring without telling them."""
    return {name: hashlib.sha256(key.encode()).hexdigest() for name, key in keys.items()}

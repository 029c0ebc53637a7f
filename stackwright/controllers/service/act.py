"""What a pass over a service does beside applying its children: secrets, key rings, logs, accounts that are over."""

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime

from stackwright.api.annotations import GENERATED_FOR
from stackwright.api.base import CustomResource, JsonObject
from stackwright.blueprint import key_rings
from stackwright.blueprint.needs.need import Retirement
from stackwright.blueprint.passwords import NewSecret
from stackwright.controllers.service import labels, rings
from stackwright.controllers.service.environment import Environment
from stackwright.controllers.service.rings import Drop, Spread, Turn
from stackwright.kube import clock, pods
from stackwright.kube.builtin import Job, Pod, Secret
from stackwright.kube.controller import Context
from stackwright.kube.errors import AlreadyExists, Blocked, Conflict, Invalid, KubeError, Retry
from stackwright.kube.resource import Resource
from stackwright.kube.shapes.belonging import maker_of

# How long a Job that has failed, after all its own tries, stays to be looked at.
AGAIN_SECONDS = 300.0
LOG_LINES = 20
# A node that does not answer holds no pass up.
LOG_SECONDS = 10.0
# A status is one object with room for many logs; a line has no end that we know of.
LOG_CHARACTERS = 4000
# A mounted Secret reaches its pods within about a minute.
HOLDING_SECONDS = 20.0
# Who lost a race looks again when the cache has had time to follow.
CHANGED_SECONDS = 1.0


async def make_secrets(
    new: Iterable[NewSecret], resource: CustomResource, context: Context, environment: Environment, now: datetime
) -> None:
    """Make Secrets that are to be made once. They have no owner: what they open outlives the resource."""
    for entry in new:
        body: JsonObject = {
            "metadata": {
                "name": entry.name,
                "namespace": resource.metadata.namespace,
                "annotations": {
                    GENERATED_FOR: maker_of(resource),
                    rings.TURNED_AT: clock.seconds(now),
                },
            },
            "data": _encoded(entry.content(environment.source(entry.name))),
        }
        try:
            await context.client.create(Secret, body)
        except AlreadyExists:
            # Somebody was faster, or the cache is behind: what is there stays.
            continue
        if entry.loss:
            context.events.event(resource, "Warning", "SecretLost", entry.loss)


async def turn(
    step: Turn | Spread | Drop, holders: Iterable[Pod], context: Context, environment: Environment, now: datetime
) -> None:
    """Turn a ring, or note that it is spread, once everybody who reads it holds the present keys; or shorten it."""
    keys = rings.decoded(step.secret)
    if not key_rings.is_ring(keys):
        message = f"Secret {step.secret.metadata.name} is not a key ring: it needs the keys 0 and 1, and numbers only"
        raise Blocked(message, reason="KeyRingInvalid")
    if not isinstance(step, Drop):
        await _held(step, keys, holders, context, environment)
    metadata = step.secret.metadata
    # Never turn twice for one look: who comes second finds another version.
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


def _changes(
    step: Turn | Spread | Drop, keys: Mapping[str, str], environment: Environment, now: datetime
) -> Iterable[JsonObject]:
    annotations = dict(step.secret.metadata.annotations)
    match step:
        case Spread():
            annotations[rings.SPREAD] = rings.name_of(step.secret)
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
            yield {"op": "replace", "path": "/data", "value": _encoded(ring)}
        case Drop():
            ring = {name: key for name, key in keys.items() if name not in step.keys}
            annotations[rings.PRIMARY_UNTIL] = json.dumps(rings.until(step.secret, ring), sort_keys=True)
            yield {"op": "replace", "path": "/data", "value": _encoded(ring)}
    yield {"op": "add", "path": "/metadata/annotations", "value": annotations}


def digests(keys: Mapping[str, str]) -> dict[str, str]:
    """Return what tells the keys of a ring without telling them."""
    return {name: hashlib.sha256(key.encode()).hexdigest() for name, key in keys.items()}


async def log_of(job: Job, context: Context) -> str:
    """Return the last lines of what a Job's last pod said; "" where nothing is left of it."""
    mine = [pod for pod in context.store(Pod).list(job.metadata.namespace) if labels.belongs(pod, job)]
    if not mine:
        return ""
    last = max(mine, key=lambda pod: pod.metadata.creationTimestamp)
    text = bytearray()
    try:
        async for piece in pods.logs(
            context.client, last.metadata.name, last.metadata.namespace, tail=LOG_LINES, silence=LOG_SECONDS
        ):
            text += piece
    except KubeError:
        # The pod may just have gone; how the Job ended is known all the same.
        return ""
    return text.decode(errors="replace").strip()[-LOG_CHARACTERS:]


async def clear_failed(jobs: Iterable[Job], context: Context, now: datetime, *, changed: bool) -> list[float]:
    """Delete Jobs that have failed a while ago, or before what they read has `changed`: they are made anew.

    Return in how many seconds the others are due. What a Job is named by need not be what it failed of.
    """
    delays: list[float] = []
    for job in jobs:
        left = again_in(job, now)
        if left is None or job.deleting:
            continue
        if left > 0 and not changed:
            delays.append(left)
            continue
        metadata = job.metadata
        context.logger.info("a Job that failed is tried again", job=metadata.name)
        await context.client.delete(Job, metadata.name, metadata.namespace, uid=metadata.uid)
    return delays


def again_in(job: Job, now: datetime) -> float | None:
    """Return in how many seconds a Job that has failed is to be tried again; None where it has not."""
    failed: JsonObject = next(
        (entry for entry in job.status.get("conditions") or () if entry.get("type") == "Failed"), {}
    )
    if failed.get("status") != "True":
        return None
    since = datetime.fromisoformat(failed["lastTransitionTime"])
    return max(0.0, AGAIN_SECONDS - (now - since).total_seconds())


async def disown(resource: CustomResource, kinds: Iterable[type[Resource]], context: Context) -> None:
    """Let objects stay that would go with the resource: who works by hand needs them, also when it is deleted."""
    for kind in kinds:
        for item in context.store(kind).owned_by(resource.metadata.uid):
            position = next(
                number
                for number, owner in enumerate(item.metadata.ownerReferences)
                if owner.uid == resource.metadata.uid
            )
            path = f"/metadata/ownerReferences/{position}"
            change: list[JsonObject] = [
                {"op": "test", "path": f"{path}/uid", "value": resource.metadata.uid},
                {"op": "remove", "path": path},
            ]
            await context.client.patch(kind, item.metadata.name, item.metadata.namespace, change)


async def retire(entry: Retirement, resource: CustomResource, context: Context) -> None:
    """Let a credential go that is not used any more, with the Secret that was generated for it."""
    gone, metadata = type(entry.resource), entry.resource.metadata
    if entry.prepare is not None:
        await context.client.patch(gone, metadata.name, metadata.namespace, entry.prepare)
        return
    # The Secret first: who is killed in between still finds the credential, and by it what is left to do.
    if entry.secret is not None:
        secret = entry.secret.metadata
        await context.client.delete(Secret, secret.name, secret.namespace, uid=secret.uid)
    await context.client.delete(gone, metadata.name, metadata.namespace, uid=metadata.uid)
    said = f"{entry.resource.kind.name} {metadata.name} is no longer used"
    context.events.event(resource, "Normal", entry.reason, said)


def _encoded(content: Mapping[str, str]) -> dict[str, str]:
    return {name: base64.b64encode(value.encode()).decode() for name, value in content.items()}

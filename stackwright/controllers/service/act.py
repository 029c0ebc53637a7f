"""What a pass over a service does besides applying its children: Secrets, logs, ownership, retired accounts."""

import contextlib
from collections.abc import Iterable
from datetime import datetime

from stackwright import tasks
from stackwright.api.annotations import GENERATED_AGAIN, GENERATED_FOR
from stackwright.api.base import CustomResource, JsonObject
from stackwright.blueprint.needs.need import Noted, Retirement
from stackwright.blueprint.passwords import NewSecret
from stackwright.blueprint.secret_values import encode
from stackwright.controllers.service import labels, rings
from stackwright.controllers.service.environment import Environment
from stackwright.kube import clock, pods
from stackwright.kube.builtin import Job, Pod, Secret
from stackwright.kube.controller import Context
from stackwright.kube.errors import AlreadyExists, KubeError, NotFound
from stackwright.kube.resource import Resource, owner_reference
from stackwright.kube.shapes.belonging import maker_of
from stackwright.kube.shapes.child import Child

LOG_LINES = 20
# A node that does not answer holds no pass up.
LOG_SECONDS = 10.0
# A status is one object with room for many logs; a line has no end that we know of.
LOG_CHARACTERS = 4000


async def make_secrets(
    new: Iterable[NewSecret], resource: CustomResource, context: Context, environment: Environment, now: datetime
) -> None:
    """Create Secrets that are made once. Most have no owner: what they give access to outlives the resource."""
    made = [_make(entry, resource, context, environment, now) for entry in new]
    # One that fails stops none of the others.
    failed = [outcome for outcome in await tasks.outcomes(*made) if isinstance(outcome, BaseException)]
    if failed:
        raise failed[0]


async def _make(
    entry: NewSecret, resource: CustomResource, context: Context, environment: Environment, now: datetime
) -> None:
    body: JsonObject = {
        "metadata": {
            "name": entry.name,
            "namespace": resource.metadata.namespace,
            **({"ownerReferences": [owner_reference(resource)]} if entry.owned else {}),
            "annotations": {
                GENERATED_FOR: maker_of(resource),
                rings.TURNED_AT: clock.seconds(now),
                **entry.notes,
                **({GENERATED_AGAIN: "true"} if entry.loss else {}),
            },
        },
        "data": encode(entry.content(environment.source(entry.name))),
    }
    try:
        await context.client.create(Secret, body)
    except AlreadyExists:
        # Somebody was faster, or the cache is behind: what is there stays.
        return
    if entry.loss:
        context.events.event(resource, "Warning", "SecretLost", entry.loss)


async def log_of(job: Job, context: Context) -> str:
    """Return the last lines of the log of a Job's last pod; "" if there is none any more."""
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


async def disown(resource: CustomResource, kinds: Iterable[type[Resource]], context: Context) -> None:
    """Remove the owner of objects, so that they outlive the resource: whoever uses helm by hand needs them."""
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


async def forget_marks(confirmed: Iterable[Child], resource: CustomResource, context: Context) -> None:
    """Remove the annotations by which objects know what a service is configured with: nobody keeps them true now."""
    for item in confirmed:
        present = context.store(item.of).get(resource.key._replace(name=item.key.name))
        marks = item.body["metadata"].get("annotations", {})
        stale = {name: None for name in marks if present and name in present.metadata.annotations}
        if present is not None and stale and labels.belongs(present, resource):
            body = {"metadata": {"annotations": stale}}
            await context.client.patch(item.of, present.metadata.name, present.metadata.namespace, body)


async def note(entry: Noted, context: Context) -> None:
    """Write on an object what a service works with; on one that is gone there is nothing to write."""
    metadata, body = entry.resource.metadata, {"metadata": {"annotations": {entry.annotation: entry.value}}}
    with contextlib.suppress(NotFound):
        await context.client.patch(type(entry.resource), metadata.name, metadata.namespace, body)


async def retire(entry: Retirement, resource: CustomResource, context: Context) -> None:
    """Let a credential go that is not used any more, with the Secret that was generated for it."""
    gone, metadata = type(entry.resource), entry.resource.metadata
    if entry.prepare is not None:
        await context.client.patch(gone, metadata.name, metadata.namespace, entry.prepare)
        return
    # The Secret first: after a crash in between, the credential is still there and says what is left to do.
    if entry.secret is not None:
        secret = entry.secret.metadata
        await context.client.delete(Secret, secret.name, secret.namespace, uid=secret.uid)
    await context.client.delete(gone, metadata.name, metadata.namespace, uid=metadata.uid)
    said = f"{entry.resource.kind.name} {metadata.name} is no longer used"
    context.events.event(resource, "Normal", entry.reason, said)

"""Writes what was deployed into the release's history, so that helm shows it."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from stackwright.adapters.errors import Rejected
from stackwright.adapters.helm import records
from stackwright.controllers.release.history import (
    DESCRIPTION,
    DIGEST,
    Forget,
    Keep,
    Revision,
    Tell,
    Wanted,
    Write,
    decide,
    history_of,
)
from stackwright.kube import clock
from stackwright.kube.builtin import Secret
from stackwright.kube.controller import Context
from stackwright.kube.errors import AlreadyExists, Conflict, NotFound, Retry
from stackwright.kube.plan import Step, Wait
from stackwright.kube.resource import JsonObject, owner_reference


async def record(wanted: Wanted, context: Context, *, condition: str = "") -> Wait | None:
    """Make the history say what is deployed; return what has to be waited for, if anything.

    Call it after the objects were applied.
    """
    metadata = wanted.resource.metadata
    history = history_of(context.store(Secret).list(metadata.namespace), metadata.name)
    now = clock.now()
    plan = decide(history, wanted, now)
    for step in plan.steps:
        await _take(step, wanted, context, now)
    return next((replace(wait, condition=condition) for wait in plan.waits), None)


async def _take(step: Step, wanted: Wanted, context: Context, now: datetime) -> None:
    """Carry out one step. Where the cache is behind, the next pass decides again."""
    match step:
        case Tell(message=note):
            context.events.event(wanted.resource, "Warning", step.reason, note)
        case Write():
            await _write(step, wanted, context, now)
        case Keep(revision=revision, status=status):
            await _keep(revision, status, wanted, context, now)
        case Forget(revision=revision):
            metadata = revision.secret.metadata
            await context.client.delete(Secret, metadata.name, metadata.namespace, uid=metadata.uid)


async def _write(step: Write, wanted: Wanted, context: Context, now: datetime) -> None:
    written = records.record_of(
        wanted.rendered,
        wanted.values,
        version=step.version,
        description=DESCRIPTION,
        first_deployed=step.first_deployed,
        now=now,
    )
    name, namespace = records.secret_name(wanted.rendered.name, step.version), wanted.rendered.namespace
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": records.labels_of(written, now),
        "annotations": {DIGEST: wanted.digest},
        "ownerReferences": [owner_reference(wanted.resource)],
    }
    body = {"metadata": metadata, "type": records.TYPE, "data": {records.KEY: records.encode(written)}}
    try:
        await context.client.create(Secret, body)
    except AlreadyExists:
        found = await context.client.find(Secret, name, namespace)
        # An answer that was lost, or a cache that is behind: it is there as it should be.
        if found is None or Revision(found).digest != wanted.digest:
            message = f"revision {step.version} of the release was written by another at the same time"
            raise Retry(message, reason="Conflict") from None


async def _keep(revision: Revision, status: str, wanted: Wanted, context: Context, now: datetime) -> None:
    secret = revision.secret
    metadata: JsonObject = {
        "resourceVersion": secret.metadata.resourceVersion,
        "ownerReferences": [owner_reference(wanted.resource)],
    }
    body: JsonObject = {"metadata": metadata}
    if status != revision.status:
        metadata["labels"] = {"status": status, "modifiedAt": str(int(now.timestamp()))}
        # One that cannot be read gets only the labels, by which helm looks for it.
        with suppress(Rejected):
            changed = records.decode(secret.data.get(records.KEY, "")).become(status)
            body["data"] = {records.KEY: records.encode(changed)}
    try:
        await context.client.patch(Secret, secret.metadata.name, secret.metadata.namespace, body)
    except NotFound:
        return
    except Conflict:
        raise Retry(f"revision {revision.version} of the release is being changed by helm", reason="Conflict") from None

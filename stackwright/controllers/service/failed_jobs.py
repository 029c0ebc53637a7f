"""Jobs of a service that failed: they are deleted after a while, or when what they read has changed, and recreated."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from stackwright.api.base import CustomResource, JsonObject
from stackwright.blueprint.service import Service
from stackwright.blueprint.service_fields import status_of
from stackwright.controllers.service import jobs_at_work, labels, references, traces
from stackwright.kube import clock
from stackwright.kube.builtin import Job
from stackwright.kube.controller import Context
from stackwright.kube.shapes.child import Child
from stackwright.kube.shapes.states import state_of

# How long a Job that has failed, after all its own tries, stays to be looked at.
AGAIN_SECONDS = 300.0


async def clear(
    service: Service[Any, Any],
    resource: CustomResource,
    values: JsonObject,
    children: Iterable[Child],
    context: Context,
) -> list[float]:
    """Delete failed Jobs, so that they are tried again; those of actions run once, and have reported how they ended.

    `values` are those of the chart. Return in how many seconds the others are due.
    """
    bodies = {child.body["metadata"]["name"]: child.body for child in children if child.of is Job}
    keys = [resource.key._replace(name=name) for name in bodies if not traces.is_of_action(service, resource, name)]
    found = [job for key in keys if (job := context.store(Job).get(key)) and labels.belongs(job, resource)]
    stale = [job for job in found if reads_something_else(job, bodies[job.metadata.name])]
    for job in stale:
        await _delete(job, context)
    before, parts = status_of(resource).hash, values.get("components", {})
    changed = any(before.get(name, part.get("hash")) != part.get("hash") for name, part in parts.items())
    return await clear_failed((job for job in found if job not in stale), context, clock.now(), changed=changed)


def is_failing(job: Job) -> bool:
    """Return whether a Job has failed, or is being tried again after it did."""
    return state_of(job).status != "True" and (bool(job.status.get("failed")) or _failure(job) is not None)


def reads_something_else(job: Job, wanted: JsonObject) -> bool:
    """Return whether a Job fails with other Secrets than it is to have now. A Job cannot be given others.

    A try that is at work may get through, and is not cut in the middle.
    """
    mounted, asked = (references.list_secrets(references.pod_of(spec)) for spec in (job.spec, wanted["spec"]))
    idle = not job.deleting and not jobs_at_work.is_at_work(job)
    return idle and is_failing(job) and mounted != asked


async def clear_failed(jobs: Iterable[Job], context: Context, now: datetime, *, changed: bool) -> list[float]:
    """Delete Jobs that failed a while ago, or before what they read has `changed`: they are recreated.

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
        await _delete(job, context)
    return delays


async def _delete(job: Job, context: Context) -> None:
    metadata = job.metadata
    context.logger.info("a Job that failed is tried again", job=metadata.name)
    await context.client.delete(Job, metadata.name, metadata.namespace, uid=metadata.uid)


def again_in(job: Job, now: datetime) -> float | None:
    """Return in how many seconds a failed Job is tried again; None if it has not failed."""
    failed = _failure(job)
    if failed is None:
        return None
    since = datetime.fromisoformat(failed["lastTransitionTime"])
    return max(0.0, AGAIN_SECONDS - (now - since).total_seconds())


def _failure(job: Job) -> JsonObject | None:
    stated = job.status.get("conditions") or ()
    return next((entry for entry in stated if entry.get("type") == "Failed" and entry.get("status") == "True"), None)

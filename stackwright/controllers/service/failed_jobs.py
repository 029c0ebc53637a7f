"""Jobs of a service that failed: they are deleted after a while, or when what they read has changed, and recreated."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from stackwright.api.base import CustomResource, JsonObject
from stackwright.blueprint.service import Service
from stackwright.blueprint.service_fields import status_of
from stackwright.controllers.service import jobs_at_work, labels, references, traces
from stackwright.kube import clock
from stackwright.kube.builtin import Job
from stackwright.kube.controller import Context
from stackwright.kube.plan import Ends, Wait
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
) -> tuple[list[float], tuple[Wait, ...]]:
    """Delete failed Jobs, so that they are tried again; those of actions run once, and have reported how they ended.

    `values` are those of the chart. Return in how many seconds the others are due, and which of them work on.
    """
    asked = {child.body["metadata"]["name"]: child for child in children if child.of is Job}
    keys = [resource.key._replace(name=name) for name in asked if not traces.is_of_action(service, resource, name)]
    found = [job for key in keys if (job := context.store(Job).get(key)) and labels.belongs(job, resource)]
    stale = [job for job in found if reads_something_else(job, asked[job.metadata.name].body)]
    for job in stale:
        await _delete(job, context)
    before, parts = status_of(resource).hash, values.get("components", {})
    changed = any(before.get(name, part.get("hash")) != part.get("hash") for name, part in parts.items())
    waits = tuple(wait for job in found for wait in tell_outdated(job, asked[job.metadata.name]))
    return await clear_failed((job for job in found if job not in stale), context, clock.now(), changed=changed), waits


def is_failing(job: Job) -> bool:
    """Return whether a Job has failed, or is being tried again after it did."""
    return state_of(job).status != "True" and (bool(job.status.get("failed")) or _failure(job) is not None)


def reads_something_else(job: Job, wanted: JsonObject) -> bool:
    """Return whether a Job fails with other Secrets than it is to have now. A Job cannot be given others.

    A try that is at work may get through, and is not cut in the middle.
    """
    return _is_outdated(job, wanted) and not jobs_at_work.is_at_work(job)


def _is_outdated(job: Job, wanted: JsonObject) -> bool:
    mounted, asked = (references.list_secrets(references.pod_of(spec)) for spec in (job.spec, wanted["spec"]))
    return not job.deleting and is_failing(job) and mounted != asked


def tell_outdated(job: Job, wanted: Child) -> Iterator[Wait]:
    """Yield that a Job tries once more with Secrets of before: what was corrected meanwhile waits for its end. Pure.

    If what it reads makes it hang, it has no end. How an earlier try ended, its pod tells all the while.
    """
    # One that counts for no condition takes no Ready away.
    if wanted.condition and _is_outdated(job, wanted.body) and job.status.get("ready"):
        message = (
            f"Job {job.metadata.name} failed, and tries again with the Secrets of before; it is made anew with the "
            "present ones when that has ended: look at its log, and delete it if it hangs"
        )
        yield Wait("JobAtWork", message, wanted.condition, ends=Ends.PERHAPS_BY_USER)


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

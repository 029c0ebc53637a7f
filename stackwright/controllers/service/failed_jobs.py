"""Jobs of a service that failed: they are deleted after a while, or when what they read has changed, and recreated."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from stackwright.api.base import CustomResource, JsonObject
from stackwright.blueprint.service import Service
from stackwright.blueprint.service_fields import status_of
from stackwright.controllers.service import labels, traces
from stackwright.kube import clock
from stackwright.kube.builtin import Job
from stackwright.kube.controller import Context
from stackwright.kube.shapes.child import Child

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
    names = (child.body["metadata"]["name"] for child in children if child.of is Job)
    keys = [resource.key._replace(name=name) for name in names if not traces.is_of_action(service, resource, name)]
    found = [job for key in keys if (job := context.store(Job).get(key)) and labels.belongs(job, resource)]
    before, parts = status_of(resource).hash, values.get("components", {})
    changed = any(before.get(name, part.get("hash")) != part.get("hash") for name, part in parts.items())
    return await clear_failed(found, context, clock.now(), changed=changed)


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
        metadata = job.metadata
        context.logger.info("a Job that failed is tried again", job=metadata.name)
        await context.client.delete(Job, metadata.name, metadata.namespace, uid=metadata.uid)
    return delays


def again_in(job: Job, now: datetime) -> float | None:
    """Return in how many seconds a failed Job is tried again; None if it has not failed."""
    failed: JsonObject = next(
        (entry for entry in job.status.get("conditions") or () if entry.get("type") == "Failed"), {}
    )
    if failed.get("status") != "True":
        return None
    since = datetime.fromisoformat(failed["lastTransitionTime"])
    return max(0.0, AGAIN_SECONDS - (now - since).total_seconds())

"""Jobs that a resource no longer has, such as those of a cell that is removed: they are deleted at once.

Nothing else is pruned while a resource waits for something. But a finished Job says that something is done: if it were
still there when the resource has that job again, with the same inputs, it would not run again.
"""

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from stackwright.api.base import CustomResource
from stackwright.blueprint.service import Service
from stackwright.controllers.service import labels
from stackwright.kube.builtin import Job
from stackwright.kube.controller import Context
from stackwright.kube.shapes.states import state_of


async def clear(service: Service[Any, Any], resource: CustomResource, context: Context) -> None:
    """Delete the finished Jobs of jobs that a resource had before."""
    if not callable(service.jobs):
        return
    await delete(find(service, resource, context.store(Job).owned_by(resource.metadata.uid)), context)


async def delete(jobs: Iterable[Job], context: Context) -> None:
    """Delete Jobs, and no others that have got their names meanwhile."""
    for job in jobs:
        metadata = job.metadata
        context.logger.info("a Job that is not needed any more is deleted", job=metadata.name)
        await context.client.delete(Job, metadata.name, metadata.namespace, uid=metadata.uid)


def find(service: Service[Any, Any], resource: CustomResource, owned: Iterable[Job]) -> Iterator[Job]:
    """Yield the finished Jobs whose jobs the resource does not have now, but may have. Pure."""
    present = {job.name for job in service.jobs_of(resource)}
    for job in owned:
        name = job.metadata.labels.get(labels.COMPONENT, "")
        known = any(fnmatchcase(name, form.name) for form in service.known_jobs)
        if known and name not in present and not job.deleting and state_of(job).status == "True":
            yield job

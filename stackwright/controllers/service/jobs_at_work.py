"""Jobs that change tables: one that is at work finishes, and the next one waits for it. Pure.

A change of tables is no transaction: whoever is killed in the middle of it, or works on them beside another, leaves
tables that neither the image of before nor the new one can go on with. Only a container that runs is spared: a pod
whose image cannot be pulled, or that waits for something, has not begun, and its Job is deleted before the next starts.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stackwright.api.base import CustomResource
from stackwright.blueprint.service import Service
from stackwright.controllers.service import labels, traces
from stackwright.kube.builtin import Job
from stackwright.kube.conditions import declared
from stackwright.kube.plan import Ends, Wait
from stackwright.kube.shapes.child import Child
from stackwright.kube.shapes.states import state_of

# After how long somebody should look whether it gets anywhere. Tables of a large cloud take their time.
LONG_SECONDS = 1800.0


@dataclass(frozen=True)
class Work:
    """What others do on the tables: `working` are at it, `idle` are to go; `held` is what is not made meanwhile."""

    working: tuple[Job, ...] = ()
    idle: tuple[Job, ...] = ()
    held: tuple[Child, ...] = ()


def is_at_work(job: Job) -> bool:
    """Return whether a container of the Job runs, or has just ended; `active` counts pods that have not begun, too."""
    counted = job.status.get("uncountedTerminatedPods") or {}
    ending = bool(counted.get("succeeded") or job.status.get("succeeded")) and state_of(job).status != "True"
    return not job.deleting and (bool(job.status.get("ready")) or ending)


def find(service: Service[Any, Any], resource: CustomResource, owned: Iterable[Job], children: Sequence[Child]) -> Work:
    """Return what others than the children do on the same tables: those that read the same Secret."""
    tasks = {job.name: job for job in service.jobs_of(resource) if job.tables}
    asked = {child.key.name for child in children if child.of is Job}
    present, others = set(), []
    for job in owned:
        name, task = job.metadata.name, tasks.get(_task_of(job))
        present.add(name)
        # An action's Job has been asked for, and all the same nothing else starts beside it.
        if task is not None and (name not in asked or traces.is_of_action(service, resource, name)):
            others.append((job, task))
    working = tuple((job, task) for job, task in others if is_at_work(job))
    idle = tuple((job, task) for job, task in others if job.metadata.name not in asked and _is_idle(job))
    busy = {task.secret for _, task in (*working, *idle)}
    held = tuple(
        child
        for child in children
        if child.of is Job
        and child.key.name not in present
        and (task := tasks.get(labels.component_of(child.body))) is not None
        and task.secret in busy
    )
    # The Job of an action that nobody has to wait for is none of the others.
    told = (job for job, _ in working if held or job.metadata.name not in asked)
    return Work(tuple(told), tuple(job for job, _ in idle), held)


def _is_idle(job: Job) -> bool:
    """Return whether a Job is not at work now, and may begin any time."""
    state = state_of(job)
    return not is_at_work(job) and not job.deleting and state.status != "True" and state.severity != "Error"


def waits(service: Service[Any, Any], resource: CustomResource, work: Work, now: datetime) -> Iterator[Wait]:
    """Yield the waits for Jobs that are at work, whose ends wake the resource."""
    told = {job.name: job.condition for job in service.jobs_of(resource)}
    why = "tables that are changed halfway fit nobody"
    for job in work.working:
        name = job.metadata.name
        # That of an action has no condition of its own.
        condition = declared(resource, told[_task_of(job)] or "DBSyncReady")
        yield from _told(job, f"Job {name} is at work on the tables, and finishes first, because {why}", condition, now)
    for child in work.held:
        condition = declared(resource, told[labels.component_of(child.body)])
        yield Wait("JobAtWork", f"{child} starts when the Job before it has ended, because {why}", condition)


def _told(job: Job, message: str, condition: str, now: datetime) -> Iterator[Wait]:
    began = datetime.fromisoformat(job.status.get("startTime") or job.metadata.creationTimestamp)
    left = LONG_SECONDS - (now - began).total_seconds()
    if left > 0:
        yield Wait("JobAtWork", message, condition, after=left)
    else:
        long = f"it has taken over {LONG_SECONDS / 60:.0f} min: look at its log, and delete it if it hangs"
        yield Wait("JobAtWork", f"{message}; {long}", condition, ends=Ends.PERHAPS_BY_USER)


def _task_of(job: Job) -> str:
    return job.metadata.labels.get(labels.COMPONENT, "")

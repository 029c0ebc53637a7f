"""What is there of the actions that a user asked for. Pure: it reads caches alone."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from stackwright.api.base import CustomResource
from stackwright.blueprint import actions, names
from stackwright.blueprint.actions import Ending, Traces
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.look import Look
from stackwright.blueprint.service import RotateKeys, RunJob, Service
from stackwright.blueprint.service_fields import spec_of, status_of
from stackwright.controllers.service.rings import TURNED_FOR
from stackwright.kube.builtin import Job, Plain, Secret
from stackwright.kube.shapes.states import state_of

# On pods: the id of the restart that they were started for.
RESTARTED = "openstack.org/restarted"

C = TypeVar("C", bound=CustomResource)
F = TypeVar("F", bound=Facts)


def read(
    service: Service[C, F], resource: CustomResource, look: Look, workloads: Iterable[Plain], logs: Mapping[str, str]
) -> Traces:
    """Return the traces of a resource's actions."""
    jobs: dict[tuple[str, str], Ending] = {}
    turned: dict[str, str] = {}
    for action in spec_of(resource).actions:
        match service.known_actions.get(action.name):
            case RunJob():
                name = job_name(resource, action.name, action.id)
                if (job := look(Job, name)) is not None:
                    jobs[action.name, action.id] = _ending(job, logs.get(name, ""))
            case RotateKeys(ring):
                secret = look(Secret, f"{resource.metadata.name}-{ring}")
                turned[ring] = secret.metadata.annotations.get(TURNED_FOR, "") if secret is not None else ""
    owners = tuple(workloads)
    rolled = bool(owners) and all(state_of(owner).status == "True" for owner in owners)
    return Traces(jobs=jobs, restarted=restarted(owners) if rolled else "", turned=turned)


def job_name(resource: CustomResource, action: str, identifier: str) -> str:
    """Return the name of the Job that runs an action."""
    return names.job(resource.metadata.name, f"action-{action}", actions.id_hash(identifier))


def is_of_action(service: Service[Any, Any], resource: CustomResource, job: str) -> bool:
    """Return whether the Job of that name runs an action: one that is asked for now, or was before."""
    digest = job.rpartition("-")[2]
    return any(
        job == names.job(resource.metadata.name, f"action-{action}", digest)
        for action, means in service.known_actions.items()
        if isinstance(means, RunJob)
    )


def ended_jobs(service: Service[C, F], resource: CustomResource, look: Look) -> Iterable[Job]:
    """Return the Jobs of actions that have ended and were not reported yet: their logs have to be read."""
    told = {status.id for status in status_of(resource).actions if status.state in actions.DONE}
    for action in spec_of(resource).actions:
        if action.id in told or not isinstance(service.known_actions.get(action.name), RunJob):
            continue
        job = look(Job, job_name(resource, action.name, action.id))
        if job is not None and _ending(job, "").finished:
            yield job


def restarted(workloads: Iterable[Plain]) -> str:
    """Return the restart that the pods' owners carry, which stays until the next one."""
    found = {_template_annotations(owner).get(RESTARTED, "") for owner in workloads}
    return found.pop() if len(found) == 1 else ""


def _template_annotations(owner: Plain) -> Mapping[str, str]:
    template = owner.spec.get("template") or {}
    return (template.get("metadata") or {}).get("annotations") or {}


def _ending(job: Job, log: str) -> Ending:
    state = state_of(job)
    if state.status == "True":
        return Ending(finished=True, succeeded=True, result="Done", log=log)
    if state.severity == "Error":
        return Ending(finished=True, result=state.message, log=log)
    return Ending(finished=False)

"""The nodes of Jobs that are there already. Pure.

Nobody can change the pods of a Job, and a Job that is there is not made again for other nodes. So the values of the
chart, and with them the release, repeat the selector that it has: `helm upgrade` by hand would fail otherwise. A Job
whose pods get no node would wait for ever, and is made anew as soon as another selector is asked for.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from stackwright.api.base import CustomResource, JsonObject
from stackwright.blueprint import names
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs import TYPES
from stackwright.blueprint.service import Service
from stackwright.controllers.service import failed_jobs, jobs_at_work, labels, references, traces
from stackwright.kube.builtin import Job, Pod
from stackwright.kube.shapes.child import Child, is_marked
from stackwright.kube.shapes.states import state_of

_Parts = Mapping[str, JsonObject]


def keep(resource: CustomResource, values: JsonObject, look: Look, pods: Iterable[Pod]) -> JsonObject:
    """Return the values of a chart in which Jobs that are there have the selectors that they were made with."""
    pods = tuple(pods)

    def kept(parts: _Parts, name_part: Callable[[str], str], *, actions: bool = False) -> JsonObject:
        called = {
            name: names.job(resource.metadata.name, name_part(name), body["hash"]) for name, body in parts.items()
        }
        return {name: _kept(body, look(Job, called[name]), pods, actions) for name, body in parts.items()}

    found: JsonObject = {}
    if "jobs" in values:
        found["jobs"] = kept(values["jobs"], str)
    if "actions" in values:
        found["actions"] = kept(values["actions"], lambda name: f"action-{name}", actions=True)
    if (provision := values.get("provision")) is not None:
        jobs = {entry.value: entry.job for of in TYPES for entry in of.provisions}
        further = {entry.several: entry.job for of in TYPES for entry in of.provisions if entry.several}
        alone = {word: body for word, body in provision.items() if word not in further}
        found["provision"] = kept(alone, jobs.__getitem__) | {
            word: kept(provision[word], f"{job}-{{}}".format) for word, job in further.items() if word in provision
        }
    return {**values, **found}


def _kept(body: JsonObject, job: Job | None, pods: Iterable[Pod], action: bool) -> JsonObject:  # noqa: FBT001  a name would not fit
    if job is None or job.deleting or may_move(job, pods, action=action):
        return body
    selector = select_of(job.spec)
    if selector == body.get("nodeSelector", {}):
        return body
    # An action without a selector of its own has that of the job that it runs.
    return {name: value for name, value in body.items() if name != "nodeSelector"} | (
        {"nodeSelector": selector} if selector or action else {}
    )


def select_of(spec: JsonObject) -> JsonObject:
    """Return which nodes a Job selects; all of them if it says nothing."""
    found: JsonObject = references.pod_of(spec).get("nodeSelector") or {}
    return found


def may_move(job: Job, pods: Iterable[Pod], *, action: bool) -> bool:
    """Return whether a Job may be made anew for other nodes: its pods wait for a node, or it failed.

    What runs may get through and is not cut. The Job of an action runs once, and has reported how it ended.
    """
    state = state_of(job)
    if job.deleting or state.status == "True" or jobs_at_work.is_at_work(job):
        return False
    if action and state.severity == "Error":
        return False
    own = [pod for pod in pods if labels.belongs(pod, job) and not pod.deleting and not _has_ended(pod)]
    return bool(own and all(map(_has_no_node, own))) or (not action and failed_jobs.is_failing(job))


def find_misplaced(
    service: Service[Any, Any],
    resource: CustomResource,
    owned: Iterable[Job],
    children: Iterable[Child],
    pods: Iterable[Pod],
    mark: str,
) -> tuple[Job, ...]:
    """Return the Jobs that are to be deleted, so that they are made anew for the nodes that are asked for now.

    One that was made as it is asked for now stays: somebody else changed what it selects, and would do so again.
    """
    asked, pods = {child.key.name: child for child in children if child.of is Job}, tuple(pods)
    return tuple(
        job
        for job in owned
        if (wanted := asked.get(job.metadata.name)) is not None
        and select_of(job.spec) != select_of(wanted.body["spec"])
        and not is_marked(job, wanted, mark)
        and may_move(job, pods, action=traces.is_of_action(service, resource, job.metadata.name))
    )


def _has_ended(pod: Pod) -> bool:
    return pod.status.get("phase") in ("Succeeded", "Failed")


def _has_no_node(pod: Pod) -> bool:
    return any(
        entry.get("type") == "PodScheduled" and entry.get("status") == "False"
        for entry in pod.status.get("conditions") or ()
    )

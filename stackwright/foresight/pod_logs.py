"""Which containers' logs stand for a resource. Pure."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from stackwright import services
from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.base import CustomResource
from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.api.node_service import NodeServiceResource
from stackwright.controllers.dataplane import run_job
from stackwright.controllers.dataplane.run_inputs import prefix_runs
from stackwright.controllers.service import labels
from stackwright.foresight.kinds import chart_of
from stackwright.kube.builtin import Job, Pod


class Source(NamedTuple):
    """A container whose log is read."""

    pod: str
    container: str


def choose_pods(pods: Iterable[Pod]) -> list[Pod]:
    """Return the pods worth reading: of Jobs the last one of each kind, then all others, each in the order of birth."""
    ordered = sorted(pods, key=lambda pod: (pod.metadata.creationTimestamp, pod.metadata.name))
    jobs = {_run_of(pod): pod for pod in ordered if _of_job(pod)}
    return [*sorted(jobs.values(), key=ordered.index), *(pod for pod in ordered if not _of_job(pod))]


def select(resource: CustomResource, below: Iterable[CustomResource] = ()) -> "Selection":
    """Return which pods stand for a resource: those of its release, or of the runs that touch a node.

    Of one that stands for others, which are `below` it, those of their releases too.
    """
    name = resource.metadata.name
    if family := tuple(below):
        return _of_releases((resource, *family))
    match resource:
        case OpenStackDataPlaneNode():
            return Selection(run_job.RUN_LABEL, node=name, host=resource.status.hostName or name)
        case NodeServiceResource():
            names = (each.name for each in services.node_services() if isinstance(resource, each.kind))
            host = resource.status.hostName or resource.node_name
            return Selection(run_job.RUN_LABEL, resource.node_name, host, prefix_runs(next(names, "")))
        case OpenStackAnsibleEE():
            return Selection(f"{run_job.RUN_LABEL}={name}")
    return _of_releases((resource,))


def _of_releases(resources: Iterable[CustomResource]) -> "Selection":
    releases = frozenset((chart_of(type(each)), each.metadata.name) for each in resources)
    charts, names = (",".join(sorted(set(part))) for part in zip(*releases, strict=True))
    return Selection(f"{labels.NAME} in ({charts}),{labels.INSTANCE} in ({names})", releases=releases)


@dataclass(frozen=True)
class Selection:
    """Pods by their labels; of runs of Ansible only those that touch a node, and only what concerns its host.

    `prefix` is how the names of those runs begin, if only one service is meant. `releases` are the charts and names of
    the releases whose pods are meant: labels select each chart with each name.
    """

    labels: str
    node: str = ""
    host: str = ""
    prefix: str = ""
    releases: frozenset[tuple[str, str]] = frozenset()

    def has(self, pod: Pod) -> bool:
        """Return whether a pod with these labels is meant."""
        if self.releases:
            said = pod.metadata.labels
            return (said.get(labels.NAME, ""), said.get(labels.INSTANCE, "")) in self.releases
        nodes = pod.metadata.annotations.get(run_job.NODES_ANNOTATION, "").split(",")
        run = pod.metadata.labels.get(run_job.RUN_LABEL, "")
        return not self.node or (self.node in nodes and run.startswith(self.prefix))

    def concerns(self, line: bytes) -> bool:
        """Return whether a line is worth showing: not if it says what a run does on another host."""
        if not self.host:
            return True
        try:
            event = json.loads(line)
        except ValueError:
            return True
        return not isinstance(event, dict) or event.get("host", self.host) == self.host


def sources(pod: Pod, container: str = "") -> list[Source]:
    """Return the containers of a pod: the one that is named, else those that serve and those that it waits for."""
    name = pod.metadata.name
    everyone = [entry["name"] for entry in (*_initial(pod), *pod.spec.get("containers", ()))]
    if container:
        return [Source(name, container)] if container in everyone else []
    serving = [entry["name"] for entry in pod.spec.get("containers", ())]
    return [Source(name, entry) for entry in (*_unfinished(pod), *serving)]


def has_begun(pod: Pod, container: str) -> bool:
    """Return whether a container has written, or could have: before that its log cannot be asked for."""
    statuses = (*(pod.status.get("initContainerStatuses") or ()), *(pod.status.get("containerStatuses") or ()))
    for status in statuses:
        if status.get("name") == container:
            state = status.get("state") or {}
            return "running" in state or "terminated" in state or bool(status.get("restartCount"))
    return False


def _run_of(pod: Pod) -> tuple[str, str]:
    """Return of which release a Job's pod is, and what it does there."""
    said = pod.metadata.labels
    return said.get(labels.INSTANCE, ""), said.get(labels.COMPONENT, "") or pod.metadata.name


def _of_job(pod: Pod) -> bool:
    owner = pod.metadata.controller
    return owner is not None and owner.kind == Job.kind.name


def _initial(pod: Pod) -> Iterable[dict[str, str]]:
    return pod.spec.get("initContainers") or ()


def _unfinished(pod: Pod) -> Iterable[str]:
    """Yield the containers that a pod still waits for before it serves: that is where it hangs."""
    done = {
        status.get("name")
        for status in pod.status.get("initContainerStatuses") or ()
        if ((status.get("state") or {}).get("terminated") or {}).get("exitCode") == 0
    }
    return (entry["name"] for entry in _initial(pod) if entry["name"] not in done)

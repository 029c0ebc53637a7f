"""Which nodes are taken by a run, so that two runs never touch one machine at once.

A node goes by its name and by the address of its machine: another node may stand for the machine while a run of the
first one still works there.

A run has its nodes from when its Job is created until the Job has ended and no pod of it is left. That holds for a run
that was deleted, and for one that is finished: a Job replaces a pod that is killed after its last word. The caches say
that; what they do not show yet, because it was done a moment ago, is remembered here. One process at a time runs this
controller (it works under a lease), and another one that takes over starts with caches that are complete.

Nodes that a run has released, while it goes on with others, are free (`releases.py`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from stackwright.api.ansibleee import OpenStackAnsibleEE, RunNode
from stackwright.blueprint.addresses.subnets import normalize
from stackwright.controllers.dataplane.run_job import MACHINES_ANNOTATION, NODES_ANNOTATION, RUN_LABEL
from stackwright.kube.builtin import Job, Pod
from stackwright.kube.resource import Key, is_controlled


@dataclass(frozen=True)
class GivenUp:
    """A run whose Job was deleted because no pod began to work: the uid of the Job, why, and whether one had before."""

    job: str
    why: str
    worked: bool = False


@dataclass(frozen=True)
class Refused:
    """Since when the server does not take the Job of a run, and why."""

    since: datetime
    why: str


@dataclass(frozen=True)
class Occupancy:
    """Remembers which runs have begun, by their uids, and which Jobs were deleted, by theirs.

    `given_up` are runs that end once their Jobs are gone; whoever forgets one lets it begin once more. `podless` says
    since when a run that worked has no pod, `refused` of which runs the server takes no Job; whoever forgets these
    waits once more.
    """

    begun: set[str] = field(default_factory=set)
    discarded: set[str] = field(default_factory=set)
    given_up: dict[str, GivenUp] = field(default_factory=dict)
    podless: dict[str, datetime] = field(default_factory=dict)
    refused: dict[str, Refused] = field(default_factory=dict)

    def claim(self, run: OpenStackAnsibleEE) -> None:
        """Remember that a run has begun: from now on its nodes are taken."""
        self.begun.add(run.metadata.uid)

    def forget(self, there: Iterable[OpenStackAnsibleEE], jobs: Iterable[Job] = ()) -> None:
        """Forget the runs that have ended, or that are gone, and the Jobs that are gone."""
        open_runs = {run.metadata.uid for run in there if not run.finished}
        self.begun.intersection_update(open_runs)
        self.discarded.intersection_update({job.metadata.uid for job in jobs})
        for uid in [*self.given_up, *self.podless, *self.refused]:
            if uid not in open_runs:
                self.given_up.pop(uid, None)
                self.podless.pop(uid, None)
                self.refused.pop(uid, None)

    def miss_pods(self, run: OpenStackAnsibleEE, now: datetime, *, missing: bool) -> datetime | None:
        """Return since when a run misses its pods; None if it does not."""
        if missing:
            return self.podless.setdefault(run.metadata.uid, now)
        self.podless.pop(run.metadata.uid, None)
        return None

    def note_refusal(self, run: OpenStackAnsibleEE, now: datetime, why: str) -> None:
        """Remember that the server did not take the Job of a run."""
        before = self.refused.get(run.metadata.uid)
        self.refused[run.metadata.uid] = Refused(before.since if before is not None else now, why)


def find_holder(
    run: OpenStackAnsibleEE,
    runs: Iterable[OpenStackAnsibleEE],
    jobs: Mapping[Key, Job],
    pods: Iterable[Pod],
    begun: Iterable[str],
) -> tuple[str, str] | None:
    """Return a node, or its machine, that another run has, and that run; None if a run may have all of them. Pure.

    What is left of a deleted run of the same name is another one's, and so is a pod of a Job that is gone. A run has
    released some of its nodes, perhaps, and with it its Job and the Job's pod.
    """
    wanted = _wanted_by(run)
    started = set(begun)
    runs, pods = tuple(runs), tuple(pods)
    free = _find_freed(runs, jobs.values(), pods)
    for other in runs:
        works = not other.finished and (other.metadata.uid in started or _find_job(other, jobs) is not None)
        if works and other.metadata.uid != run.metadata.uid:
            its = _find_job(other, jobs)
            shared = wanted & _wanted_by(other) - free.get(its.metadata.uid if its is not None else "", frozenset())
            if shared:
                return min(shared), other.metadata.name
    for job in jobs.values():
        of = job.metadata.labels.get(RUN_LABEL, "")
        # A Job that is being deleted makes no pods any more; those that it made are looked at below.
        if of and not is_controlled(job, run) and how_ended(job) is None and not job.deleting:
            template = job.spec.get("template", {}).get("metadata", {})
            shared = wanted & _nodes_of(template.get("annotations", {})) - free.get(job.metadata.uid, frozenset())
            if shared:
                return min(shared), of
    mine = _find_job(run, jobs)
    for pod in pods:
        of = pod.metadata.labels.get(RUN_LABEL, "")
        own = mine is not None and is_controlled(pod, mine)
        if of and not own and not is_over(pod):
            its_job = pod.metadata.controller.uid if pod.metadata.controller is not None else ""
            shared = wanted & _nodes_of(pod.metadata.annotations) - free.get(its_job, frozenset())
            if shared:
                return min(shared), of
    return None


def _find_freed(
    runs: Iterable[OpenStackAnsibleEE], jobs: Iterable[Job], pods: Iterable[Pod]
) -> dict[str, frozenset[str]]:
    """Return the nodes that runs are through with, by the uids of their Jobs. Pure.

    It is none if there is a second pod: that begins anew on all nodes.
    """
    releasing = {run.metadata.uid: run for run in runs if run.status.released}
    found: dict[str, frozenset[str]] = {}
    for job in jobs if releasing else ():
        run = releasing.get(job.metadata.controller.uid) if job.metadata.controller is not None else None
        if run is not None and sum(1 for pod in pods if is_controlled(pod, job)) <= 1:
            parts = [(entry.name in run.status.released, _words_of(entry)) for entry in run.spec.nodes]
            free, held = (
                {word for is_free, words in parts if is_free is each for word in words} for each in (True, False)
            )
            found[job.metadata.uid] = frozenset(free - held)
    return found


def _find_job(run: OpenStackAnsibleEE, jobs: Mapping[Key, Job]) -> Job | None:
    """Return the Job of a run, and not that of an earlier one of the same name. Pure."""
    job = jobs.get(run.key)
    return job if job is not None and is_controlled(job, run) else None


def is_over(pod: Pod) -> bool:
    """Return whether a pod has ended. Pure."""
    return pod.status.get("phase") in ("Succeeded", "Failed")


def _wanted_by(run: OpenStackAnsibleEE) -> set[str]:
    # A name of a node has no colon, so the two are never mixed up.
    return {word for entry in run.spec.nodes for word in _words_of(entry)}


def _words_of(entry: RunNode) -> tuple[str, ...]:
    return tuple(word for word in (entry.name, _normalize(entry.address)) if word)


def _normalize(place: str) -> str:
    """Return where a machine is reached, HOST:PORT, as it is written always."""
    host, colon, port = place.rpartition(":")
    return f"{normalize(host)}{colon}{port}"


def _nodes_of(annotations: Mapping[str, str]) -> set[str]:
    names, places = (annotations.get(name, "").split(",") for name in (NODES_ANNOTATION, MACHINES_ANNOTATION))
    return {word for word in (*names, *map(_normalize, places)) if word}


def how_ended(job: Job) -> bool | None:
    """Return whether a Job succeeded; None while it works. Pure."""
    for condition in job.status.get("conditions") or ():
        if condition.get("status") == "True" and condition.get("type") in ("Complete", "Failed"):
            return bool(condition["type"] == "Complete")
    return None

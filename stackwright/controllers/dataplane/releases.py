"""When a run is through with a node although it goes on with others: then that node need not wait for them.

The pod says so, of playbooks of which it can know it (`run_ansible.py` in images/ansible-runner). That is not enough:
if the pod is killed, its Job makes another one, which begins anew on all nodes of the run. So a Job is sealed first: it
makes no further pod. What Kubernetes has not seen of that yet, it has seen after a while. If the pod is still the one
that was there, it is the last one, and what it is through with is free. If the Job is deleted after that, the run has
ended: another Job would begin anew as well.

A run that a user made releases nothing. Nobody would repeat what is left of it when its pod is killed.

A node waits for others for a while, because nodes that go on together share their next run.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.controllers.dataplane.occupancy import how_ended, is_over
from stackwright.controllers.dataplane.run_log import Progress
from stackwright.kube import clock
from stackwright.kube.builtin import Job, Pod
from stackwright.kube.client import Client
from stackwright.kube.resource import is_controlled


@dataclass(frozen=True)
class Patience:
    """For how many seconds a node waits for others of its run, and how long a Job is sealed before that counts."""

    straggling: float = 30.0
    settling: float = 10.0


@dataclass(frozen=True)
class Release:
    """What follows for a run: its Job has to be sealed, or nodes are free, each with since when."""

    seal: bool = False
    nodes: Mapping[str, str] = field(default_factory=dict)


NOTHING = Release()
# Why a run has ended whose Job is gone.
LOST = "Its Job is gone; another one would begin anew, also on nodes that have other runs by now"


@dataclass(frozen=True)
class Releases:
    """Remembers since when a run is through with which node, and since when its Job is sealed, by the uids of both.

    Whoever forgets it waits once more, and seals the Job once more.
    """

    patience: Patience = field(default_factory=Patience)
    since: dict[str, dict[str, datetime]] = field(default_factory=dict)
    sealed: dict[str, datetime] = field(default_factory=dict)

    def forget(self, runs: Iterable[OpenStackAnsibleEE], jobs: Iterable[Job]) -> None:
        """Forget the runs that have ended, or that are gone, and the Jobs that are gone."""
        going = {run.metadata.uid for run in runs if not run.finished}
        there = {job.metadata.uid for job in jobs}
        for uid in [uid for uid in self.since if uid not in going]:
            del self.since[uid]
        for uid in [uid for uid in self.sealed if uid not in there]:
            del self.sealed[uid]

    async def look(
        self, run: OpenStackAnsibleEE, job: Job, pods: list[Pod], progress: Progress, client: Client
    ) -> Release:
        """Return which nodes of a run are free, while it goes on with others."""
        now = clock.now()
        waiting = find_through(run, progress)
        known = self.since.get(run.metadata.uid, {})
        since = {node: known.get(node, now) for node in waiting}
        self.since[run.metadata.uid] = since
        late = any((now - at).total_seconds() >= self.patience.straggling for at in since.values())
        if not run.metadata.ownerReferences or not late or progress.complete or not is_only(job, pods):
            return NOTHING
        sealed = self.sealed.get(job.metadata.uid)
        if sealed is None:
            return Release(seal=True)
        if (now - sealed).total_seconds() < self.patience.settling or not await _is_alone(job, pods[0], client):
            return NOTHING
        return Release(nodes=dict.fromkeys(since, clock.seconds(now)))

    async def seal(self, job: Job, client: Client) -> None:
        """Have a Job make no further pod."""
        metadata = job.metadata
        body = {"metadata": {"uid": metadata.uid}, "spec": {"backoffLimit": 0}}
        await client.patch(Job, metadata.name, metadata.namespace, body)
        self.sealed[metadata.uid] = clock.now()


def find_through(run: OpenStackAnsibleEE, progress: Progress) -> tuple[str, ...]:
    """Return the nodes that a run is through with, and that are not free yet; none once that is all of them. Pure."""
    through = [entry.name for entry in run.spec.nodes if entry.inventory_name in progress.done]
    if len(through) == len(run.spec.nodes):
        return ()
    return tuple(node for node in through if node not in run.status.released)


def keep_results(run: OpenStackAnsibleEE, progress: Progress) -> Progress:
    """Return what is known of a run, with what the nodes came to that it released: their part of the log may be gone.

    Pure, as the next one.
    """
    names = {entry.inventory_name for entry in run.spec.nodes if entry.name in run.status.released}
    kept = {host.host: host for host in run.status.hosts if host.host in names}
    return replace(progress, hosts={**kept, **progress.hosts})


def conclude_lost(run: OpenStackAnsibleEE) -> Progress:
    """Return how a run ended that released nodes, and whose Job is gone: as far as it is known."""
    return Progress({host.host: host for host in run.status.hosts}, message=LOST)


def is_only(job: Job, pods: list[Pod]) -> bool:
    """Return whether a Job has had one pod only, which works. Pure.

    A Job that has lost one would fail at once if it was sealed, and take the other one with it.
    """
    if job.deleting or how_ended(job) is not None or job.status.get("failed") or len(pods) != 1:
        return False
    return not is_over(pods[0]) and not pods[0].deleting


async def _is_alone(job: Job, pod: Pod, client: Client) -> bool:
    """Ask the server whether a pod is still the only one of its sealed Job: caches may lag behind."""
    there = await client.find(Job, job.metadata.name, job.metadata.namespace)
    if there is None or there.metadata.uid != job.metadata.uid or there.spec.get("backoffLimit") != 0:
        return False
    same = await client.find(Pod, pod.metadata.name, pod.metadata.namespace)
    return same is not None and is_controlled(same, there) and is_only(there, [same])

"""Which nodes are taken by a run, so that two runs never touch one node at once.

A run has its nodes from when its Job is created until it has ended and no pod of it is left. The caches say that; what
they do not show yet, because it was done a moment ago, is remembered here. One process at a time runs this controller
(it works under a lease), and another one that takes over starts with caches that are complete.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.controllers.dataplane.run_job import NODES_ANNOTATION, RUN_LABEL
from stackwright.kube.builtin import Job, Pod
from stackwright.kube.resource import Key

_OVER = ("Succeeded", "Failed")


@dataclass(frozen=True)
class Occupancy:
    """Remembers which runs have begun, by their uids."""

    begun: set[str] = field(default_factory=set)

    def claim(self, run: OpenStackAnsibleEE) -> None:
        """Remember that a run has begun: from now on its nodes are taken."""
        self.begun.add(run.metadata.uid)

    def forget(self, there: Iterable[OpenStackAnsibleEE]) -> None:
        """Forget the runs that have ended, or that are gone."""
        self.begun.intersection_update({run.metadata.uid for run in there if not run.finished})


def find_holder(
    run: OpenStackAnsibleEE,
    runs: Iterable[OpenStackAnsibleEE],
    jobs: Mapping[Key, Job],
    pods: Iterable[Pod],
    begun: Iterable[str],
) -> tuple[str, str] | None:
    """Return a node that another run has, and that run; None if a run may have all of its nodes. Pure."""
    wanted = {entry.name for entry in run.spec.nodes}
    started = set(begun)
    for other in runs:
        works = not other.finished and (other.metadata.uid in started or other.key in jobs)
        if works and other.metadata.uid != run.metadata.uid:
            shared = wanted & {entry.name for entry in other.spec.nodes}
            if shared:
                return min(shared), other.metadata.name
    for pod in pods:
        of = pod.metadata.labels.get(RUN_LABEL, "")
        if of and of != run.metadata.name and pod.status.get("phase") not in _OVER:
            shared = wanted & set(pod.metadata.annotations.get(NODES_ANNOTATION, "").split(","))
            if shared:
                return min(shared), of
    return None

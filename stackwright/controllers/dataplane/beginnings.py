"""Whether a run has begun to work, and why it is given up if it does not. Pure.

A run has its nodes while it waits, and its inputs may be just what somebody has corrected since. A run that a user made
is never given up: it is the user's own to delete.
"""

from collections.abc import Iterable
from datetime import datetime

from stackwright.api.ansibleee import RUNNING, OpenStackAnsibleEE
from stackwright.controllers.dataplane.occupancy import Refused, is_over
from stackwright.controllers.dataplane.run_logs import has_started
from stackwright.kube.builtin import Job, Pod
from stackwright.kube.plan import Ends, Wait

# After how many seconds a run is given up that does not begin: pulling an image takes minutes at worst, and so does a
# Job that makes another pod in place of one that failed.
LATE = 900.0


def is_idle(pod: Pod) -> bool:
    """Return whether a pod has not begun to work, and still may."""
    return not is_over(pod) and not has_started(pod)


def has_worked(run: OpenStackAnsibleEE, job: Job | None, pods: Iterable[Pod]) -> bool:
    """Return whether a pod of a run may have touched a machine; where nobody knows, it may have.

    The status remembers it of pods that are gone.
    """
    counted = job is not None and bool(job.status.get("failed") or job.status.get("succeeded"))
    known = run.status.jobStatus == RUNNING or bool(run.status.hosts)
    return counted or known or any(is_over(pod) or has_started(pod) for pod in pods)


def find_late(
    run: OpenStackAnsibleEE,
    job: Job,
    pods: Iterable[Pod],
    now: datetime,
    podless: datetime | None = None,
    trouble: Wait | None = None,
) -> str:
    """Return why a run is given up whose pod does not begin to work; "" while there is hope.

    `podless` is since when a run that worked has no pod: a quota may refuse the next one. `trouble` is what is known of
    its pods, or why there are none.
    """
    pods = list(pods)
    idle = [pod for pod in pods if is_idle(pod)]
    if idle:
        since = _read_time(max(pod.metadata.creationTimestamp for pod in idle))
    elif has_worked(run, job, pods):
        since = podless
    else:
        since = _read_time(job.metadata.creationTimestamp)
    if not is_late(run, since, now):
        return ""
    message = f"No pod began to work within {LATE // 60:.0f} minutes"
    if trouble is not None and trouble.ends is not Ends.BY_ITSELF:
        return f"{message}: {trouble.message}"
    return message if idle else f"{message}; the events of Job {job.metadata.name} say why it makes none"


def find_missing(run: OpenStackAnsibleEE, waits: Iterable[Wait], now: datetime) -> str:
    """Return why a run is given up that lacks something for too long; "" while there is hope."""
    missing = [wait.message for wait in waits if wait.reason != "NodeBusy"]
    return missing[0] if missing and is_late(run, _read_time(run.metadata.creationTimestamp), now) else ""


def find_refused(run: OpenStackAnsibleEE, refused: Refused | None, now: datetime) -> str:
    """Return why a run is given up whose Job the server does not take; "" while there is hope."""
    return refused.why if refused is not None and is_late(run, refused.since, now) else ""


def is_late(run: OpenStackAnsibleEE, since: datetime | None, now: datetime) -> bool:
    """Return whether a run that operators made should have begun long ago."""
    # One that several resources own has no controller any more once the first of them is gone.
    made = bool(run.metadata.ownerReferences)
    return made and since is not None and (now - since).total_seconds() > LATE


def _read_time(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None

"""What keeps the pod of a run from starting, and who ends that.

The same is told of pods of services (`controllers/service`); a run has one pod, which is over once it has worked.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from stackwright.api.ansibleee import INPUT_READY, JOB_READY, OpenStackAnsibleEE
from stackwright.blueprint.look import Look
from stackwright.controllers.dataplane import run_job
from stackwright.controllers.dataplane.beginnings import is_idle
from stackwright.controllers.dataplane.occupancy import is_over
from stackwright.controllers.service import missing_pods, references
from stackwright.controllers.service import pods as pod_troubles
from stackwright.kube import conditions
from stackwright.kube.builtin import ConfigMap, Job, Pod
from stackwright.kube.client import Client
from stackwright.kube.plan import Ends, Wait
from stackwright.kube.resource import ObjectMeta

# How long a pod may take to end after its time is up, and a kubelet to say so.
SILENT = timedelta(minutes=1)


async def find_trouble(
    run: OpenStackAnsibleEE, job: Job, pods: Sequence[Pod], look: Look, world: tuple[Client, float]
) -> Wait | None:
    """Return what there is to say of the pods of a run, other than that they start or work; None if there is nothing.

    `world` is a server to ask, and in how many seconds to look again.
    """
    client, poll = world
    stuck = find_stuck(run, job, pods, look, poll) or await _find_refused(run, job, pods, client)
    if stuck is not None:
        return stuck
    # Of a pod that has begun its Job knows what becomes of it: the Job fails, or makes another one.
    why = pod_troubles.trouble(pods)
    return Wait("Running", why, JOB_READY, poll) if why else None


def find_lost(pods: Iterable[Pod], now: datetime, poll: float) -> Wait | None:
    """Return that a pod should have ended, and that nobody says whether it has: its machine does not answer. Pure.

    Nothing goes on before: it may still work, cut off from the server alone. Kubernetes replaces it neither.
    """
    for pod in pods:
        # The time by which it has to have ended, with what it is given to end by itself.
        due = datetime.fromisoformat(pod.metadata.deletionTimestamp) if pod.metadata.deletionTimestamp else now
        if is_over(pod) or now - due <= SILENT:
            continue
        where = pod.spec.get("nodeName") or "its node"
        message = (
            f"Pod {pod.metadata.name} should have ended, and nobody says that it has: the kubelet of {where} does not "
            f"answer. If that machine is off, delete the Node {where}, or taint it with "
            "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute; the run goes on then. While it is on, Ansible "
            "may still be at work there"
        )
        return Wait("PodLost", message, JOB_READY, poll, ends=Ends.PERHAPS_BY_USER)
    return None


def explain_busy(holder: tuple[str, str], there: Iterable[Pod], now: datetime, poll: float) -> Wait:
    """Return a wait for a node, or its machine, that another run has; one of its pods may be lost. Pure."""
    node, other = holder
    message = f"Node {node} is in the run {other}"
    lost = find_lost((pod for pod in there if pod.metadata.labels.get(run_job.RUN_LABEL) == other), now, poll)
    if lost is None:
        return Wait("NodeBusy", message, JOB_READY, after=poll)
    return Wait("NodeBusy", f"{message}. {lost.message}", JOB_READY, after=poll, ends=Ends.PERHAPS_BY_USER)


def find_unread(run: OpenStackAnsibleEE, image: str, look: Look, told: Iterable[tuple[str, str]]) -> Wait | None:
    """Return what the pod of a run would read in vain, before there is a Job; `told` are objects that others speak of.

    Only the user makes what `env` and `extraMounts` name, whoever made the run. Pure.
    """
    body = run_job.describe_job(run, image)
    planned = Job(metadata=ObjectMeta(name=run.metadata.name, namespace=run.metadata.namespace), spec=body["spec"])
    return _find_missing(run, planned, look, told)


def _find_missing(
    run: OpenStackAnsibleEE, job: Job, look: Look, told: Iterable[tuple[str, str]] = (), after: float | None = None
) -> Wait | None:
    files = (ConfigMap.kind.name, run_job.name_files(run))
    found = references.missing(job, look, (files, *told))
    return Wait(found.reason, found.message, INPUT_READY, after, ends=Ends.BY_USER) if found is not None else None


def find_stuck(run: OpenStackAnsibleEE, job: Job, pods: Sequence[Pod], look: Look, poll: float) -> Wait | None:
    """Return what keeps the pod of a Job from starting; None if nothing does, or nobody knows. Pure."""
    idle = [pod for pod in pods if is_idle(pod)]
    # A pod that works has all that it reads, and what happens to that afterwards does not matter.
    missing = _find_missing(run, job, look, after=poll) if idle or not pods else None
    if missing is not None:
        return missing
    if why := pod_troubles.trouble(idle):
        message = f"{why}; {_advise(idle)}"
        # A node may get room, and a registry may answer again; nobody knows that they will.
        return Wait("PodTrouble", message, JOB_READY, poll, ends=Ends.PERHAPS_BY_USER)
    return None


def _advise(idle: Iterable[Pod]) -> str:
    statuses = [status for pod in idle for status in pod.status.get("containerStatuses") or ()]
    reasons = {((status.get("state") or {}).get("waiting") or {}).get("reason") for status in statuses}
    if reasons & pod_troubles.IMAGE:
        return "correct the image, or let the cluster's nodes pull it"
    return "correct what is named" if statuses else "make room for it, or correct what keeps it from the nodes"


async def _find_refused(run: OpenStackAnsibleEE, job: Job, pods: Sequence[Pod], client: Client) -> Wait | None:
    """Return why the server does not take the pod of a Job that lacks one; only events tell that."""
    if not missing_pods.lacks_pods(job, [pod for pod in pods if not is_over(pod)]):
        return None
    before = conditions.find(run.status.conditions, JOB_READY)
    found = await missing_pods.explain_missing(job, pods, before, client)
    if found is None:
        return None
    return Wait(found.reason, found.message, JOB_READY, missing_pods.LOOK_AGAIN, ends=Ends.BY_USER)

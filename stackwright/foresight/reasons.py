"""Why something does not go on: a reason, with what it waits for below it; and how pods come to theirs. Pure."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from stackwright.controllers.service import pods as pod_troubles
from stackwright.foresight import pod_logs
from stackwright.foresight.snapshot import Log, Snapshot
from stackwright.foresight.tree import State
from stackwright.kube.builtin import PersistentVolumeClaim, Pod
from stackwright.kube.resource import JsonObject

# How programs end that somebody else ended: by SIGKILL, by SIGTERM.
_KILLED = (137, 143)
# What is told of a claim that has no volume yet; what says most comes first.
_OF_CLAIMS = (
    "ProvisioningFailed",
    "FailedBinding",
    "ExternalProvisioning",
    "WaitForPodScheduled",
    "WaitForFirstConsumer",
)


# What is told of a pod when its node has prepared all that its containers need.
_PREPARED = ("Pulling", "Pulled", "Created", "Started")


class Excerpt(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The last lines of a container's log; of the one before its last restart where `previous` says so."""

    pod: str
    container: str
    previous: bool = False
    lines: tuple[str, ...] = ()

    @property
    def log(self) -> Log:
        """Which log it is taken from."""
        return Log(self.pod, self.container, self.previous)


class Reason(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """How something is and why; `waits_for` is what has to be there first. `above` says that it was told already."""

    kind: str
    name: str
    state: State
    condition: str = ""
    reason: str = ""
    message: str = ""
    since: str = ""
    to_do: str = ""
    log: Excerpt | None = None
    likewise: int = 0
    """How many others of its kind have the same reason."""
    above: bool = False
    waits_for: tuple["Reason", ...] = ()


def flatten(reason: Reason) -> Iterable[Reason]:
    """Yield a reason and everything that it waits for, from the top."""
    yield reason
    for entry in reason.waits_for:
        yield from flatten(entry)


def of_pod(pod: Pod, snapshot: Snapshot) -> Reason:
    """Return why a pod is not ready, or has failed: the first of these that has an answer."""
    checks: tuple[Callable[[Pod, Snapshot], Reason | None], ...] = (
        _deleting,
        _unscheduled,
        _image,
        _ended,
        _stuck,
        _mount,
        _initialising,
        _probe,
        _evicted,
        _lost,
    )
    found = (check(pod, snapshot) for check in checks)
    return next((reason for reason in found if reason is not None), _starting(pod))


def of_claim(claim: PersistentVolumeClaim, snapshot: Snapshot) -> Reason:
    """Return why a claim has no volume."""
    wanted = claim.spec.get("storageClassName") or ""
    told = next((event for reason in _OF_CLAIMS for event in snapshot.about(claim, reason)), None)
    there = sorted(snapshot.classes) if snapshot.classes is not None else []
    to_do, message = "", told.note if told is not None else f"has no volume of StorageClass {wanted} yet"
    if wanted and snapshot.classes is not None and wanted not in snapshot.classes:
        known = f"there {'is' if len(there) == 1 else 'are'} {', '.join(there)}" if there else "there is none"
        message = f"StorageClass {wanted} does not exist"
        to_do = f"Create StorageClass {wanted}, or deploy again with an existing one ({known})."
    elif told is not None and told.reason == "FailedBinding":
        to_do = "Name a storage class in the resource, or make one of the cluster's the default."
    elif told is not None and told.reason in ("ProvisioningFailed", "ExternalProvisioning"):
        to_do = f"Check that the provisioner of StorageClass {wanted} runs; it retries automatically."
    reason = told.reason if told is not None else "Pending"
    name, since = claim.metadata.name, claim.metadata.creationTimestamp
    return Reason(claim.kind.name, name, State.WARNING, reason=reason, message=message, since=since, to_do=to_do)


# Each of these is asked in turn, and answers None where it is not the one.


def _reason(pod: Pod, state: State, reason: str, message: str, **others: Any) -> Reason:
    found = {"since": pod.metadata.creationTimestamp, **others}
    return Reason(pod.kind.name, pod.metadata.name, state, reason=reason, message=message, **found)


def _deleting(pod: Pod, _: Snapshot) -> Reason | None:
    if not pod.deleting:
        return None
    return _reason(pod, State.WAITING, "Deleting", "is being stopped", since=pod.metadata.deletionTimestamp)


def _unscheduled(pod: Pod, snapshot: Snapshot) -> Reason | None:
    scheduled = _condition(pod, "PodScheduled")
    if scheduled.get("status") == "True" or pod.spec.get("nodeName"):
        return None
    if not scheduled:
        return _reason(pod, State.WAITING, "Pending", "has not been processed by the scheduler yet")
    since = str(scheduled.get("lastTransitionTime") or "")
    message = f"fits on no node: {scheduled.get('message', '')}"
    unbound = tuple(of_claim(claim, snapshot) for claim in _unbound(pod, snapshot))
    reason = str(scheduled.get("reason", ""))
    if unbound:
        return _reason(pod, State.WARNING, reason, message, since=since, waits_for=unbound)
    to_do = "Free capacity or add a node that fits, or ask for less in the resource (resources, nodeSelector)."
    return _reason(pod, State.WARNING, reason, message, since=since, to_do=to_do)


def _unbound(pod: Pod, snapshot: Snapshot) -> Iterable[PersistentVolumeClaim]:
    names = {
        volume["persistentVolumeClaim"].get("claimName")
        for volume in pod.spec.get("volumes") or ()
        if volume.get("persistentVolumeClaim")
    }
    return (claim for claim in snapshot.claims if claim.metadata.name in names and claim.status.get("phase") != "Bound")


def _image(pod: Pod, snapshot: Snapshot) -> Reason | None:
    status = next((entry for entry in _statuses(pod) if _waiting(entry) in pod_troubles.IMAGE), None)
    if status is None:
        return None
    name, image = status["name"], str(status.get("image") or "")
    events = [event.note for event in snapshot.about(pod, "Failed", "InspectFailed") if image in event.note]
    said = next(iter(events), "") or str(status["state"]["waiting"].get("message", ""))
    return _reason(
        pod,
        State.WARNING,
        _waiting(status),
        f"cannot get its image {image or f'of container {name}'}{f': {said}' if said else ''}",
        to_do="Name an existing image in spec.containerImage, or bring it to the cluster "
        "(stackwright image build, stackwright image load; or push it to its registry).",
    )


def _ended(pod: Pod, snapshot: Snapshot) -> Reason | None:
    """Return how a container ended that should not have, with the end of its log."""
    for status in _statuses(pod):
        state = status.get("state") or {}
        ended = state.get("terminated") or (status.get("lastState") or {}).get("terminated") or {}
        if status.get("ready") or not ended.get("exitCode") or pod_troubles.has_recovered(pod, status):
            continue
        name, code, why = status["name"], ended["exitCode"], ended.get("reason", "")
        excerpt = _excerpt(pod, name, snapshot, previous="terminated" not in state)
        times = f", {status['restartCount']} times so far" if status.get("restartCount", 0) > 1 else ""
        message = f"container {name} ended with code {code}{f' ({why})' if why not in ('', 'Error') else ''}{times}"
        message += pod_troubles.last_words(ended)
        if code in _KILLED and (told := next(iter(snapshot.about(pod, "Unhealthy")), None)) is not None:
            message += f", after: {told.note.strip()}"
        to_do = "Its log says why. It is restarted automatically; if it names a value, correct that in the resource."
        if why == "OOMKilled":
            to_do = "It exceeded its memory limit; give it more in the resource (resources.limits.memory)."
        elif pod.status.get("phase") == "Failed" or pod.spec.get("restartPolicy") == "Never":
            to_do = "Its log says why; fix that, and it is tried again."
        since = str(ended.get("finishedAt") or pod.metadata.creationTimestamp)
        return _reason(pod, State.WARNING, why or "Error", message, since=since, to_do=to_do, log=excerpt)
    return None


def _stuck(pod: Pod, _: Snapshot) -> Reason | None:
    """Return what the operator itself would say of the pod: a reason of which no waiting heals it."""
    said = pod_troubles.trouble([pod])
    if not said:
        return None
    status = next((entry for entry in _statuses(pod) if _waiting(entry)), {})
    message = said.removeprefix(f"Pod {pod.metadata.name}").removeprefix(":").strip()
    return _reason(pod, State.WARNING, _waiting(status) or "Stuck", message, to_do="Fix what it names.")


def _mount(pod: Pod, snapshot: Snapshot) -> Reason | None:
    """Return what keeps the node from preparing the pod: a Secret that is missing, a volume, a network."""
    if any("running" in (entry.get("state") or {}) for entry in _statuses(pod)):
        return None
    told = next(iter(snapshot.about(pod, "FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox")), None)
    if told is None or any(event.last > told.last for event in snapshot.about(pod, *_PREPARED)):
        return None
    to_do = "Create what it names, or wait for it; the node tries again."
    return _reason(pod, State.WARNING, told.reason, f"cannot start: {told.note}", to_do=to_do)


def _initialising(pod: Pod, snapshot: Snapshot) -> Reason | None:
    for status in pod.status.get("initContainerStatuses") or ():
        running = (status.get("state") or {}).get("running")
        # One that goes on beside the others is none that is waited for.
        if running is None or (status.get("started") and status.get("ready")):
            continue
        excerpt = _excerpt(pod, status["name"], snapshot, previous=False)
        message = f"waits for its container {status['name']}, which runs before the others start"
        since = str(running.get("startedAt") or "")
        return _reason(pod, State.WAITING, "Initialising", message, since=since, log=excerpt)
    return None


def _probe(pod: Pod, snapshot: Snapshot) -> Reason | None:
    unready = [entry for entry in pod.status.get("containerStatuses") or () if not entry.get("ready")]
    running = next((entry for entry in unready if "running" in (entry.get("state") or {})), None)
    if running is None:
        return None
    since = str(running["state"]["running"].get("startedAt") or "")
    told = next(iter(snapshot.about(pod, "Unhealthy", "ProbeWarning")), None)
    heard = max(since, told.last if told is not None else "")
    if any(event.last > heard for event in snapshot.about(pod, "NodeNotReady")):
        # Its node has not been heard of since.
        return None
    if told is None:
        return _reason(
            pod, State.WAITING, "NotReady", f"container {running['name']} runs and is not ready yet", since=since
        )
    return _reason(
        pod,
        State.WARNING,
        told.reason,
        f"container {running['name']} runs and is not ready: {told.note.strip()}",
        since=since,
        to_do="Its log says why it does not answer.",
        log=_excerpt(pod, running["name"], snapshot, previous=False),
    )


def _evicted(pod: Pod, _: Snapshot) -> Reason | None:
    if pod.status.get("phase") != "Failed":
        return None
    said = pod.status.get("message") or "has failed"
    return _reason(pod, State.WARNING, str(pod.status.get("reason") or "Failed"), str(said))


def _lost(pod: Pod, snapshot: Snapshot) -> Reason | None:
    """Return that the pod's node is gone from sight: all of its containers were well when it was last heard of."""
    if not snapshot.about(pod, "NodeNotReady"):
        return None
    node = pod.spec.get("nodeName", "")
    to_do = f"See what is wrong with the node: kubectl describe node {node}"
    since = str(_condition(pod, "Ready").get("lastTransitionTime") or "")
    return _reason(pod, State.WARNING, "NodeNotReady", f"its node {node} is not ready", since=since, to_do=to_do)


def _starting(pod: Pod) -> Reason:
    node = pod.spec.get("nodeName", "")
    return _reason(pod, State.WAITING, "Starting", f"is being started on node {node}")


def _excerpt(pod: Pod, container: str, snapshot: Snapshot, *, previous: bool) -> Excerpt | None:
    if not pod_logs.has_begun(pod, container):
        return None
    name = pod.metadata.name
    return Excerpt(name, container, previous, snapshot.logs.get(Log(name, container, previous), ()))


def _condition(pod: Pod, name: str) -> JsonObject:
    return next((entry for entry in pod.status.get("conditions") or () if entry.get("type") == name), {})


def _statuses(pod: Pod) -> tuple[JsonObject, ...]:
    return (*(pod.status.get("initContainerStatuses") or ()), *(pod.status.get("containerStatuses") or ()))


def _waiting(status: JsonObject) -> str:
    """Return for which reason a container waits; "" where it does not."""
    return str(((status.get("state") or {}).get("waiting") or {}).get("reason", ""))

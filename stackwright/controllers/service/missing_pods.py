"""Pods that the API server refuses: a Deployment says so itself; of other workloads only events tell."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from stackwright.kube import clock, conditions
from stackwright.kube.builtin import DaemonSet, Event, Job, Plain, Pod, StatefulSet
from stackwright.kube.client import Client
from stackwright.kube.conditions import Finding
from stackwright.kube.controller import Context
from stackwright.kube.errors import Denied
from stackwright.kube.resource import Condition, CustomResource, Resource
from stackwright.kube.shapes.outcome import Outcome
from stackwright.kube.shapes.states import REFUSED, is_ready, refusal

# When a workload that lacks pods is looked at again: events wake nobody.
LOOK_AGAIN = 10.0
# How long a new workload may be without a pod before anybody asks why.
GRACE = 3.0
# How long it may take until a status says that a pod is missing.
NOTICED = 30.0


class RefusalEvent(Event, frozen=True, kw_only=True):
    """An event with the time field of the older form."""

    deprecatedLastTimestamp: str | None = None

    @property
    def last(self) -> str:
        """When it was reported last."""
        series = (self.series or {}).get("lastObservedTime")
        return str(series or self.deprecatedLastTimestamp or self.eventTime or self.metadata.creationTimestamp)


def lacks_pods(workload: Resource, pods: Iterable[Pod]) -> bool:
    """Return whether a workload should have made a pod by now, and waits for none that it has. Pure."""
    own = [pod for pod in _own(workload, pods) if not pod.deleting]
    match workload:
        case StatefulSet(spec=spec, status=status):
            seen = status.get("observedGeneration", 0) >= workload.metadata.generation
            return seen and len(own) < spec.get("replicas", 1) and all(map(is_ready, own))
        case DaemonSet(status=status):
            # Of a node it has a pod at once, whatever becomes of those of other nodes.
            seen = status.get("observedGeneration", 0) >= workload.metadata.generation
            return bool(seen and len(own) < status.get("desiredNumberScheduled", 0))
        case Job(spec=spec, status=status):
            ended = any(entry.get("status") == "True" for entry in status.get("conditions") or ())
            return not own and not ended and not spec.get("suspend") and not status.get("succeeded")
    return False


async def find_refused(
    resource: CustomResource, outcome: Outcome, mine: Sequence[Pod], context: Context
) -> tuple[tuple[Finding, ...], list[float]]:
    """Return which workloads may not make their pods, and when to look again while one of them lacks some."""
    found: list[Finding] = []
    delays: list[float] = []
    for item in outcome.desired:
        workload = outcome.latest(item, context.store(item.of).get(item.key))
        beside = item.of is Job and not item.condition
        if not beside and isinstance(workload, Plain) and lacks_pods(workload, mine):
            delays.append(LOOK_AGAIN)
            trouble = conditions.find(resource.status.conditions, item.condition or conditions.READY)
            finding = await explain_missing(workload, mine, trouble, context.client)
            found.extend([replace(finding, condition=item.condition)] if finding is not None else ())
    return tuple(found), delays


async def explain_missing(
    workload: Plain, pods: Iterable[Pod], trouble: Condition | None, client: Client
) -> Finding | None:
    """Return why a workload cannot create its missing pods; None if there is no event about it.

    `trouble` is the condition that follows the workload.
    """
    metadata = workload.metadata
    if metadata.creationTimestamp > clock.seconds(clock.now() - timedelta(seconds=GRACE)):
        return None
    try:
        about = f"regarding.uid={metadata.uid},reason={REFUSED}"
        events = await client.list(RefusalEvent, metadata.namespace, fields=about)
    except Denied:
        # An operator with the rights of an older chart does its work without the reason.
        return None
    newest = max(events, key=lambda event: event.last, default=None)
    since = told_since(_own(workload, pods), trouble, clock.now())
    return refusal(workload, newest.note) if newest is not None and newest.last >= since else None


def told_since(own: Iterable[Pod], trouble: Condition | None, now: datetime) -> str:
    """Return since when an event is about what is missing now. Pure.

    Events stay for an hour. What one tells is over when a pod came since then, or when all was well.
    """
    came = [pod.metadata.creationTimestamp for pod in own]
    if trouble is not None and trouble.status != "Unknown" and trouble.lastTransitionTime:
        well = now if trouble.status == "True" else datetime.fromisoformat(trouble.lastTransitionTime)
        # The event about a refusal comes a moment before the status says that pods are missing.
        came.append(clock.seconds(well - timedelta(seconds=NOTICED)))
    return max(came, default="")


def _own(workload: Resource, pods: Iterable[Pod]) -> list[Pod]:
    uid = workload.metadata.uid
    return [pod for pod in pods if any(owner.uid == uid for owner in pod.metadata.ownerReferences)]

"""A pod that no node can take asks a person, once that has lasted, with the scheduler's reason."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from stackwright.api.base import ObjectMeta
from stackwright.controllers.service import pods, room
from stackwright.kube import clock
from stackwright.kube.builtin import Deployment, Pod
from stackwright.kube.conditions import Finding

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
NO_MEMORY = (
    "0/1 nodes are available: 1 Insufficient memory. preemption: 0/1 nodes are available: 1 No preemption victims."
)
WHY = "Pod web-1 fits on no node: 0/1 nodes are available: 1 Insufficient memory; free capacity, add a node that fits, "


def pod(
    seconds: float, message: str = NO_MEMORY, reason: str = "Unschedulable", name: str = "web-1", **meta: Any
) -> Pod:
    """A pod that has had no node for some seconds."""
    since = clock.seconds(NOW - timedelta(seconds=seconds))
    stated = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    labels = {"app.kubernetes.io/component": "api"}
    return Pod(
        metadata=ObjectMeta(name=name, namespace="cloud", labels=labels, **meta),
        status={"conditions": [{**stated, "lastTransitionTime": since}]},
    )


def explained(*mine: Pod, **status: int) -> Finding:
    present = Deployment(
        metadata=ObjectMeta(name="web", generation=1), spec={"replicas": 1}, status={"observedGeneration": 1, **status}
    )
    return pods.explained(present, "api", mine, NOW, beside=False)


def test_who_has_no_node_for_long_asks_a_person() -> None:
    found = explained(pod(room.LASTS))
    assert (found.status, found.reason, found.severity) == ("False", "NoNodeFits", "Error")
    assert found.message.startswith(WHY)


def test_a_moment_without_a_node_is_no_error_and_is_looked_at_again() -> None:
    waiting = pod(room.LASTS - 20)
    assert explained(waiting).severity == "Warning"
    assert room.look_again([waiting], NOW) == [20.0]
    assert room.look_again([pod(room.LASTS)], NOW) == []


def test_who_serves_meanwhile_is_told() -> None:
    found = explained(pod(600), replicas=2, updatedReplicas=1, availableReplicas=1)
    assert (found.reason, found.severity) == ("RolloutStuck", "Error")
    assert found.message.startswith(
        "Deployment web serves with 1 of 1 pods, and a new one is not ready yet: Pod web-1 "
    )


def test_it_is_told_whatever_other_pods_have() -> None:
    statuses = [{"name": "api", "state": {"waiting": {"reason": "ErrImagePull"}}, "image": "x"}]
    labels = {"app.kubernetes.io/component": "api"}
    other = Pod(metadata=ObjectMeta(name="web-0", labels=labels), status={"containerStatuses": statuses})
    assert explained(other, pod(600)).reason == "NoNodeFits"
    assert explained(other, pod(1)).reason == "PodTrouble"


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(
            pod(600, "0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }."),
            id="a-node-that-starts",
        ),
        pytest.param(pod(600, "pod has unbound immediate PersistentVolumeClaims."), id="a-volume-that-is-made"),
        pytest.param(pod(600, "didn't find available persistent volumes to bind"), id="volumes-to-come"),
        pytest.param(pod(600, "waits", reason="SchedulingGated"), id="a-gate-that-somebody-opens"),
        pytest.param(pod(600, deletionTimestamp="2026-11-16T12:00:00Z"), id="a-pod-that-goes"),
        pytest.param(Pod(metadata=ObjectMeta(name="web-1")), id="nobody-has-looked-yet"),
    ],
)
def test_what_others_see_to_asks_nobody(other: Pod) -> None:
    assert room.lacking([other], NOW) == ""
    assert room.look_again([other], NOW) == []
    assert explained(other).severity != "Error"


@pytest.mark.parametrize(
    "message",
    [
        "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
        "0/1 nodes are available: 1 node(s) had untolerated taint {dedicated: gpu}.",
        "0/1 nodes are available: 1 node(s) were unschedulable.",
    ],
)
def test_the_schedulers_reason_is_repeated(message: str) -> None:
    assert message.rstrip(".") in room.lacking([pod(room.LASTS + 1, message)], NOW)


def arriving(seconds: float, phase: str = "Pending", **status: Any) -> Pod:
    """A pod that was made some seconds ago and has a node."""
    made = clock.seconds(NOW - timedelta(seconds=seconds))
    metadata = ObjectMeta(name="web-2", namespace="cloud", creationTimestamp=made)
    return Pod(metadata=metadata, status={"phase": phase, **status})


def without_volume(seconds: float) -> Pod:
    """A pod that has waited for its volume since it was made."""
    made = clock.seconds(NOW - timedelta(seconds=seconds))
    message = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."
    return pod(seconds, message, creationTimestamp=made)


def without_node(seconds: float, why: str, nodes: int, helps: int = 0) -> Pod:
    """A pod that has had no node since it was made; on some nodes another pod that went would help."""
    counts = {
        "No preemption victims found for incoming pod": helps,
        "Preemption is not helpful for scheduling": nodes - helps,
    }
    added = ", ".join(f"{count} {said}" for said, count in counts.items() if count)
    none = f"0/{nodes} nodes are available"
    message = f"{none}: {why}. no new claims to deallocate, preemption: {none}: {added}."
    return pod(seconds, message, creationTimestamp=clock.seconds(NOW - timedelta(seconds=seconds)))


SELECTED = "3 node(s) didn't match Pod's node affinity/selector"


# It has its volumes and its network, and fetches an image, or does not get it.
SET_UP = [{"type": "PodReadyToStartContainers", "status": "True"}]
NOT_SET_UP = [{"type": "PodReadyToStartContainers", "status": "False"}]
# It waits for a Job.
WAITING = [{"name": "wait-for-db-sync", "state": {"running": {"startedAt": "2026-11-16T11:00:00Z"}}}]
FAILING = [{"name": "wait-for-db-sync", "state": {"waiting": {}}, "lastState": {"terminated": {"exitCode": 1}}}]


REFUSED = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota: small"}


@pytest.mark.parametrize(
    ("pods_there", "conditions", "crowded"),
    [
        pytest.param((), [], False, id="nobody-waits"),
        pytest.param((pod(1),), [], True, id="no-node-fits"),
        pytest.param((arriving(room.ARRIVES - 1),), [], False, id="on-its-way"),
        pytest.param((arriving(room.ARRIVES),), [], True, id="long-on-its-way"),
        pytest.param((arriving(900, conditions=NOT_SET_UP),), [], True, id="long-without-a-volume-that-another-has"),
        pytest.param((arriving(900, conditions=SET_UP),), [], False, id="long-without-an-image"),
        pytest.param((arriving(900, initContainerStatuses=WAITING),), [], False, id="long-behind-a-job"),
        pytest.param((arriving(900, initContainerStatuses=FAILING),), [], False, id="it-fails-before-it-runs"),
        pytest.param((arriving(900, "Running"),), [], False, id="it-runs-and-is-not-ready"),
        pytest.param((without_volume(1),), [], False, id="its-volume-is-being-made"),
        pytest.param((without_volume(room.ARRIVES),), [], True, id="its-volume-does-not-come"),
        pytest.param((without_node(900, SELECTED, 3),), [], False, id="no-node-has-its-labels"),
        pytest.param(
            (without_node(900, "1 node(s) had untolerated taint(s)", 1),), [], False, id="its-node-starts-anew"
        ),
        pytest.param((without_node(1, f"1 Insufficient memory, {SELECTED}", 4, 1),), [], True, id="one-node-is-full"),
        pytest.param(
            (without_node(900, "1 node(s) didn't find available persistent volumes to bind", 1),),
            [],
            True,
            id="another-has-its-volume",
        ),
        pytest.param((), [REFUSED], True, id="no-pod-may-be-made"),
    ],
)
def test_room_is_made_for_pods_that_do_not_get_started(
    pods_there: tuple[Pod, ...], conditions: list[dict[str, str]], crowded: bool
) -> None:
    status = {"observedGeneration": 1, "replicas": 1, "conditions": conditions}
    present = Deployment(metadata=ObjectMeta(name="web", generation=1), spec={"replicas": 1}, status=status)
    assert room.is_crowded(pods_there, (present,), NOW) is crowded


def test_pods_that_are_on_their_way_are_looked_at_again() -> None:
    assert room.crowded_in((arriving(10), arriving(40), arriving(900), arriving(5, "Running")), NOW) == 20.0
    assert room.crowded_in((arriving(900), arriving(10, conditions=SET_UP)), NOW) is None
    assert room.crowded_in((without_node(10, SELECTED, 3),), NOW) is None

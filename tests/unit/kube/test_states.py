"""Whether a workload is there follows from what its controller reports of it."""

from typing import Any

import pytest

from stackwright.kube.builtin import (
    ConfigMap,
    DaemonSet,
    Deployment,
    Job,
    PersistentVolumeClaim,
    Plain,
    Service,
    StatefulSet,
)
from stackwright.kube.resource import ObjectMeta
from stackwright.kube.shapes.states import refusal, state_of


def of(kind: type[Plain], status: dict[str, Any], *, replicas: int = 2) -> Plain:
    spec = {"replicas": replicas} if kind in (Deployment, StatefulSet) else {}
    return kind(metadata=ObjectMeta(name="a", generation=2), spec=spec, status=status)


DONE = {"observedGeneration": 2, "updatedReplicas": 2, "availableReplicas": 2}
STUCK = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "too slow"}
PROFILE = 'is forbidden: violates PodSecurity "restricted:latest": host namespaces (hostNetwork=true)'
REFUSED = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": f'pods "a-5d-x2" {PROFILE}'}
# The pod from before a change, and a new one that is not ready.
SERVING = {"observedGeneration": 2, "replicas": 2, "updatedReplicas": 1, "availableReplicas": 1}
EVERYWHERE = {
    "observedGeneration": 2,
    "desiredNumberScheduled": 3,
    "currentNumberScheduled": 3,
    "updatedNumberScheduled": 3,
    "numberAvailable": 3,
}
FAILED = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "no more tries"}


@pytest.mark.parametrize(
    ("resource", "status", "reason", "severity"),
    [
        pytest.param(of(Deployment, DONE), "True", "Ready", "", id="all-replicas-are-available"),
        pytest.param(of(Deployment, {}), "False", "Requested", "Info", id="nobody-looked-at-a-new-one"),
        pytest.param(
            of(Deployment, {**DONE, "observedGeneration": 1}), "False", "Requested", "Info", id="seen-before-the-change"
        ),
        pytest.param(
            of(Deployment, {**DONE, "updatedReplicas": 1}), "False", "Progressing", "Info", id="old-pods-still-run"
        ),
        pytest.param(
            of(
                Deployment,
                {"observedGeneration": 2, "replicas": 2, "updatedReplicas": 1, "availableReplicas": 1},
                replicas=1,
            ),
            "False",
            "Progressing",
            "Info",
            id="only-an-old-pod-is-available",
        ),
        pytest.param(
            of(
                Deployment,
                {"observedGeneration": 2, "replicas": 2, "updatedReplicas": 1, "availableReplicas": 2},
                replicas=1,
            ),
            "False",
            "Progressing",
            "Info",
            id="an-old-pod-is-still-there",
        ),
        pytest.param(
            of(Deployment, {"observedGeneration": 2, "conditions": [STUCK]}),
            "False",
            "ProgressDeadlineExceeded",
            "Error",
            id="a-first-start-that-is-stuck",
        ),
        pytest.param(
            of(Deployment, {**SERVING, "conditions": [STUCK]}, replicas=1),
            "False",
            "RolloutStuck",
            "Error",
            id="a-rollout-that-is-stuck",
        ),
        pytest.param(
            of(Deployment, {"observedGeneration": 2, "conditions": [REFUSED, STUCK]}),
            "False",
            "FailedCreate",
            "Error",
            id="pods-that-the-server-refuses",
        ),
        pytest.param(of(Deployment, {"observedGeneration": 2}, replicas=0), "True", "Ready", "", id="none-are-wanted"),
        pytest.param(
            of(StatefulSet, {**DONE, "availableReplicas": 1}), "False", "Progressing", "Info", id="one-is-not-available"
        ),
        pytest.param(
            of(
                DaemonSet,
                {
                    "observedGeneration": 2,
                    "desiredNumberScheduled": 3,
                    "updatedNumberScheduled": 3,
                    "numberAvailable": 3,
                },
            ),
            "True",
            "Ready",
            "",
            id="a-pod-on-every-node",
        ),
        pytest.param(
            of(DaemonSet, {**EVERYWHERE, "numberAvailable": 2}),
            "False",
            "Progressing",
            "Info",
            id="a-node-without-it",
        ),
        pytest.param(
            of(DaemonSet, {**EVERYWHERE, "observedGeneration": 1}),
            "False",
            "Requested",
            "Info",
            id="not-seen-as-it-is",
        ),
        pytest.param(
            of(DaemonSet, {**EVERYWHERE, "updatedNumberScheduled": 2}),
            "False",
            "Progressing",
            "Info",
            id="one-node-has-the-old-pod",
        ),
        pytest.param(of(DaemonSet, {"observedGeneration": 2}), "True", "NoNodes", "", id="no-node-that-it-is-for"),
        pytest.param(of(DaemonSet, {}), "False", "Requested", "Info", id="a-daemon-that-nobody-looked-at"),
        pytest.param(of(Job, {}), "False", "Running", "Info", id="a-job-that-runs"),
        pytest.param(
            of(Job, {"conditions": [{"type": "Complete", "status": "True"}]}), "True", "Ready", "", id="a-finished-job"
        ),
        pytest.param(of(Job, {"conditions": [FAILED]}), "False", "BackoffLimitExceeded", "Error", id="a-failed-job"),
        pytest.param(of(PersistentVolumeClaim, {"phase": "Bound"}), "True", "Ready", "", id="a-bound-claim"),
        pytest.param(of(PersistentVolumeClaim, {}), "False", "VolumeUnbound", "Info", id="a-claim-without-volume"),
        pytest.param(of(PersistentVolumeClaim, {"phase": "Lost"}), "False", "VolumeLost", "Error", id="a-lost-volume"),
        pytest.param(of(Service, {}), "True", "Ready", "", id="a-kind-that-nobody-works-on"),
        pytest.param(ConfigMap(metadata=ObjectMeta(name="a")), "True", "Ready", "", id="plain-data"),
    ],
)
def test_state_of(resource: Plain | ConfigMap, status: str, reason: str, severity: str) -> None:
    finding = state_of(resource)
    assert (finding.status, finding.reason, finding.severity) == (status, reason, severity)


def test_a_rollout_says_how_far_it_is() -> None:
    message = state_of(of(Deployment, {**DONE, "availableReplicas": 1})).message
    assert message == "Deployment a has 1 of 2 pods ready"


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(f'pods "a-5d-x2" {PROFILE}', id="a-replica-set"),
        pytest.param(f'Error creating: pods "a-5d-x2" {PROFILE}', id="a-job"),
        pytest.param(f'(combined from similar events): Error creating: pods "a-x7" {PROFILE}', id="again-and-again"),
        pytest.param(f'Create Pod a-0 in StatefulSet a failed error: pods "a-0" {PROFILE}', id="a-stateful-set"),
    ],
)
def test_a_refusal_names_no_pod_because_each_try_has_another(said: str) -> None:
    found = refusal(of(StatefulSet, {}), said)
    rest = PROFILE.removeprefix("is ")
    assert found.message.startswith(f"StatefulSet a cannot create its pods: {rest}; fix what is named")


@pytest.mark.parametrize(
    ("status", "replicas", "message"),
    [
        pytest.param(
            SERVING,
            1,
            "Deployment a serves with 1 of 1 pods, and a new one is not ready yet",
            id="the-old-pod-serves",
        ),
        pytest.param(
            {"observedGeneration": 2, "replicas": 4, "updatedReplicas": 2, "availableReplicas": 3},
            3,
            "Deployment a serves with 3 of 3 pods, and a new one is not ready yet",
            id="half-way",
        ),
        pytest.param(
            {**SERVING, "availableReplicas": 0}, 1, "Deployment a has 0 of 1 pods ready", id="the-old-pod-is-gone-too"
        ),
        pytest.param(
            {"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1},
            1,
            "Deployment a has 0 of 1 pods ready",
            id="a-first-start",
        ),
        pytest.param(
            {**SERVING, "conditions": [STUCK]},
            1,
            "Deployment a serves with 1 of 1 pods, and a new one is not ready yet: too slow",
            id="stuck",
        ),
    ],
)
def test_who_serves_during_a_rollout_is_told(status: dict[str, Any], replicas: int, message: str) -> None:
    assert state_of(of(Deployment, status, replicas=replicas)).message == message


@pytest.mark.parametrize(
    ("pod", "none"),
    [
        pytest.param({}, "none takes its pods", id="any-node"),
        pytest.param({"nodeSelector": {"b": "2", "a": "1"}}, "none that has the labels a=1, b=2 takes", id="by-label"),
        pytest.param({"affinity": {"nodeAffinity": {}}}, "none that it asks for takes its pods", id="by-affinity"),
    ],
)
def test_a_daemon_set_for_no_node_says_which_nodes_it_is_for(pod: dict[str, Any], none: str) -> None:
    found = DaemonSet(
        metadata=ObjectMeta(name="a", generation=2),
        spec={"template": {"spec": pod}},
        status={"observedGeneration": 2},
    )
    assert state_of(found).message.startswith(f"DaemonSet a runs on no node: {none}")


def test_a_daemon_set_that_rolls_serves_on() -> None:
    found = of(DaemonSet, {**EVERYWHERE, "updatedNumberScheduled": 1, "numberAvailable": 2})
    assert state_of(found).message == "DaemonSet a serves with 2 of 3 pods, and a new one is not ready yet"


@pytest.mark.parametrize(
    ("finalizers", "reason"),
    [
        pytest.param(("example.com/hold",), "HeldByFinalizer", id="a-strangers"),
        pytest.param(("foregroundDeletion", "kubernetes.io/pvc-protection"), "Ready", id="kubernetes-own"),
        pytest.param(("hold",), "Ready", id="one-without-a-domain"),
    ],
)
def test_what_a_stranger_keeps_from_going_needs_a_person(finalizers: tuple[str, ...], reason: str) -> None:
    metadata = ObjectMeta(name="a", deletionTimestamp="2026-11-15T00:00:00Z", finalizers=finalizers)
    found = state_of(ConfigMap(metadata=metadata))
    assert found.reason == reason
    assert (found.severity == "Error") == (reason == "HeldByFinalizer")
    # Before it is being deleted, nobody is held.
    assert state_of(ConfigMap(metadata=ObjectMeta(name="a", finalizers=finalizers))).reason == "Ready"

"""Why pods are not ready, each by its own reason."""

from typing import Any

import pytest

from stackwright.foresight import reasons
from stackwright.foresight.snapshot import DatedEvent, Log
from stackwright.foresight.tree import State
from stackwright.kube.builtin import PersistentVolumeClaim, Pod
from tests.unit.foresight.clouds import made
from tests.unit.foresight.snapshots import container, pod, snapshot, told

STARTED = "2026-11-15T10:01:00Z"
UNFIT = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": STARTED}
FAILED_PULL = 'Failed to pull image "registry.example/api:1": rpc error: not found'


UNREADY = {"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-15T10:04:00Z"}
# It ended once, and runs since STARTED.
RECOVERED = container(
    {"running": {"startedAt": STARTED}},
    restartCount=1,
    lastState={"terminated": {"exitCode": 3, "reason": "Error", "finishedAt": "2026-11-15T10:00:58Z"}},
)


def unscheduled(message: str, **spec: Any) -> Pod:
    found: Pod = made(
        Pod,
        "web-0",
        spec={"containers": [], **spec},
        status={"phase": "Pending", "conditions": [{**UNFIT, "message": message}]},
    )
    return found


def waiting(reason: str, message: str = "", **fields: Any) -> Any:
    return container({"waiting": {"reason": reason, "message": message}}, **fields)


def events(of: Pod, *entries: tuple[str, str]) -> tuple[DatedEvent, ...]:
    return tuple(told(of, reason, note) for reason, note in entries)


@pytest.mark.parametrize(
    ("found", "happened", "reason", "message", "to_do"),
    [
        pytest.param(
            pod("web-0", containerStatuses=[waiting("ImagePullBackOff", "Back-off pulling image")]),
            [("Failed", FAILED_PULL), ("Failed", "Error: ErrImagePull")],
            "ImagePullBackOff",
            f"cannot get its image registry.example/api:1: {FAILED_PULL}",
            "spec.containerImage",
            id="an-image-that-cannot-be-had-with-what-the-registry-said",
        ),
        pytest.param(
            unscheduled("0/1 nodes are available: 1 Insufficient cpu."),
            [],
            "Unschedulable",
            "fits on no node: 0/1 nodes are available: 1 Insufficient cpu.",
            "Free capacity",
            id="no-node-has-room",
        ),
        pytest.param(
            made(Pod, "web-0", status={"phase": "Pending"}),
            [],
            "Pending",
            "has not been processed by the scheduler yet",
            "",
            id="nobody-looked-yet",
        ),
        pytest.param(
            pod("web-0", containerStatuses=[waiting("CreateContainerConfigError", 'secret "x" not found')]),
            [],
            "CreateContainerConfigError",
            'secret "x" not found',
            "Fix what it names.",
            id="a-container-that-cannot-be-made",
        ),
        pytest.param(
            pod("web-0", containerStatuses=[waiting("ContainerCreating")]),
            [("FailedMount", 'MountVolume.SetUp failed: secret "keystone-config-data" not found')],
            "FailedMount",
            'cannot start: MountVolume.SetUp failed: secret "keystone-config-data" not found',
            "Create what it names",
            id="a-secret-that-cannot-be-mounted",
        ),
        pytest.param(
            pod("web-0", phase="Running", containerStatuses=[container({"running": {"startedAt": STARTED}})]),
            [("Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503\n")],
            "Unhealthy",
            "container api runs and is not ready: Readiness probe failed: HTTP probe failed with statuscode: 503",
            "Its log says why it does not answer.",
            id="a-probe-that-fails",
        ),
        pytest.param(
            pod("web-0", phase="Running", containerStatuses=[container({"running": {"startedAt": STARTED}})]),
            [],
            "NotReady",
            "container api runs and is not ready yet",
            "",
            id="a-container-that-is-just-starting",
        ),
        pytest.param(
            pod("web-0", phase="Failed", reason="Evicted", message="The node was low on resource: memory."),
            [],
            "Evicted",
            "The node was low on resource: memory.",
            "",
            id="a-pod-that-its-node-threw-out",
        ),
        pytest.param(
            pod(
                "web-0",
                phase="Running",
                conditions=[{"type": "Ready", "status": "False", "lastTransitionTime": STARTED}],
                containerStatuses=[container({"running": {"startedAt": STARTED}}, ready=True)],
            ),
            [("NodeNotReady", "Node is not ready")],
            "NodeNotReady",
            "its node one is not ready",
            "kubectl describe node one",
            id="a-pod-whose-node-is-lost",
        ),
        pytest.param(
            pod("web-0", phase="Running", conditions=[UNREADY], containerStatuses=[RECOVERED]),
            [("Unhealthy", "Readiness probe failed: statuscode: 503")],
            "Unhealthy",
            "container api runs and is not ready: Readiness probe failed: statuscode: 503",
            "Its log says why it does not answer.",
            id="a-container-that-was-well-after-it-had-ended",
        ),
        pytest.param(
            pod("web-0", phase="Running", conditions=[UNREADY], containerStatuses=[RECOVERED]),
            [("NodeNotReady", "Node is not ready")],
            "NodeNotReady",
            "its node one is not ready",
            "kubectl describe node one",
            id="a-container-that-had-ended-on-a-node-that-is-lost",
        ),
        pytest.param(
            pod(
                "web-0",
                phase="Running",
                conditions=[{**UNREADY, "lastTransitionTime": "2026-11-15T10:01:02Z"}],
                containerStatuses=[RECOVERED],
            ),
            [],
            "Error",
            "container api ended with code 3",
            "Its log says why.",
            id="a-container-that-was-not-well-since-it-ended",
        ),
        pytest.param(
            pod("web-0", containerStatuses=[{"name": "api", "state": {"waiting": {"reason": "ErrImagePull"}}}]),
            [],
            "ErrImagePull",
            "cannot get its image of container api",
            "spec.containerImage",
            id="an-image-that-the-status-does-not-name",
        ),
        pytest.param(
            pod("web-0", containerStatuses=[waiting("ContainerCreating")]),
            [],
            "Starting",
            "is being started on node one",
            "",
            id="a-pod-that-is-just-starting",
        ),
    ],
)
def test_the_reason_of_a_pod(
    found: Pod, happened: list[tuple[str, str]], reason: str, message: str, to_do: str
) -> None:
    why = reasons.of_pod(found, snapshot(found, *events(found, *happened)))
    assert (why.reason, why.message) == (reason, message)
    assert to_do in why.to_do
    assert bool(why.to_do) == bool(to_do)


@pytest.mark.parametrize(
    ("status", "previous", "message", "to_do"),
    [
        pytest.param(
            waiting(
                "CrashLoopBackOff",
                "back-off 40s",
                restartCount=3,
                lastState={"terminated": {"exitCode": 3, "reason": "Error", "finishedAt": STARTED}},
            ),
            True,
            "container api ended with code 3, 3 times so far",
            "It is restarted automatically",
            id="again-and-again",
        ),
        pytest.param(
            container({"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": STARTED}}),
            False,
            "container api ended with code 137 (OOMKilled)",
            "resources.limits.memory",
            id="for-want-of-memory",
        ),
    ],
)
def test_a_container_that_ended_tells_its_code_and_the_end_of_its_log(
    status: Any, previous: bool, message: str, to_do: str
) -> None:
    found = pod("web-0", phase="Running", containerStatuses=[status])
    lines = ("Traceback", "no route to database")
    why = reasons.of_pod(found, snapshot(found, logs={Log("web-0", "api", previous): lines}))
    assert (why.state, why.message, why.since) == (State.WARNING, message, STARTED)
    assert to_do in why.to_do
    assert why.log is not None
    assert (why.log.lines, why.log.previous) == (lines, previous)


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        pytest.param("2026-11-15T10:03:00Z", "Starting", id="then-it-went-on"),
        pytest.param("2026-11-15T10:01:00Z", "FailedMount", id="after-it-had-gone-on"),
    ],
)
def test_a_mount_that_failed_before_the_image_was_pulled_is_past(last: str, reason: str) -> None:
    found = pod("web-0", containerStatuses=[waiting("ContainerCreating")])
    happened = (
        told(found, "FailedMount", "a Secret is missing", "2026-11-15T10:02:00Z"),
        told(found, "Pulling", "Pulling image", last, "Normal"),
    )
    assert reasons.of_pod(found, snapshot(found, *happened)).reason == reason


def test_a_container_that_its_probe_had_killed_tells_the_probe() -> None:
    ended = {"terminated": {"exitCode": 137, "reason": "Error", "finishedAt": STARTED}}
    found = pod("web-0", containerStatuses=[waiting("CrashLoopBackOff", restartCount=1, lastState=ended)])
    why = reasons.of_pod(found, snapshot(found, told(found, "Unhealthy", "Liveness probe failed: timeout")))
    assert why.message == "container api ended with code 137, after: Liveness probe failed: timeout"


def test_a_pod_whose_first_containers_wait_shows_what_they_say() -> None:
    waits = container({"running": {"startedAt": STARTED}}, name="wait")
    found = pod("web-0", initContainerStatuses=[waits], containerStatuses=[waiting("PodInitializing")])
    why = reasons.of_pod(found, snapshot(found, logs={Log("web-0", "wait"): ("waits for Job db-sync",)}))
    assert (why.state, why.reason, why.since) == (State.WAITING, "Initialising", STARTED)
    assert why.log is not None
    assert why.log.lines == ("waits for Job db-sync",)


def claim(name: str, storage_class: str) -> PersistentVolumeClaim:
    found: PersistentVolumeClaim = made(
        PersistentVolumeClaim, name, spec={"storageClassName": storage_class}, status={"phase": "Pending"}
    )
    return found


@pytest.mark.parametrize(
    ("storage_class", "happened", "message", "to_do"),
    [
        pytest.param(
            "fast",
            ("ProvisioningFailed", 'storageclass.storage.k8s.io "fast" not found'),
            "StorageClass fast does not exist",
            "Create StorageClass fast, or deploy again with an existing one (there is local).",
            id="no-such-class",
        ),
        pytest.param(
            "local",
            ("ProvisioningFailed", "failed to provision volume: not enough space"),
            "failed to provision volume: not enough space",
            "Check that the provisioner of StorageClass local runs; it retries automatically.",
            id="the-provisioner-fails",
        ),
        pytest.param(
            "local",
            ("ExternalProvisioning", "Waiting for a volume to be created by the external provisioner 'nobody'"),
            "Waiting for a volume to be created by the external provisioner 'nobody'",
            "Check that the provisioner of StorageClass local runs; it retries automatically.",
            id="no-provisioner-answers",
        ),
        pytest.param(
            "",
            ("FailedBinding", "no persistent volumes available for this claim and no storage class is set"),
            "no persistent volumes available for this claim and no storage class is set",
            "Name a storage class in the resource, or make one of the cluster's the default.",
            id="no-class-and-no-default",
        ),
        pytest.param("local", None, "has no volume of StorageClass local yet", "", id="nothing-was-said-yet"),
    ],
)
def test_a_volume_that_is_not_bound(storage_class: str, happened: Any, message: str, to_do: str) -> None:
    data = claim("data", storage_class)
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    found = unscheduled("0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.", volumes=volumes)
    why = reasons.of_pod(found, snapshot(found, data, *([told(data, *happened)] if happened else [])))
    (below,) = why.waits_for
    assert (below.kind, below.message, below.to_do) == ("PersistentVolumeClaim", message, to_do)
    assert why.to_do == ""


def test_why_a_volume_cannot_be_made_goes_before_that_it_is_waited_for() -> None:
    data = claim("data", "local")
    happened = [
        told(data, "ProvisioningFailed", "no space", "2026-11-15T10:02:00Z"),
        told(data, "ExternalProvisioning", "Waiting for a volume", "2026-11-15T10:03:00Z"),
    ]
    assert reasons.of_claim(data, snapshot(data, *happened)).message == "no space"


def test_of_several_events_the_newest_counts_and_those_of_an_object_before_do_not() -> None:
    found = pod("web-0", phase="Running", containerStatuses=[container({"running": {"startedAt": STARTED}})])
    before: Pod = made(Pod, "web-0", metadata={"uid": "an older pod of that name"})
    happened = [
        told(found, "Unhealthy", "statuscode: 500", "2026-11-15T10:02:00Z"),
        told(found, "Unhealthy", "statuscode: 503", "2026-11-15T10:03:00Z"),
        told(before, "Unhealthy", "connection refused", "2026-11-15T10:04:00Z"),
    ]
    assert reasons.of_pod(found, snapshot(found, *happened)).message.endswith("statuscode: 503")

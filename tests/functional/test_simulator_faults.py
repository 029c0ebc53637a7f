"""Each fault of the simulator on a real API server: the status and events that it leaves, and its healing."""

from collections.abc import Callable
from typing import Any

import pytest

from stackwright.kube.builtin import Deployment, PersistentVolumeClaim, Pod
from stackwright.kube.client import Client
from stackwright.kube.resource import JsonObject
from stackwright.simulator import (
    Behaviour,
    Crash,
    Fault,
    ImageMissing,
    ProbeFailing,
    Script,
    Selector,
    Unschedulable,
    VolumeUnbound,
    simulated,
)
from tests.functional import workloads
from tests.functional.watching import eventually, some, told
from tests.functional.workloads import available, condition, make_class

FAULT = "simulator.stackwright.org/fault"


def of_web(fault: Fault) -> Script:
    return Script((Behaviour(Selector(kind="Deployment", name="web"), fault=fault),))


def state(pod: Pod) -> JsonObject:
    """Return the state of the pod's first container; empty before anybody reported it."""
    statuses: list[JsonObject] = pod.status.get("containerStatuses", [])
    found: JsonObject = statuses[0]["state"] if statuses else {}
    return found


def waiting(reason: str) -> Callable[[Pod], bool]:
    return lambda pod: state(pod).get("waiting", {}).get("reason") == reason


def scheduled(pod: Pod) -> JsonObject:
    return next((one for one in pod.status.get("conditions", ()) if one["type"] == "PodScheduled"), {})


@pytest.mark.parametrize(
    ("fault", "struck", "phase", "events"),
    [
        pytest.param(
            ImageMissing(backoff=1.0),
            waiting("ImagePullBackOff"),
            "Pending",
            {"Pulling": "Pulling image", "Failed": "Error: ErrImagePull", "BackOff": "Back-off pulling image"},
            id="image-missing",
        ),
        pytest.param(
            Crash(exit_code=3),
            waiting("CrashLoopBackOff"),
            "Running",
            {"Started": "Container started", "BackOff": "Back-off restarting failed container web in pod"},
            id="crash",
        ),
        pytest.param(
            Unschedulable("1 Insufficient memory"),
            lambda pod: scheduled(pod).get("reason") == "Unschedulable",
            "Pending",
            {"FailedScheduling": "0/1 nodes are available: 1 Insufficient memory."},
            id="unschedulable",
        ),
        pytest.param(
            ProbeFailing(),
            lambda pod: "running" in state(pod),
            "Running",
            {"Unhealthy": "Readiness probe failed: HTTP probe failed with statuscode: 503"},
            id="probe-failing",
        ),
    ],
)
async def test_a_fault_strikes_a_deployment_and_heals(
    client: Client, namespace: str, fault: Fault, struck: Callable[[Pod], Any], phase: str, events: dict[str, str]
) -> None:
    async with simulated(client, namespace, of_web(fault)) as simulation:
        await client.create(Deployment, workloads.deployment("web", namespace))
        (pod,) = await some(client, Pod, namespace, lambda pods: any(struck(pod) for pod in pods))
        assert pod.status["phase"] == phase
        assert condition(pod.status, "Ready") != "True"
        for reason, note in events.items():
            await told(client, namespace, pod.metadata.name, reason, note)
        found = await client.get(Deployment, "web", namespace)
        assert found.status.get("availableReplicas", 0) == 0
        simulation.perform(Script())
        await eventually(client, Deployment, "web", namespace, available)
        healed = await client.get(Pod, pod.metadata.name, namespace)
        assert condition(healed.status, "Ready") == "True"


async def test_a_crash_shows_how_the_container_ended(client: Client, namespace: str) -> None:
    async with simulated(client, namespace, Script((Behaviour(fault=Crash(exit_code=3, message="no route")),))):
        await client.create(Pod, workloads.pod("web", namespace))
        pod = await eventually(client, Pod, "web", namespace, waiting("CrashLoopBackOff"))
        (status,) = pod.status["containerStatuses"]
        ended = status["lastState"]["terminated"]
        assert (ended["exitCode"], ended["reason"], ended["message"]) == (3, "Error", "no route")
        assert status["restartCount"] == 1
        assert status["state"]["waiting"]["message"].startswith("back-off 10s restarting failed container=web pod=web_")


async def test_a_fault_may_come_over_running_pods(client: Client, namespace: str) -> None:
    async with simulated(client, namespace) as simulation:
        await client.create(Deployment, workloads.deployment("web", namespace, replicas=2))
        await eventually(client, Deployment, "web", namespace, available)
        simulation.perform(of_web(ProbeFailing()))
        await eventually(
            client, Deployment, "web", namespace, lambda found: found.status.get("unavailableReplicas") == 2
        )


@pytest.mark.parametrize(
    ("waits", "reason", "message"),
    [
        pytest.param(False, "Unschedulable", "pod has unbound immediate PersistentVolumeClaims", id="volumes-at-once"),
        pytest.param(True, "SchedulerError", 'provisioning failed for PVC "data"', id="volumes-for-the-first-pod"),
    ],
)
async def test_an_unbound_volume_holds_back_its_pod(
    client: Client, namespace: str, *, waits: bool, reason: str, message: str
) -> None:
    disks = await make_class(client, waits=waits)
    script = Script((Behaviour(Selector(kind="PersistentVolumeClaim", name="data"), fault=VolumeUnbound("no space")),))
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    async with simulated(client, namespace, script) as simulation:
        await client.create(PersistentVolumeClaim, workloads.claim("data", namespace, disks))
        await client.create(Pod, workloads.pod("web", namespace, volumes=volumes))
        pod = await eventually(client, Pod, "web", namespace, lambda pod: scheduled(pod).get("reason") == reason)
        assert message in scheduled(pod)["message"]
        assert "nodeName" not in pod.spec
        await told(client, namespace, "web", "FailedScheduling", message)
        claim = await client.get(PersistentVolumeClaim, "data", namespace)
        assert claim.status["phase"] == "Pending"
        if not waits:
            await told(client, namespace, "data", "ProvisioningFailed", f'StorageClass "{disks}": no space')
        simulation.perform(Script())
        await eventually(client, Pod, "web", namespace, lambda pod: condition(pod.status, "Ready") == "True")
        claim = await client.get(PersistentVolumeClaim, "data", namespace)
        assert claim.status["phase"] == "Bound"


async def annotate(
    client: Client, kind: type[Deployment | Pod], name: str, namespace: str, **values: str | None
) -> None:
    annotations = {f"simulator.stackwright.org/{key.replace('_', '-')}": value for key, value in values.items()}
    await client.patch(kind, name, namespace, {"metadata": {"annotations": annotations}})


async def test_a_fault_is_asked_for_by_annotating_the_deployment(client: Client, namespace: str) -> None:
    async with simulated(client, namespace):
        await client.create(Deployment, workloads.deployment("web", namespace, replicas=2))
        await eventually(client, Deployment, "web", namespace, available)
        await annotate(client, Deployment, "web", namespace, fault="Crash", exit_code="7")
        pods = await some(client, Pod, namespace, lambda pods: all(waiting("CrashLoopBackOff")(pod) for pod in pods))
        codes = {pod.status["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] for pod in pods}
        assert codes == {7}
        await annotate(client, Deployment, "web", namespace, fault=None, exit_code=None)
        await eventually(client, Deployment, "web", namespace, available)


async def test_a_fault_of_one_pod_is_asked_for_by_annotating_it(client: Client, namespace: str) -> None:
    async with simulated(client, namespace):
        for name in ("one", "two"):
            await client.create(Pod, workloads.pod(name, namespace))
            await eventually(client, Pod, name, namespace, lambda pod: condition(pod.status, "Ready") == "True")
        await annotate(client, Pod, "one", namespace, fault="ProbeFailing")
        await eventually(client, Pod, "one", namespace, lambda pod: condition(pod.status, "Ready") == "False")
        other = await client.get(Pod, "two", namespace)
        assert condition(other.status, "Ready") == "True"


async def test_an_annotation_that_cannot_be_followed_is_told(client: Client, namespace: str) -> None:
    async with simulated(client, namespace):
        body = workloads.pod("web", namespace)
        body["metadata"]["annotations"] = {FAULT: "Crahs"}
        await client.create(Pod, body)
        event = await told(client, namespace, "web", "InvalidAnnotation")
        assert event.note.startswith(f"annotation {FAULT} is 'Crahs'; use one of ")
        await eventually(client, Pod, "web", namespace, lambda pod: condition(pod.status, "Ready") == "True")

"""The simulator on a real API server: workloads that succeed, by the controller-manager's own controllers."""

import secrets
from datetime import UTC, datetime, timedelta

import pytest

from stackwright.kube.builtin import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ReplicaSet,
    Secret,
    StatefulSet,
    StorageClass,
)
from stackwright.kube.client import Client
from stackwright.kube.clock import seconds
from stackwright.kube.resource import JsonObject
from stackwright.simulator import Behaviour, Crash, ProbeFailing, Script, Selector, simulated, storage_class
from tests.functional import workloads
from tests.functional.conftest import fresh_namespace
from tests.functional.watching import eventually, some, told
from tests.functional.workloads import available, condition, make_class


async def test_a_deployment_becomes_available(client: Client, namespace: str) -> None:
    async with simulated(client, namespace):
        await client.create(Deployment, workloads.deployment("web", namespace, replicas=3))
        found = await eventually(client, Deployment, "web", namespace, available)
        assert condition(found.status, "Available") == "True"
        pods = await client.list(Pod, namespace)
        assert {pod.spec["nodeName"] for pod in pods} == {"simulated"}
        assert len({pod.status["podIP"] for pod in pods}) == 3
        (name, *_) = [pod.metadata.name for pod in pods]
        event = await told(client, namespace, name, "Started")
        assert (event.reportingController, event.regarding["fieldPath"]) == ("kubelet", "spec.containers{web}")
        scheduled = await told(client, namespace, name, "Scheduled")
        assert scheduled.reportingController == "default-scheduler"
        assert scheduled.note == f"Successfully assigned {namespace}/{name} to simulated"


async def test_a_rollout_replaces_the_pods_of_the_replica_set_before(client: Client, namespace: str) -> None:
    async with simulated(client, namespace):
        body = workloads.deployment("web", namespace, replicas=2)
        await client.create(Deployment, body)
        await eventually(client, Deployment, "web", namespace, available)
        change = {"spec": {"template": {"metadata": {"annotations": {"example.org/turn": "2"}}}}}
        await client.patch(Deployment, "web", namespace, change)
        await eventually(client, Deployment, "web", namespace, available)
        sets = await some(
            client, ReplicaSet, namespace, lambda sets: sorted(one.spec["replicas"] for one in sets) == [0, 2]
        )
        assert len(sets) == 2
        pods = await some(client, Pod, namespace, lambda pods: len(pods) == 2)
        assert all(pod.metadata.annotations == {"example.org/turn": "2"} for pod in pods)


@pytest.mark.parametrize("waits", [False, True], ids=["volumes-at-once", "volumes-for-the-first-pod"])
async def test_a_stateful_set_starts_in_order_with_its_volumes(client: Client, namespace: str, *, waits: bool) -> None:
    disks = await make_class(client, waits=waits)
    script = Script((Behaviour(Selector(kind="Pod", name="db-0"), fault=ProbeFailing()),))
    async with simulated(client, namespace, script) as simulation:
        await client.create(StatefulSet, workloads.stateful_set("db", namespace, replicas=2, storage_class=disks))
        await eventually(client, Pod, "db-0", namespace, lambda pod: pod.status.get("phase") == "Running")
        assert [pod.metadata.name for pod in await client.list(Pod, namespace)] == ["db-0"]
        simulation.perform(Script())
        await eventually(client, StatefulSet, "db", namespace, lambda found: found.status.get("availableReplicas") == 2)
        claims = await client.list(PersistentVolumeClaim, namespace)
        assert {claim.metadata.name: claim.status["phase"] for claim in claims} == {
            "data-db-0": "Bound",
            "data-db-1": "Bound",
        }
        assert all(claim.status["capacity"] == {"storage": "1Gi"} for claim in claims)
        await told(client, namespace, "data-db-0", "ProvisioningSucceeded")


async def test_a_volume_goes_with_its_claim(client: Client, namespace: str) -> None:
    disks = await make_class(client)
    async with simulated(client, namespace):
        await client.create(PersistentVolumeClaim, workloads.claim("data", namespace, disks))
        bound = await eventually(
            client, PersistentVolumeClaim, "data", namespace, lambda claim: claim.status.get("phase") == "Bound"
        )
        volume = bound.spec["volumeName"]
        await client.delete(PersistentVolumeClaim, "data", namespace)
        await some(client, PersistentVolume, "", lambda found: volume not in {one.metadata.name for one in found})


async def test_a_claim_waits_for_its_storage_class(client: Client, namespace: str) -> None:
    name = f"disks-{secrets.token_hex(3)}"
    async with simulated(client, namespace):
        await client.create(PersistentVolumeClaim, workloads.claim("data", namespace, name))
        event = await told(client, namespace, "data", "ProvisioningFailed")
        assert event.note == f'storageclass.storage.k8s.io "{name}" not found'
        claim = await client.get(PersistentVolumeClaim, "data", namespace)
        assert claim.status["phase"] == "Pending"
        await client.create(StorageClass, storage_class(name))
        # The controller-manager looks again at what it could not provision every fifteen seconds.
        await eventually(
            client, PersistentVolumeClaim, "data", namespace, lambda claim: claim.status.get("phase") == "Bound"
        )


async def test_a_daemon_set_runs_on_the_node(client: Client, namespace: str) -> None:
    async with simulated(client, namespace):
        await client.create(DaemonSet, workloads.daemon_set("agent", namespace, hostNetwork=True))
        found = await eventually(
            client, DaemonSet, "agent", namespace, lambda found: found.status.get("numberAvailable", 0) == 1
        )
        assert found.status["desiredNumberScheduled"] == 1
        (pod,) = await client.list(Pod, namespace)
        assert pod.status["podIP"] == pod.status["hostIP"]


async def test_a_job_completes(client: Client, namespace: str) -> None:
    inits = [
        {"name": "proxy", "image": "registry.example/proxy:1", "restartPolicy": "Always"},
        {"name": "wait", "image": "registry.example/wait:1"},
    ]
    async with simulated(client, namespace, Script((Behaviour(runs_for=0.5),))):
        await client.create(Job, workloads.job("sync", namespace, initContainers=inits))
        running = await some(
            client, Pod, namespace, lambda pods: any(pod.status.get("phase") == "Running" for pod in pods)
        )
        assert len(running) == 1
        found = await eventually(
            client, Job, "sync", namespace, lambda found: condition(found.status, "Complete") == "True"
        )
        assert found.status["succeeded"] == 1
        (pod,) = await client.list(Pod, namespace)
        assert pod.status["phase"] == "Succeeded"
        assert pod.status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


@pytest.mark.parametrize(
    ("restart", "backoff_limit"),
    [
        pytest.param("OnFailure", 1, id="restarted-in-its-pod"),
        pytest.param("Never", 1, id="replaced-by-another-pod"),
    ],
)
async def test_a_job_fails_after_its_backoff_limit(
    client: Client, namespace: str, restart: str, backoff_limit: int
) -> None:
    script = Script((Behaviour(Selector(kind="Job"), fault=Crash(exit_code=4)),))
    async with simulated(client, namespace, script):
        await client.create(Job, workloads.job("sync", namespace, restart=restart, backoff_limit=backoff_limit))
        found = await eventually(
            client, Job, "sync", namespace, lambda found: condition(found.status, "Failed") == "True"
        )
        failed = next(one for one in found.status["conditions"] if one["type"] == "Failed")
        assert failed["reason"] == "BackoffLimitExceeded"
        if restart == "Never":
            pods = await client.list(Pod, namespace)
            assert len(pods) == 2
            codes = {pod.status["containerStatuses"][0]["state"]["terminated"]["exitCode"] for pod in pods}
            assert codes == {4}


async def test_a_job_succeeds_when_its_first_pod_fails(client: Client, namespace: str) -> None:
    script = Script((Behaviour(Selector(kind="Job", name="sync"), fault=Crash(times=1)),))
    async with simulated(client, namespace, script):
        await client.create(Job, workloads.job("sync", namespace))
        found = await eventually(
            client, Job, "sync", namespace, lambda found: condition(found.status, "Complete") == "True"
        )
        assert (found.status["failed"], found.status["succeeded"]) == (1, 1)


async def test_a_job_of_a_cron_job_completes(client: Client, namespace: str) -> None:
    async with simulated(client, namespace):
        spec = {"schedule": "* * * * *", "jobTemplate": {"spec": workloads.job("purge", namespace)["spec"]}}
        body: JsonObject = {"metadata": {"name": "purge", "namespace": namespace}, "spec": {**spec, "suspend": True}}
        await client.create(CronJob, body)
        # A minute that was missed is made up for at once.
        missed = seconds(datetime.now(UTC) - timedelta(seconds=90))
        await client.patch(CronJob, "purge", namespace, {"status": {"lastScheduleTime": missed}}, subresource="status")
        await client.patch(CronJob, "purge", namespace, {"spec": {"suspend": False}})
        jobs = await some(
            client, Job, namespace, lambda jobs: any(condition(job.status, "Complete") == "True" for job in jobs)
        )
        owner = jobs[0].metadata.controller
        assert owner is not None
        assert (owner.kind, owner.name) == ("CronJob", "purge")
    # Its namespace stays, and there would be one more each minute.
    await client.delete(CronJob, "purge", namespace)


async def test_deleted_pods_end(client: Client, namespace: str) -> None:
    async with simulated(client, namespace, Script((Behaviour(stop_after=0.3),))):
        await client.create(Deployment, workloads.deployment("web", namespace, replicas=2))
        await eventually(client, Deployment, "web", namespace, available)
        pods = await client.list(Pod, namespace)
        await client.delete(Deployment, "web", namespace)
        await some(client, Pod, namespace, lambda pods: any(pod.deleting for pod in pods))
        await told(client, namespace, pods[0].metadata.name, "Killing", "Stopping container web")
        await some(client, Pod, namespace, lambda pods: not pods)


async def test_a_deleted_pod_of_a_job_counts_as_failed(client: Client, namespace: str) -> None:
    async with simulated(client, namespace, Script((Behaviour(runs_for=None),))):
        await client.create(Job, workloads.job("sync", namespace, backoff_limit=0))
        (pod,) = await some(
            client, Pod, namespace, lambda pods: any(pod.status.get("phase") == "Running" for pod in pods)
        )
        await client.delete(Pod, pod.metadata.name, namespace)
        found = await eventually(
            client, Job, "sync", namespace, lambda found: condition(found.status, "Failed") == "True"
        )
        assert found.status["failed"] == 1
        await some(client, Pod, namespace, lambda pods: not pods)


async def test_a_pod_waits_for_a_secret_that_it_mounts(client: Client, namespace: str) -> None:
    volumes = [{"name": "keys", "secret": {"secretName": "fernet"}}]
    async with simulated(client, namespace):
        await client.create(Pod, workloads.pod("web", namespace, volumes=volumes))
        event = await told(client, namespace, "web", "FailedMount")
        assert event.note == 'MountVolume.SetUp failed for volume "keys" : secret "fernet" not found'
        pod = await client.get(Pod, "web", namespace)
        assert pod.status["containerStatuses"][0]["state"]["waiting"]["reason"] == "ContainerCreating"
        await client.create(Secret, {"metadata": {"name": "fernet", "namespace": namespace}, "data": {"0": "eA=="}})
        await eventually(client, Pod, "web", namespace, lambda pod: condition(pod.status, "Ready") == "True")


async def test_a_namespace_that_was_not_given_is_left_alone(
    client: Client, namespace: str, request: pytest.FixtureRequest
) -> None:
    other = await fresh_namespace(client, request.node.name)
    disks = await make_class(client)
    script = Script((Behaviour(ready_after=0.0),))
    async with simulated(client, [namespace], script):
        for where in (other, namespace):
            await client.create(PersistentVolumeClaim, workloads.claim("data", where, disks))
            await client.create(Deployment, workloads.deployment("web", where))
        await eventually(client, Deployment, "web", namespace, available)
        await eventually(
            client, PersistentVolumeClaim, "data", namespace, lambda claim: claim.status.get("phase") == "Bound"
        )
        (pod,) = await some(client, Pod, other, lambda pods: len(pods) == 1)
        assert "nodeName" not in pod.spec
        assert set(pod.status) <= {"phase", "qosClass"}
        claim = await client.get(PersistentVolumeClaim, "data", other)
        assert claim.status["phase"] == "Pending"


async def test_a_simulator_takes_over_from_one_that_ended(client: Client, namespace: str) -> None:
    async with simulated(client, namespace):
        await client.create(Deployment, workloads.deployment("web", namespace))
        await eventually(client, Deployment, "web", namespace, available)
        (before,) = await client.list(Pod, namespace)
    await client.patch(Deployment, "web", namespace, {"spec": {"replicas": 2}})
    async with simulated(client, namespace):
        await eventually(client, Deployment, "web", namespace, available)
        same = await client.get(Pod, before.metadata.name, namespace)
        assert same.status == before.status


async def test_several_namespaces_are_played_at_once(
    client: Client, namespace: str, request: pytest.FixtureRequest
) -> None:
    other = await fresh_namespace(client, request.node.name)
    async with simulated(client, (namespace, other)):
        for where in (namespace, other):
            await client.create(Deployment, workloads.deployment("web", where))
        for where in (namespace, other):
            await eventually(client, Deployment, "web", where, available)


async def test_no_namespace_is_no_licence_for_all(client: Client) -> None:
    with pytest.raises(ValueError, match="name the namespaces to simulate in"):
        async with simulated(client, ""):
            pytest.fail("nothing may be played here")

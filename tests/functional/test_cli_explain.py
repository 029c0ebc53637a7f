"""`stackwright explain` on a real API server: workloads and their faults are played, and the test tells the rest."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from stackwright.kube.builtin import Deployment, Job, Namespace, PersistentVolumeClaim, Pod, StatefulSet
from stackwright.kube.client import Client
from stackwright.kube.resource import JsonObject, owner_reference
from stackwright.local.apiserver.server import ApiServer, Shared
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.mariadb.kinds import Galera
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
from tests.functional.cli_resources import tell
from tests.functional.commands import Done, command
from tests.functional.definitions import defined
from tests.functional.fake_kubelet import Kubelet, kubelet, run_pod
from tests.functional.watching import eventually, told
from tests.functional.workloads import make_class

pytestmark = pytest.mark.usefixtures("kinds")


@pytest.fixture
def kubeconfig(apiserver: Shared) -> Path:
    return apiserver.kubeconfig


async def keystone(client: Client, namespace: str) -> KeystoneAPI:
    spec = {"secret": "osp-secret", "databaseInstance": "openstack"}
    body = {"metadata": {"name": "keystone", "namespace": namespace}, "spec": spec}
    made = await client.apply(KeystoneAPI, body, field_manager="user")
    await tell(client, made, "False", "Info", "Deployment keystone has 0 of 1 pods ready")
    return made


def owned(body: JsonObject, owner: Any) -> JsonObject:
    body["metadata"]["ownerReferences"] = [owner_reference(owner)]
    return body


async def explained(kubeconfig: Path, namespace: str, word: str) -> Done:
    return await command(kubeconfig, namespace, "explain", word)


@pytest.mark.parametrize(
    ("fault", "reason", "said"),
    [
        pytest.param(
            ImageMissing(), "Failed", "cannot get its image registry.example/keystone:1", id="an-image-that-is-missing"
        ),
        pytest.param(
            Unschedulable("1 Insufficient memory"),
            "FailedScheduling",
            "fits on no node: 0/1 nodes are available: 1 Insufficient memory.",
            id="no-room-on-any-node",
        ),
        pytest.param(
            ProbeFailing(),
            "Unhealthy",
            "runs and is not ready: Readiness probe failed: HTTP probe failed with statuscode: 503",
            id="a-probe-that-fails",
        ),
        pytest.param(Crash(exit_code=3), "BackOff", "container keystone ended with code 3", id="a-crash"),
    ],
)
async def test_the_reason_of_the_pod_is_told(
    client: Client, namespace: str, kubeconfig: Path, fault: Fault, reason: str, said: str
) -> None:
    async with simulated(client, namespace, Script((Behaviour(Selector(kind="Deployment"), fault=fault),))):
        resource = await keystone(client, namespace)
        await client.create(Deployment, owned(workloads.deployment("keystone", namespace), resource))
        (pod,) = await _pods(client, namespace)
        await told(client, namespace, pod, reason)
        done = await explained(kubeconfig, namespace, "keystone")
    assert done.exit_code == 3
    assert said in done.stdout
    assert f"Pod {pod}" in done.stdout
    assert "To do: " in done.stdout


async def _pods(client: Client, namespace: str) -> list[str]:
    await eventually(client, Deployment, "keystone", namespace, lambda found: found.status.get("replicas"))
    return [pod.metadata.name for pod in await client.list(Pod, namespace)]


async def test_it_is_followed_through_what_is_needed_to_the_volume(
    client: Client, namespace: str, kubeconfig: Path
) -> None:
    disks = await make_class(client)
    script = Script((Behaviour(Selector(kind="PersistentVolumeClaim"), fault=VolumeUnbound("no space")),))
    async with simulated(client, namespace, script):
        await keystone(client, namespace)
        spec = {"storageClass": disks, "storageRequest": "1G"}
        body = {"metadata": {"name": "openstack", "namespace": namespace}, "spec": spec}
        server = await client.apply(Galera, body, field_manager="user")
        await tell(client, server, "False", "Info", "StatefulSet openstack-galera has 0 of 1 pods ready")
        nodes = workloads.stateful_set("openstack-galera", namespace, storage_class=disks)
        await client.create(StatefulSet, owned(nodes, server))
        await told(client, namespace, "data-openstack-galera-0", "ProvisioningFailed")
        await eventually(client, Pod, "openstack-galera-0", namespace, lambda pod: pod.status.get("conditions"))
        done = await command(kubeconfig, namespace, "explain", "keystone", "-o", "json")
    assert done.exit_code == 3
    reason = json.loads(done.stdout)["resource"]
    way = []
    while reason.get("waitsFor"):
        reason = next(
            entry
            for entry in reason["waitsFor"]
            if entry["kind"] not in ("Memcached", "MariaDBAccount", "MariaDBDatabase")
        )
        way.append(reason["kind"])
    assert way == ["Galera", "StatefulSet", "Pod", PersistentVolumeClaim.kind.name]
    assert "no space" in reason["message"]
    assert disks in reason["toDo"]


async def test_pods_that_the_server_refuses_are_told(client: Client, namespace: str, kubeconfig: Path) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    await client.patch(Namespace, namespace, "", {"metadata": {"labels": labels}})
    resource = await keystone(client, namespace)
    async with simulated(client, namespace):
        made = await client.create(Deployment, owned(workloads.deployment("keystone", namespace), resource))
        await eventually(
            client,
            Deployment,
            made.metadata.name,
            namespace,
            lambda found: any(one["type"] == "ReplicaFailure" for one in found.status.get("conditions", ())),
        )
        done = await explained(kubeconfig, namespace, "keystone")
    assert 'violates PodSecurity "restricted:latest"' in done.stdout
    assert "ReplicaSet keystone-" in done.stdout


async def test_of_what_is_ready_the_time_is_told(client: Client, namespace: str, kubeconfig: Path) -> None:
    resource = await keystone(client, namespace)
    async with simulated(client, namespace):
        await client.create(Deployment, owned(workloads.deployment("keystone", namespace), resource))
        await eventually(client, Deployment, "keystone", namespace, lambda found: found.status.get("availableReplicas"))
        await tell(client, resource, "True", since="")
        done = await explained(kubeconfig, namespace, "keystoneapi/keystone")
        report = await command(kubeconfig, namespace, "explain", "keystone", "-o", "json")
    assert done.exit_code == 0
    assert "KeystoneAPI keystone was ready" in done.stdout
    path = json.loads(report.stdout)["criticalPath"]
    assert path["steps"][-1]["what"] == "ready"
    assert sum(step["seconds"] for step in path["steps"]) == path["seconds"]


@pytest.fixture
async def node(private_client: Client, tmp_path: Path) -> AsyncIterator[Kubelet]:
    """A node with logs, in a cluster of its own."""
    await defined(private_client)
    async with kubelet(private_client, tmp_path) as found:
        yield found


async def test_a_job_that_failed_shows_the_last_lines_of_its_log(
    node: Kubelet, private_client: Client, private_namespace: str, private_apiserver: ApiServer
) -> None:
    client, namespace = private_client, private_namespace
    resource = await keystone(client, namespace)
    body = workloads.job("keystone-db-sync", namespace)
    # Nobody else works on it: the Job controller would end the pod of a Job that rests before it has failed.
    body["spec"]["managedBy"] = "tests.example.org/nobody"
    job = await client.create(Job, owned(body, resource))
    pod = owned(workloads.pod("sync", namespace), job)
    await run_pod(client, pod)
    ended = {"exitCode": 1, "reason": "Error", "finishedAt": "2026-11-15T10:00:00Z"}
    status = {"name": "sync", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
    told = {"phase": "Failed", "containerStatuses": [{**status, "state": {"terminated": ended}}]}
    await client.patch(Pod, "sync", namespace, {"status": told}, subresource="status")
    node.logs["sync", "sync"] = b"begins\nAccess denied for user\n"
    done = await explained(private_apiserver.kubeconfig, namespace, "keystone")
    assert "Job keystone-db-sync" in done.stdout
    assert "> Access denied for user" in done.stdout
    assert "container sync ended with code 1" in done.stdout
    assert node.asked[-1]["tailLines"] == "12"


async def test_a_name_that_is_not_there_is_answered_with_those_that_are(
    client: Client, namespace: str, kubeconfig: Path
) -> None:
    await keystone(client, namespace)
    done = await explained(kubeconfig, namespace, "teapot")
    assert done.exit_code == 1
    assert "there are keystoneapi/keystone" in done.stderr

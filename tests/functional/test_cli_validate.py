"""`stackwright validate` on a real API server: the life of its pod, whose log is played."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from stackwright import services
from stackwright.cli.validation.manifests import CONTAINER, NAME
from stackwright.kube.builtin import ConfigMap, NetworkPolicy, Pod, Secret
from stackwright.kube.client import Client
from stackwright.kube.resource import JsonObject
from stackwright.local.apiserver.server import ApiServer
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.simulator.controllers import Binding
from tests.functional import neighbours
from tests.functional.commands import command, started
from tests.functional.definitions import defined
from tests.functional.fake_kubelet import NODE, Kubelet, kubelet
from tests.functional.watching import eventually, gone

PASSWORD = "wonderland"
FAILED = {"test": "tempest.api.x.test_b", "status": "failed", "seconds": 1.0, "reason": "Timed out", "trace": "T"}
LINES: tuple[JsonObject, ...] = (
    {"notes": ["There is one compute: resizing and migrating servers is skipped."]},
    {"selected": 2, "leftOut": {}},
    {"test": "tempest.api.x.test_a", "status": "passed", "seconds": 1.0},
    FAILED,
    {"removing": True},
    {"removed": 4, "troubles": []},
    {"done": {"missing": 0}},
)


def log(*lines: JsonObject) -> bytes:
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()


class Place:
    """A namespace with a cloud that is ready, and a node that plays the pod."""

    def __init__(self, client: Client, namespace: str, server: ApiServer, node: Kubelet) -> None:
        self.client, self.namespace, self.kubeconfig, self.node = client, namespace, server.kubeconfig, node
        # The pod as it was created, and the policy beside it.
        self.pod: Pod | None = None

    async def make(self, kind: type[Any], name: str, **parts: JsonObject) -> Any:
        body = {"metadata": {"name": name, "namespace": self.namespace}, **parts}
        return await self.client.apply(kind, body, field_manager="user")

    async def cloud(self, *, ready: bool = True) -> None:
        plane = await self.make(
            services.control_plane(), "openstack", spec={"secret": "osp-secret", "storageClass": "local"}
        )
        await neighbours.tell(self.client, plane, {}, ready=ready)
        spec = {"secret": "osp-secret", "databaseInstance": "openstack"}
        keystone = await self.make(KeystoneAPI, "keystone", spec=spec)
        await neighbours.tell(self.client, keystone, {"apiEndpoints": {"internal": "http://keystone-internal:5000"}})
        await self.make(ConfigMap, "openstack-config", data={"clouds.yaml": "{}"})
        await self.make(Secret, "openstack-config-secret", stringData={"secure.yaml": f"password: {PASSWORD}"})

    async def created(self) -> Pod:
        """Wait for the pod, and put it on the node."""
        self.pod = await eventually(self.client, Pod, NAME, self.namespace, lambda _: True)
        metadata = {"name": NAME, "namespace": self.namespace}
        target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
        await self.client.create(Binding, {"metadata": metadata, "target": target}, subresource="binding")
        return self.pod

    async def tell(self, phase: str, **state: JsonObject) -> None:
        """Tell how the pod is, as a kubelet does."""
        entry = {"name": CONTAINER, "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": state}
        status = {"status": {"phase": phase, "containerStatuses": [entry]}}
        await self.client.patch(Pod, NAME, self.namespace, status, subresource="status")

    async def play(self, *lines: JsonObject) -> None:
        """Let the pod run, say some lines, and end."""
        await self.created()
        self.node.logs[NAME, CONTAINER] = log(*lines)
        await self.tell("Running", running={})
        async with asyncio.timeout(60):
            while not self.node.asked:
                await asyncio.sleep(0.05)
        await self.tell("Succeeded", terminated={"exitCode": 0, "reason": "Completed"})

    async def validate(self, *words: str) -> Any:
        return await command(self.kubeconfig, self.namespace, "validate", "--image", "tempest:1", *words)

    async def is_tidy(self) -> None:
        await gone(self.client, Pod, NAME, self.namespace)
        await gone(self.client, NetworkPolicy, NAME, self.namespace)


@pytest.fixture
async def place(
    private_client: Client, private_namespace: str, private_apiserver: ApiServer, tmp_path: Path
) -> AsyncIterator[Place]:
    await defined(private_client)
    async with kubelet(private_client, tmp_path) as node:
        yield Place(private_client, private_namespace, private_apiserver, node)


@contextlib.asynccontextmanager
async def beside(work: Any) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        group.create_task(work)
        yield


async def test_failures_are_reported_and_nothing_is_left(place: Place) -> None:
    await place.cloud()
    async with beside(place.play(*LINES)):
        done = await place.validate("tempest.api.x")
    assert done.exit_code == 1
    assert done.stdout.splitlines()[:2] == ["failed     tempest.api.x.test_b", "           Timed out"]
    assert "2 tests: 1 passed, 1 failed, 0 skipped" in done.stdout
    assert "There is one compute" in done.stderr
    assert place.pod is not None
    assert "--select=tempest.api.x" in place.pod.spec["containers"][0]["args"]
    assert PASSWORD not in f"{place.pod.spec}{done.stdout}{done.stderr}"
    await place.is_tidy()

    # What selects nothing is an error in one sentence.
    async with beside(place.play({"error": "No test of Tempest is called tempest.api.compote."})):
        wrong = await place.validate("tempest.api.compote", "-o", "json")
    assert (wrong.exit_code, wrong.stdout) == (1, "")
    assert wrong.stderr.splitlines()[-1] == "Error: No test of Tempest is called tempest.api.compote."
    await place.is_tidy()


async def test_an_image_that_is_not_there_is_said(place: Place) -> None:
    await place.cloud()

    async def refuse() -> None:
        await place.created()
        await place.tell("Pending", waiting={"reason": "ErrImagePull", "message": "not found"})
        await eventually(place.client, Pod, NAME, place.namespace, lambda pod: pod.deleting)
        await place.client.delete(Pod, NAME, place.namespace, grace=0)

    async with beside(refuse()):
        done = await place.validate()
    assert done.exit_code == 1
    assert "The image tempest:1 cannot be used (ErrImagePull: not found)" in done.stderr
    await place.is_tidy()


async def test_who_interrupts_it_waits_until_the_pod_has_tidied_up(place: Place) -> None:
    await place.cloud()
    place.node.answers.clear()
    words = ("validate", "--image", "tempest:1")
    async with started(place.kubeconfig, place.namespace, *words) as running:
        await place.created()
        place.node.logs[NAME, CONTAINER] = log(*LINES[:3])
        await place.tell("Running", running={})
        async with asyncio.timeout(60):
            while not place.node.asked:
                await asyncio.sleep(0.05)
        # While one runs, there is no other.
        second = await place.validate()
        assert second.exit_code == 1
        assert "is being validated already" in second.stderr

        async def end() -> None:
            pod = await eventually(place.client, Pod, NAME, place.namespace, lambda pod: pod.deleting)
            # It has the time that it needs.
            assert pod.spec["terminationGracePeriodSeconds"] >= 60
            await place.client.delete(Pod, NAME, place.namespace, grace=0)

        async with beside(end()):
            code, said = await running.interrupt()
    place.node.answers.set()
    assert code == 130
    assert "removing what they made in the cloud" in said
    assert "Traceback" not in said
    await place.is_tidy()


async def test_a_cloud_that_is_not_ready_is_not_tried(place: Place) -> None:
    none = await place.validate()
    assert (none.exit_code, "There is no cloud" in none.stderr) == (3, True)
    await place.cloud(ready=False)
    done = await place.validate()
    assert done.exit_code == 3
    assert "OpenStackControlPlane openstack is not ready: played" in done.stderr
    assert await place.client.find(Pod, NAME, place.namespace) is None

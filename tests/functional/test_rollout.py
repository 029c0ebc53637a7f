"""A change that does not get through takes no good pod away: for every service without state, by one test."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from stackwright import services
from stackwright.blueprint.service import Service
from stackwright.kube.builtin import Deployment, Pod
from stackwright.kube.client import Client
from stackwright.kube.conditions import find
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.simulator.annotations import PREFIX
from tests.functional import neighbours
from tests.functional.cloud import cloud, environment
from tests.functional.listed import beside_keystone
from tests.functional.test_keystone import passwords
from tests.functional.test_service_controller import is_ready, kinds
from tests.functional.watching import eventually

__all__ = ["kinds"]

pytestmark = pytest.mark.usefixtures("kinds")

WORDS = "The configuration has values that the service cannot read"
STORE = "[DEFAULT]\nenabled_backends = s3:s3\n[glance_store]\ndefault_backend = s3\n"


@dataclass(frozen=True)
class Case:
    """A service, what it is asked for, and one of its Deployments."""

    name: str
    deployment: str
    component: str = "api"
    spec: dict[str, Any] = field(default_factory=dict)
    snippet: str = ""

    @property
    def service(self) -> Service[Any, Any]:
        return next(each for each in services.blueprints() if each.name == self.name)

    def body(self, namespace: str, snippet: str) -> dict[str, Any]:
        spec = {"databaseInstance": "openstack", "secret": "osp-secret", **self.spec}
        spec["customServiceConfig"] = self.snippet + snippet
        return {"metadata": {"name": self.name, "namespace": namespace}, "spec": spec}


CASES = [
    Case("keystone", "keystone"),
    Case("placement", "placement"),
    Case("glance", "glance-default-external", "default-external", {"storage": {"external": True}}, STORE),
    Case("barbican", "barbican"),
    Case("barbican", "barbican-worker", "worker"),
]
KEYS = {
    "PlacementPassword": "counts",
    "GlancePassword": "shows",
    "BarbicanPassword": "keeps",
    "BarbicanSimpleCryptoKEK": "b3BlbnMtZXZlcnktZG9vci1vZi10aGUtaG91c2UtLS0=",
}


@contextlib.asynccontextmanager
async def operated(client: Client, namespace: str, case: Case, kubernetes: dict[str, Path]) -> AsyncIterator[None]:
    """Run the operator of a service, with all that the service needs."""
    await neighbours.cache(client, namespace)
    async with contextlib.AsyncExitStack() as stack:
        if case.service.kind is KeystoneAPI:
            await neighbours.database_server(client, namespace)
            await passwords(client, namespace, AdminPassword="wonderland")
            await stack.enter_async_context(neighbours.schemas(client, namespace))
            await stack.enter_async_context(cloud(client, namespace, (case.service,), environment(kubernetes)))
        else:
            surroundings = environment(kubernetes)
            await stack.enter_async_context(beside_keystone(client, namespace, case.service, KEYS, surroundings))
        yield


async def annotate(client: Client, kind: type[Any], name: str, namespace: str, **said: str | None) -> None:
    annotations = {f"{PREFIX}{key.replace('_', '-')}": value for key, value in said.items()}
    await client.patch(kind, name, namespace, {"metadata": {"annotations": annotations}})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.deployment)
async def test_the_old_pod_serves_until_a_change_gets_through(
    client: Client, namespace: str, kubernetes: dict[str, Path], case: Case
) -> None:
    kind, selector = case.service.kind, f"app.kubernetes.io/instance={case.name}"
    async with operated(client, namespace, case, kubernetes):
        await client.apply(kind, case.body(namespace, ""), field_manager="user")
        await eventually(client, kind, case.name, namespace, is_ready)

        # A value that the operator knows to be wrong changes nothing.
        before = await client.get(Deployment, case.deployment, namespace)
        await client.apply(kind, case.body(namespace, "[DEFAULT]\ndebug = s3cr3t\n"), field_manager="user")

        def refused(seen: Any) -> bool:
            said = find(seen.status.conditions, "InputReady")
            return said is not None and "[DEFAULT] debug must be true or false" in said.message

        told = await eventually(client, kind, case.name, namespace, refused)
        assert not any("s3cr3t" in condition.message for condition in told.status.conditions)
        now = await client.get(Deployment, case.deployment, namespace)
        assert now.metadata.generation == before.metadata.generation

        # One that only the pod itself finds: the new pod ends, and the old one stays.
        owned = [pod for pod in await client.list(Pod, namespace, labels=selector) if _of(pod, case.deployment)]
        assert owned
        for pod in owned:
            await annotate(client, Pod, pod.metadata.name, namespace, fault="None")
        crash = {"fault": "Crash", "exit_code": "22", "message": WORDS, "backoff": "0.5", "container": case.component}
        await annotate(client, Deployment, case.deployment, namespace, **crash)
        await client.apply(kind, case.body(namespace, "[DEFAULT]\ndebug = true\n"), field_manager="user")

        def stuck(seen: Any) -> bool:
            said = find(seen.status.conditions, "DeploymentReady")
            return said is not None and said.reason == "RolloutStuck" and WORDS in said.message

        told = await eventually(client, kind, case.name, namespace, stuck)
        said = find(told.status.conditions, "DeploymentReady")
        assert said is not None
        assert f"Deployment {case.deployment} serves with 1 of 1 pods, and a new one is not ready yet" in said.message
        assert "0 of 1" not in said.message
        assert not is_ready(told)
        for pod in owned:
            stays = await client.get(Pod, pod.metadata.name, namespace)
            assert not stays.deleting
            ready = {entry["type"]: entry["status"] for entry in stays.status["conditions"]}
            assert ready["Ready"] == "True"

        # It goes on by itself once the cause is gone.
        await annotate(client, Deployment, case.deployment, namespace, **dict.fromkeys(crash))
        await eventually(client, kind, case.name, namespace, is_ready)


def _of(pod: Pod, deployment: str) -> bool:
    return pod.metadata.name.rsplit("-", 2)[0] == deployment

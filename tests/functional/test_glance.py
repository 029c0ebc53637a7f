"""Glance in a control plane, on a real API server with the real helm; its Keystone is a fake that runs elsewhere."""

import base64
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stackwright import services
from stackwright.adapters.identity import Credentials, Keystone, Session
from stackwright.api.keystone import KeystoneService
from stackwright.api.mariadb import MariaDBDatabase
from stackwright.controllers import database
from stackwright.controllers.controlplane import controller as umbrella
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.identity import controllers as identity
from stackwright.controllers.service import controllers
from stackwright.kube.builtin import (
    CronJob,
    Deployment,
    Job,
    PersistentVolumeClaim,
    Pod,
    ReplicaSet,
    Secret,
    Service,
    StorageClass,
)
from stackwright.kube.client import Client
from stackwright.kube.conditions import find
from stackwright.kube.errors import Invalid
from stackwright.kube.runtime import Runtime
from stackwright.services.glance.kinds import Glance
from stackwright.simulator import Script, simulated, storage_class
from tests.fakes.mariadb import FakeMariaDB
from tests.fakes.running import fake
from tests.functional import neighbours
from tests.functional.cloud import environment
from tests.functional.running import running
from tests.functional.test_service_controller import is_ready, kinds
from tests.functional.watching import eventually, gone, some

__all__ = ["kinds"]

pytestmark = pytest.mark.usefixtures("kinds")

UMBRELLA = services.control_plane()
ADMIN = Credentials("admin", "wonderland", "admin")
PASSWORD = "keeps-images"
CLASS = "played"
INSTANCE = "app.kubernetes.io/instance=glance"


@dataclass(frozen=True)
class Cloud:
    """A control plane whose Keystone is there already."""

    client: Client
    namespace: str
    keystone: Keystone
    keystone_section: dict[str, Any]

    async def ask(self, template: dict[str, Any] | None = None, **section: Any) -> None:
        glance = {**section, **({"template": template} if template is not None else {})}
        spec = {"secret": "osp-secret", "storageClass": CLASS, "keystone": self.keystone_section, "glance": glance}
        body = {"metadata": {"name": "cloud", "namespace": self.namespace}, "spec": spec}
        await self.client.apply(UMBRELLA, body, field_manager="user")

    async def ready(self) -> Glance:
        await eventually(self.client, UMBRELLA, "cloud", self.namespace, is_ready)
        return await eventually(self.client, Glance, "glance", self.namespace, is_ready)

    async def said(self, text: str, condition: str = "InputReady") -> None:
        def holds(seen: Glance) -> bool:
            found = find(seen.status.conditions, condition)
            return found is not None and text in found.message

        await eventually(self.client, Glance, "glance", self.namespace, holds)

    async def secret(self, name: str, **texts: str) -> None:
        body = {"metadata": {"name": name, "namespace": self.namespace}, "stringData": texts}
        await self.client.apply(Secret, body, field_manager="user")

    async def config(self) -> dict[str, str]:
        secret = await self.client.get(Secret, "glance-config-data", self.namespace)
        return {key: base64.b64decode(value).decode() for key, value in secret.data.items()}

    async def pods(self) -> dict[str, set[str]]:
        """Return the pods of Glance's APIs by component."""
        found: dict[str, set[str]] = {}
        for pod in await self.client.list(Pod, self.namespace, labels=f"{INSTANCE},pod-template-hash"):
            if not pod.deleting:
                component = pod.metadata.labels["app.kubernetes.io/component"]
                found.setdefault(component, set()).add(pod.metadata.uid)
        return found


@pytest.fixture
async def cloud(client: Client, namespace: str, kubernetes: dict[str, Path]) -> AsyncIterator[Cloud]:
    """A place for a control plane, its operators, and what they stand on."""
    await client.apply(StorageClass, storage_class(CLASS))
    surroundings = environment(kubernetes)
    server = FakeMariaDB(password=surroundings.source("openstack-mariadb-root").password())
    dialler = Dialler(client, inside=True)
    with fake("tests.fakes.keystone", ADMIN.password) as started:
        urls = {interface: {"endpointURL": started.url} for interface in ("public", "internal")}
        section = {"template": {"externalKeystoneAPI": True, "override": {"service": urls}}}
        place = Cloud(client, namespace, Keystone(Session(started.url, ADMIN)), section)
        await place.secret("osp-secret", AdminPassword=ADMIN.password, GlancePassword=PASSWORD)
        operators = (
            umbrella(lambda length: "p" * length),
            *controllers(services.blueprints(), surroundings),
            *database.controllers(dialler, server.connect),
            *identity(dialler, every=1.0),
        )
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(simulated(client, namespace, Script()))
            await stack.enter_async_context(neighbours.nodes_agree(client, namespace))
            await stack.enter_async_context(running(Runtime(client, operators, namespace=namespace)))
            yield place


async def test_asked_for_in_the_umbrella_it_comes_up_with_all_it_needs(cloud: Cloud) -> None:
    await cloud.ask({})
    ready = await cloud.ready()
    client, namespace = cloud.client, cloud.namespace
    urls = {name: f"http://glance-default-{name}.{namespace}.svc:9292" for name in ("public", "internal")}
    assert ready.status.apiEndpoint == urls
    assert ready.status.glanceAPIReadyCounts == {"default": 2}
    assert ready.status.serviceID == (await client.get(KeystoneService, "glance", namespace)).status.serviceID != ""
    assert {condition.type for condition in ready.status.conditions} == {*Glance.conditions, "Ready"}
    (listed,) = await cloud.keystone.find_services("image", "glance")
    found = [endpoint for endpoint in await cloud.keystone.endpoints() if endpoint.service_id == listed.id]
    assert {endpoint.interface: endpoint.url for endpoint in found} == urls
    assert await cloud.keystone.login(Credentials("glance", PASSWORD, "service")) is not None
    whole = await client.get(UMBRELLA, "cloud", namespace)
    assert {(entry.kind, entry.name) for entry in whole.status.resolved} == {
        ("Galera", "openstack"),
        ("Memcached", "memcached"),
    }
    jobs = {job.metadata.labels["app.kubernetes.io/component"] for job in await client.list(Job, namespace)}
    assert jobs == {"db-sync", "load-metadefs"}
    assert (await client.get(CronJob, "glance-db-purge", namespace)).spec["schedule"] == "1 0 * * *"
    # One rollout, one revision.
    for component in ("default-external", "default-internal"):
        labels = f"{INSTANCE},app.kubernetes.io/component={component}"
        assert len(await client.list(ReplicaSet, namespace, labels=labels)) == 1
    records = await client.list(Secret, namespace, labels="owner=helm,name=glance")
    assert [secret.metadata.name for secret in records] == ["sh.helm.release.v1.glance.v1"]


async def test_the_snippet_of_one_api_rolls_its_pods_and_its_sibling_keeps_the_defaults(cloud: Cloud) -> None:
    apis: dict[str, Any] = {"default": {}, "second": {"type": "single"}}
    await cloud.ask({"glanceAPIs": apis, "keystoneEndpoint": "default"})
    await cloud.ready()
    before = await cloud.pods()
    apis["second"]["customServiceConfig"] = "[DEFAULT]\nimage_size_cap = 1048576\n"
    await cloud.ask({"glanceAPIs": apis, "keystoneEndpoint": "default"})
    await eventually(
        cloud.client,
        Deployment,
        "glance-second",
        cloud.namespace,
        lambda seen: seen.metadata.generation > 1 and seen.status.get("updatedReplicas") == 1,
    )
    await some(
        cloud.client,
        Pod,
        cloud.namespace,
        lambda pods: not any(pod.metadata.uid in before["second"] for pod in pods),
        labels=f"{INSTANCE},app.kubernetes.io/component=second",
    )
    await cloud.ready()
    after = await cloud.pods()
    assert {name for name in before if before[name] != after[name]} == {"second"}
    config = await cloud.config()
    assert config["second-03-glance-api-override.conf"] == "[DEFAULT]\nimage_size_cap = 1048576\n"
    assert config["default-external-03-glance-api-override.conf"] == ""


async def test_taken_out_and_asked_for_again_it_finds_its_images(cloud: Cloud) -> None:
    template = {"storage": {"storageRequest": "20G"}}
    await cloud.ask(template)
    await cloud.ready()
    volume = await cloud.client.get(PersistentVolumeClaim, "glance-default", cloud.namespace)
    schema = await cloud.client.get(MariaDBDatabase, "glance", cloud.namespace)
    assert volume.spec["resources"]["requests"]["storage"] == "20G"
    assert volume.spec["storageClassName"] == CLASS
    assert volume.metadata.ownerReferences == ()
    await cloud.ask(template, enabled=False)
    await gone(cloud.client, Glance, "glance", cloud.namespace)
    await gone(cloud.client, Deployment, "glance-default-external", cloud.namespace)
    # Nobody says its size any more, and it keeps the one that it has.
    await cloud.ask({"dbPurge": {"age": 90}})
    await cloud.ready()
    again = await cloud.client.get(PersistentVolumeClaim, "glance-default", cloud.namespace)
    assert again.metadata.uid == volume.metadata.uid
    assert again.spec["resources"]["requests"]["storage"] == "20G"
    assert (await cloud.client.get(MariaDBDatabase, "glance", cloud.namespace)).metadata.uid == schema.metadata.uid


async def test_an_override_of_the_umbrella_reaches_the_service_of_the_api(cloud: Cloud) -> None:
    await cloud.ask(apiOverrides={"default": {"service": {"public": {"spec": {"type": "NodePort"}}}}})
    ready = await cloud.ready()
    service = await cloud.client.get(Service, "glance-default-public", cloud.namespace)
    assert service.spec["type"] == "NodePort"
    assert ready.status.apiEndpoint["public"].endswith(f":{service.spec['ports'][0]['nodePort']}")


async def test_replicas_that_would_see_different_images_are_refused_until_the_volume_is_for_all(cloud: Cloud) -> None:
    await cloud.ask({"glanceAPIs": {"default": {"replicas": 2}}})
    await cloud.said("2 replicas would need a volume to which several nodes write")
    await cloud.ask({"glanceAPIs": {"default": {"replicas": 2}}, "storage": {"accessMode": "ReadWriteMany"}})
    ready = await cloud.ready()
    assert ready.status.glanceAPIReadyCounts == {"default": 4}
    await cloud.ask({"glanceAPIs": {"default": {"replicas": 1}}, "storage": {"accessMode": "ReadWriteOnce"}})
    await cloud.said("PersistentVolumeClaim glance-default is there already, with ReadWriteMany")


async def test_snippets_in_a_secret_are_waited_for_and_never_told(cloud: Cloud) -> None:
    own = {"storage": {"external": True}, "customServiceConfigSecrets": ["s3"]}
    await cloud.ask(own)
    await cloud.said("Secret s3, which customServiceConfigSecrets names, does not exist; create it")
    await cloud.secret("s3", store="[s3]\nhush-hush\n")
    await cloud.said("Secret s3, key store: line 2 cannot be read; correct it")
    broken = await cloud.client.get(Glance, "glance", cloud.namespace)
    assert not any("hush" in condition.message for condition in broken.status.conditions)
    await cloud.secret("s3", store="[DEFAULT]\nenabled_backends = s3:s3\n[s3]\ns3_store_secret_key = hush-hush\n")
    await cloud.ready()
    assert "hush-hush" in (await cloud.config())["default-external-04-00-s3-store.conf"]
    assert await cloud.client.list(PersistentVolumeClaim, cloud.namespace, labels=INSTANCE) == []
    assert await cloud.client.find(PersistentVolumeClaim, "glance-default", cloud.namespace) is None


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({"glanceAPIs": {"a": {}, "b": {}}}, "there are several glanceAPIs"),
        ({"glanceAPIs": {"a": {}}, "keystoneEndpoint": "b"}, "names none of the glanceAPIs"),
        ({"keystoneEndpoint": "b"}, "names none of the glanceAPIs"),
        ({"glanceAPIs": {"A_b": {}}}, "the name of an API is a DNS label"),
    ],
    ids=["several and none chosen", "an unknown one", "an unknown one without any", "no name"],
)
async def test_admission_refuses(client: Client, namespace: str, spec: dict[str, Any], sentence: str) -> None:
    said = {"databaseInstance": "openstack", "secret": "osp-secret", **spec}
    with pytest.raises(Invalid) as refused:
        await client.apply(Glance, {"metadata": {"name": "glance", "namespace": namespace}, "spec": said})
    assert sentence in str(refused.value)

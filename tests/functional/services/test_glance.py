"""What is Glance's own, beside what its row says: several APIs, images that stay, and Glance in a control plane."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stackwright import services
from stackwright.api.annotations import NOT_NEEDED
from stackwright.api.keystone import KeystoneService
from stackwright.api.mariadb import MariaDBDatabase
from stackwright.controllers import database
from stackwright.controllers.controlplane import controller as umbrella
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.identity import controllers as identity
from stackwright.controllers.service import controllers
from stackwright.kube.builtin import CronJob, Deployment, PersistentVolumeClaim, Pod, ReplicaSet, Service
from stackwright.kube.resource import owner_reference
from stackwright.kube.runtime import Runtime
from stackwright.services.glance.kinds import Glance
from stackwright.simulator.annotations import PREFIX
from tests.fakes.mariadb import FakeMariaDB
from tests.fakes.running import fake
from tests.functional import neighbours
from tests.functional.cloud import Cloud, configured, environment
from tests.functional.running import running
from tests.functional.services.case import CLASS, SERVER, ServiceCase
from tests.functional.services.cases.glance import CASES
from tests.functional.services.place import ADMIN, Place
from tests.functional.watching import eventually, gone, some

UMBRELLA = services.control_plane()
INSTANCE = "app.kubernetes.io/instance=glance"


@pytest.fixture
def case() -> ServiceCase:
    return CASES[0]


@dataclass
class Umbrella(Cloud):
    """A control plane whose Keystone is there already."""

    keystone: str = ""

    async def ask(self, template: dict[str, Any] | None = None, **section: Any) -> None:
        urls = {interface: {"endpointURL": self.keystone} for interface in ("public", "internal")}
        keystone = {"template": {"externalKeystoneAPI": True, "override": {"service": urls}}}
        glance = {**section, **({"template": template} if template is not None else {})}
        spec = {"secret": "osp-secret", "storageClass": CLASS, "keystone": keystone, "glance": glance}
        await self.put(UMBRELLA, "cloud", spec=spec)

    async def up(self) -> Glance:
        await self.ready(UMBRELLA, "cloud")
        found: Glance = await self.ready(Glance, "glance")
        return found


@pytest.fixture
async def cloud(place: Place, kubernetes: dict[str, Path]) -> AsyncIterator[Umbrella]:
    """A place for a control plane, its operators, and what they stand on."""
    client, namespace, surroundings = place.client, place.namespace, environment(kubernetes)
    server = FakeMariaDB(password=surroundings.source("openstack-mariadb-root").password())
    dialler = Dialler(client, inside=True)
    await place.give(AdminPassword=ADMIN.password, **place.case.passwords)
    operators = (
        umbrella(lambda length: "p" * length),
        *controllers(services.blueprints(), surroundings),
        *database.controllers(dialler, server.connect),
        *identity(dialler, every=1.0),
    )
    with fake("tests.fakes.keystone", ADMIN.password) as started:
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(neighbours.nodes_agree(client, namespace, SERVER))
            await stack.enter_async_context(running(Runtime(client, operators, namespace=namespace)))
            yield Umbrella(client, namespace, keystone=started.url)


async def test_asked_for_in_the_umbrella_it_comes_up_with_all_it_needs(cloud: Umbrella) -> None:
    await cloud.ask({})
    ready = await cloud.up()
    client, namespace = cloud.client, cloud.namespace
    assert ready.status.glanceAPIReadyCounts == {"default": 2}
    assert ready.status.serviceID == (await client.get(KeystoneService, "glance", namespace)).status.serviceID != ""
    whole = await client.get(UMBRELLA, "cloud", namespace)
    assert {(entry.kind, entry.name) for entry in whole.status.resolved} == {
        ("Galera", "openstack"),
        ("Memcached", "memcached"),
    }
    assert (await client.get(CronJob, "glance-db-purge", namespace)).spec["schedule"] == "1 0 * * *"
    # One rollout.
    for component in ("default-external", "default-internal"):
        labels = f"{INSTANCE},app.kubernetes.io/component={component}"
        assert len(await client.list(ReplicaSet, namespace, labels=labels)) == 1


async def test_taken_out_and_asked_for_again_it_finds_its_images(cloud: Umbrella) -> None:
    client, namespace, template = cloud.client, cloud.namespace, {"storage": {"storageRequest": "20G"}}
    await cloud.ask(template)
    await cloud.up()
    volume = await client.get(PersistentVolumeClaim, "glance-default", namespace)
    schema = await client.get(MariaDBDatabase, "glance", namespace)
    assert volume.spec["resources"]["requests"]["storage"] == "20G"
    assert volume.spec["storageClassName"] == CLASS
    await cloud.ask(template, enabled=False)
    await gone(client, Glance, "glance", namespace)
    await gone(client, Deployment, "glance-default-external", namespace)
    # Nobody says its size any more, and it keeps the one that it has.
    await cloud.ask({"dbPurge": {"age": 90}})
    await cloud.up()
    again = await client.get(PersistentVolumeClaim, "glance-default", namespace)
    assert again.metadata.uid == volume.metadata.uid
    assert again.spec["resources"]["requests"]["storage"] == "20G"
    assert (await client.get(MariaDBDatabase, "glance", namespace)).metadata.uid == schema.metadata.uid


async def test_an_override_of_the_umbrella_reaches_the_service_of_the_api(cloud: Umbrella) -> None:
    await cloud.ask(apiOverrides={"default": {"service": {"public": {"spec": {"type": "NodePort"}}}}})
    ready = await cloud.up()
    service = await cloud.client.get(Service, "glance-default-public", cloud.namespace)
    assert service.spec["type"] == "NodePort"
    assert ready.status.apiEndpoint["public"].endswith(f":{service.spec['ports'][0]['nodePort']}")


async def pods(place: Place) -> dict[str, set[str]]:
    """Return the pods of Glance's APIs by component."""
    found: dict[str, set[str]] = {}
    for pod in await place.client.list(Pod, place.namespace, labels=f"{INSTANCE},pod-template-hash"):
        if not pod.deleting:
            found.setdefault(pod.metadata.labels["app.kubernetes.io/component"], set()).add(pod.metadata.uid)
    return found


async def named_in_catalog(place: Place) -> set[str]:
    """Return the Services that Glance's endpoints name, in Keystone and in Glance's own status."""
    assert place.keystone is not None
    async with place.keystone.connected():
        service = next(service for service in await place.keystone.services() if service.type == "image")
        found = [one.url for one in await place.keystone.endpoints() if one.service_id == service.id]
    told = (await place.client.get(Glance, "glance", place.namespace)).status.apiEndpoint.values()
    return {url.removeprefix("http://").partition(".")[0] for url in (*found, *told)}


async def may_leave(place: Place, claim: str) -> None:
    """Say that nobody needs what is on a claim."""
    body = {"metadata": {"annotations": {NOT_NEEDED: "true"}}}
    await place.client.patch(PersistentVolumeClaim, claim, place.namespace, body)


async def test_the_snippet_of_one_api_rolls_its_pods_and_its_sibling_keeps_the_defaults(standing: Place) -> None:
    apis: dict[str, Any] = {"default": {}, "second": {"type": "single"}}
    await standing.ask(glanceAPIs=apis, keystoneEndpoint="default")
    await standing.up()
    before = await pods(standing)
    snippet = "[DEFAULT]\nimage_size_cap = 1048576\n"
    await standing.ask(
        glanceAPIs={**apis, "second": {**apis["second"], "customServiceConfig": snippet}}, keystoneEndpoint="default"
    )
    await eventually(
        standing.client,
        Deployment,
        "glance-second",
        standing.namespace,
        lambda seen: seen.metadata.generation > 1 and seen.status.get("updatedReplicas") == 1,
    )
    await some(
        standing.client,
        Pod,
        standing.namespace,
        lambda found: not any(pod.metadata.uid in before["second"] for pod in found),
        labels=f"{INSTANCE},app.kubernetes.io/component=second",
    )
    await standing.up()
    after = await pods(standing)
    assert {name for name in before if before[name] != after[name]} == {"second"}
    key = "second-03-glance-api-override.conf"
    place = standing.client, "glance-config-data", standing.namespace
    config = await configured(*place, lambda content: content.get(key) == snippet)
    assert config["default-external-03-glance-api-override.conf"] == ""


async def test_an_api_under_another_name_that_does_not_come_up_takes_no_api_away(standing: Place) -> None:
    client, namespace = standing.client, standing.namespace
    await standing.ask(glanceAPIs={"first": {"type": "single"}}, keystoneEndpoint="first")
    glance = await standing.up()
    # What will be the Deployment of the other name, so that its pods are not ready from the first one on.
    labels = {f"app.kubernetes.io/{name}": value for name, value in (("name", "glance"), ("instance", "glance"))}
    labels["app.kubernetes.io/component"] = "second"
    pod = {"containers": [{"name": "second", "image": "none.example.org/none"}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    owner = {"ownerReferences": [owner_reference(glance)]}
    body = {
        "metadata": {"name": "glance-second", "namespace": namespace, "labels": labels, **owner},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
    }
    await client.apply(Deployment, body)
    said: dict[str, str | None] = {f"{PREFIX}fault": "ProbeFailing", f"{PREFIX}probe": "readiness"}
    await client.patch(Deployment, "glance-second", namespace, {"metadata": {"annotations": said}})

    await may_leave(standing, "glance-first")
    second: dict[str, Any] = {"glanceAPIs": {"second": {"type": "single"}}, "keystoneEndpoint": "second"}
    await standing.ask(**second)
    await some(
        client,
        Pod,
        namespace,
        lambda found: any(pod.status.get("phase") == "Running" for pod in found),
        labels=f"{INSTANCE},app.kubernetes.io/component=second",
    )
    # One more pass, which would take it away with the same hand.
    await standing.ask(**second, dbPurge={"schedule": "2 0 * * *"})
    await eventually(client, CronJob, "glance-db-purge", namespace, lambda seen: seen.spec["schedule"] == "2 0 * * *")
    first = await client.get(Deployment, "glance-first", namespace)
    assert (first.status["readyReplicas"], first.deleting) == (1, False)
    # Who asks the catalog is sent to what serves.
    assert await named_in_catalog(standing) == {"glance-first-public", "glance-first-internal"}
    # Its pod would start again.
    assert "first.json" in await standing.decoded("glance-config-data")
    await standing.told("Deployment/glance-first goes once the pods of the others are those of the change")

    await client.patch(Deployment, "glance-second", namespace, {"metadata": {"annotations": dict.fromkeys(said)}})
    await standing.up()
    await gone(client, Deployment, "glance-first", namespace)
    assert await named_in_catalog(standing) == {"glance-second-public", "glance-second-internal"}


async def test_a_change_that_leaves_images_behind_waits_for_a_word(standing: Place) -> None:
    client, namespace = standing.client, standing.namespace
    await standing.ask(glanceAPIs={"first": {"type": "single"}})
    await standing.up()
    await standing.ask(glanceAPIs={"second": {"type": "single"}})
    await standing.told("PersistentVolumeClaim glance-first may have images", "InputReady")
    assert await client.find(Deployment, "glance-second", namespace) is None
    assert await client.find(PersistentVolumeClaim, "glance-second", namespace) is None
    await may_leave(standing, "glance-first")
    await standing.up()
    await gone(client, Deployment, "glance-first", namespace)
    assert not (await client.get(PersistentVolumeClaim, "glance-first", namespace)).deleting
    # What was accepted once is not asked again.
    annotations: dict[str, None] = {NOT_NEEDED: None}
    await client.patch(PersistentVolumeClaim, "glance-first", namespace, {"metadata": {"annotations": annotations}})
    await standing.ask(glanceAPIs={"second": {"type": "single"}}, dbPurge={"schedule": "2 0 * * *"})
    await eventually(client, CronJob, "glance-db-purge", namespace, lambda seen: seen.spec["schedule"] == "2 0 * * *")
    await standing.up()


async def test_replicas_that_would_see_different_images_are_refused_until_the_volume_is_for_all(
    standing: Place,
) -> None:
    several = {"default": {"replicas": 2}}
    await standing.ask(glanceAPIs=several)
    await standing.told("2 replicas would need a volume to which several nodes write", "InputReady")
    await standing.ask(glanceAPIs=several, storage={"storageClass": CLASS, "accessMode": "ReadWriteMany"})
    assert (await standing.up()).status.glanceAPIReadyCounts == {"default": 4}
    await standing.ask(storage={"storageClass": CLASS, "accessMode": "ReadWriteOnce"})
    await standing.told("PersistentVolumeClaim glance-default is there already, with ReadWriteMany", "InputReady")


async def test_snippets_in_a_secret_are_waited_for_and_never_told(standing: Place) -> None:
    client, namespace = standing.client, standing.namespace
    await standing.ask(storage={"external": True}, customServiceConfigSecrets=["s3"])
    await standing.told("Secret s3, which customServiceConfigSecrets names, does not exist; create it", "InputReady")
    await standing.secret("s3", store="[s3]\nhush-hush\n")
    broken = await standing.told("Secret s3, key store: line 2 cannot be read; correct it", "InputReady")
    assert not any("hush" in condition.message for condition in broken.status.conditions)
    store = "[DEFAULT]\nenabled_backends = s3:s3\n[s3]\ns3_store_secret_key = hush-hush\n"
    await standing.secret("s3", store=store)
    await standing.up()
    config = await standing.decoded("glance-config-data")
    assert "hush-hush" in config["default-external-04-00-s3-store.conf"]
    assert await client.list(PersistentVolumeClaim, namespace, labels=INSTANCE) == []
    assert await client.find(PersistentVolumeClaim, "glance-default", namespace) is None

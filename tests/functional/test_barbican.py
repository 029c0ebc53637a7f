"""Barbican's blueprint on a real API server, with the real helm; the catalog is a fake Keystone's."""

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from stackwright.adapters.identity import Credentials, Keystone
from stackwright.api.rabbitmq import TransportURL
from stackwright.kube.builtin import Deployment, Job, Secret
from stackwright.kube.client import Client
from stackwright.kube.conditions import find
from stackwright.services.barbican.kinds import Barbican
from stackwright.services.barbican.service import SERVICE
from tests.functional.cloud import environment
from tests.functional.listed import beside_keystone
from tests.functional.test_service_controller import is_ready, kinds
from tests.functional.watching import eventually

__all__ = ["kinds"]

pytestmark = pytest.mark.usefixtures("kinds")

PASSWORD = "keeps-everything"
KEY = "b3BlbnMtZXZlcnktZG9vci1vZi10aGUtaG91c2UtLS0="


def barbican(namespace: str, **spec: Any) -> dict[str, Any]:
    said = {"databaseInstance": "openstack", "secret": "osp-secret", **spec}
    return {"metadata": {"name": "barbican", "namespace": namespace}, "spec": said}


@pytest.fixture
async def keystone(client: Client, namespace: str, kubernetes: dict[str, Path]) -> AsyncIterator[Keystone]:
    """The Keystone that lists the service."""
    passwords = {"BarbicanPassword": PASSWORD, "BarbicanSimpleCryptoKEK": KEY}
    async with beside_keystone(client, namespace, SERVICE, passwords, environment(kubernetes)) as listing:
        yield listing


async def until_ready(client: Client, namespace: str) -> Barbican:
    return await eventually(client, Barbican, "barbican", namespace, is_ready)


async def test_its_listener_comes_and_goes_and_each_component_has_its_condition(
    client: Client, namespace: str, keystone: Keystone
) -> None:
    await client.apply(Barbican, barbican(namespace, barbicanKeystoneListener={"replicas": 1}), field_manager="user")
    ready = await until_ready(client, namespace)
    assert ready.status.readyCount == 3
    said = {condition.type: condition.status for condition in ready.status.conditions}
    for name in ("BarbicanAPIReady", "BarbicanWorkerReady", "BarbicanKeystoneListenerReady", "ServiceAccountReady"):
        assert said[name] == "True"
    listener = await client.get(Deployment, "barbican-keystone-listener", namespace)
    config = await client.get(Secret, "barbican-config-data", namespace)
    settings = base64.b64decode(config.data["keystone-listener-01-barbican.conf"]).decode()
    assert "pool_name = barbican-listener" in settings
    assert listener.spec["replicas"] == 1
    before = await client.get(Deployment, "barbican", namespace)
    await client.apply(Barbican, barbican(namespace), field_manager="user")
    await eventually(
        client, Barbican, "barbican", namespace, lambda seen: is_ready(seen) and seen.status.readyCount == 2
    )
    assert await client.find(Deployment, "barbican-keystone-listener", namespace) is None
    after = await client.get(Deployment, "barbican", namespace)
    assert after.spec["template"] == before.spec["template"]


async def test_barbican_comes_up_with_its_worker_and_is_in_the_catalog(
    client: Client, namespace: str, keystone: Keystone
) -> None:
    await client.apply(Barbican, barbican(namespace), field_manager="user")
    ready = await until_ready(client, namespace)
    urls = {name: f"http://barbican-{name}.{namespace}.svc:9311" for name in ("public", "internal")}
    assert ready.status.apiEndpoints == urls
    assert ready.status.databaseHostname == f"openstack.{namespace}.svc"
    assert ready.status.transportURLSecret == "rabbitmq-transport-url-barbican-messaging"
    assert ready.status.readyCount == 2
    assert set(ready.status.hash) == {"api", "worker", "db-sync", "key-simplecryptokek"}
    assert {condition.type for condition in ready.status.conditions} == {*Barbican.conditions, "Ready"}
    (service,) = await keystone.find_services("key-manager", "barbican")
    found = [endpoint for endpoint in await keystone.endpoints() if endpoint.service_id == service.id]
    assert {endpoint.interface: endpoint.url for endpoint in found} == urls
    assert await keystone.login(Credentials("barbican", PASSWORD, "service")) is not None
    (bus,) = await client.list(TransportURL, namespace)
    assert (bus.metadata.name, bus.spec.rabbitmqClusterName) == ("barbican-messaging", "rabbitmq")
    config = await client.get(Secret, "barbican-config-data", namespace)
    assert f"kek = {KEY}" in base64.b64decode(config.data["01-barbican.conf"]).decode()


async def test_only_the_part_that_reads_a_snippet_is_rolled(client: Client, namespace: str, keystone: Keystone) -> None:
    await client.apply(Barbican, barbican(namespace), field_manager="user")
    await until_ready(client, namespace)
    api = await client.get(Deployment, "barbican", namespace)
    worker = await client.get(Deployment, "barbican-worker", namespace)
    snippet = {"customServiceConfig": "[queue]\nasynchronous_workers = 2"}
    await client.apply(Barbican, barbican(namespace, barbicanWorker=snippet), field_manager="user")
    before = worker.metadata.generation
    await eventually(client, Deployment, "barbican-worker", namespace, lambda seen: seen.metadata.generation > before)
    await until_ready(client, namespace)
    assert (await client.get(Deployment, "barbican", namespace)).metadata.generation == api.metadata.generation


async def test_a_key_that_is_none_is_named_and_not_shown(client: Client, namespace: str, keystone: Keystone) -> None:
    await client.patch(Secret, "osp-secret", namespace, {"stringData": {"BarbicanSimpleCryptoKEK": "sesame"}})
    await client.apply(Barbican, barbican(namespace), field_manager="user")

    def named(seen: Barbican) -> bool:
        found = find(seen.status.conditions, "InputReady")
        return found is not None and "under BarbicanSimpleCryptoKEK is not a Fernet key" in found.message

    seen = await eventually(client, Barbican, "barbican", namespace, named)
    assert "sesame" not in str(seen.status)
    await client.patch(Secret, "osp-secret", namespace, {"stringData": {"BarbicanSimpleCryptoKEK": KEY}})
    await until_ready(client, namespace)


async def test_with_jobs_the_chart_enters_keystone_itself(client: Client, namespace: str, keystone: Keystone) -> None:
    await client.apply(Barbican, barbican(namespace, provisioning="Job"), field_manager="user")
    await until_ready(client, namespace)
    found = await client.list(Job, namespace, labels="app.kubernetes.io/instance=barbican")
    names = {job.metadata.labels["app.kubernetes.io/component"] for job in found}
    assert names == {"db-sync", "db-create", "identity-create"}


async def test_rows_are_cleaned_when_somebody_asks(client: Client, namespace: str, keystone: Keystone) -> None:
    await client.apply(Barbican, barbican(namespace), field_manager="user")
    await until_ready(client, namespace)
    asked = [{"name": "clean-database", "id": "today"}]
    await client.apply(Barbican, barbican(namespace, actions=asked), field_manager="user")
    done = await eventually(
        client,
        Barbican,
        "barbican",
        namespace,
        lambda seen: [action.state for action in seen.status.actions] == ["Succeeded"],
    )
    assert done.status.actions[0].name == "clean-database"


async def test_another_key_than_the_one_that_was_encrypted_with_is_not_taken_in_silence(
    client: Client, namespace: str, keystone: Keystone
) -> None:
    await client.apply(Barbican, barbican(namespace), field_manager="user")
    ready = await until_ready(client, namespace)
    before = await client.get(Secret, "barbican-config-data", namespace)
    other = base64.b64encode(b"YW5vdGhlci1rZXktb2YtMzItYnl0ZXMtb2YtYmFyYmk=").decode()
    await client.patch(Secret, "osp-secret", namespace, {"data": {"BarbicanSimpleCryptoKEK": other}})
    word = ready.status.hash["key-simplecryptokek"]

    def is_blocked(seen: Barbican) -> bool:
        found = find(seen.status.conditions, "InputReady")
        return found is not None and found.reason == "SecretLost" and f"accept-loss: {word}" in found.message

    blocked = await eventually(client, Barbican, "barbican", namespace, is_blocked)
    assert blocked.status.hash["key-simplecryptokek"] == word
    assert (await client.get(Secret, "barbican-config-data", namespace)).data == before.data
    change = {"metadata": {"annotations": {"openstack.org/accept-loss": word}}}
    await client.patch(Barbican, "barbican", namespace, change)
    await eventually(
        client, Barbican, "barbican", namespace, lambda seen: seen.status.hash["key-simplecryptokek"] != word
    )

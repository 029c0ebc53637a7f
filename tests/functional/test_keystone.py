"""Keystone's blueprint on a real API server, with the real helm; workloads and neighbours are played."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright.api.annotations import PAUSED
from stackwright.api.mariadb import MariaDBAccount, MariaDBDatabase
from stackwright.kube.builtin import ConfigMap, CronJob, Deployment, Job, Node, PodDisruptionBudget, Secret, Service
from stackwright.kube.client import Client
from stackwright.kube.conditions import find
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.keystone.service import SERVICE
from tests.functional import neighbours
from tests.functional.cloud import cloud, environment, operated
from tests.functional.running import worked_through
from tests.functional.test_service_controller import is_ready, kinds
from tests.functional.watching import eventually, gone

__all__ = ["kinds"]

pytestmark = pytest.mark.usefixtures("kinds")


def keystone(namespace: str, **spec: Any) -> dict[str, Any]:
    said = {"databaseInstance": "openstack", "secret": "osp-secret", **spec}
    return {"metadata": {"name": "keystone", "namespace": namespace}, "spec": said}


async def passwords(client: Client, namespace: str, **keys: str) -> None:
    body = {"metadata": {"name": "osp-secret", "namespace": namespace}, "stringData": keys}
    await client.apply(Secret, body, field_manager="user")


async def ask(client: Client, namespace: str, **spec: Any) -> None:
    """Make all that Keystone needs, and ask for it."""
    await neighbours.database_server(client, namespace)
    await neighbours.cache(client, namespace)
    await passwords(client, namespace, AdminPassword="wonderland")
    await client.apply(KeystoneAPI, keystone(namespace, **spec), field_manager="user")


async def until_ready(client: Client, namespace: str) -> KeystoneAPI:
    return await eventually(client, KeystoneAPI, "keystone", namespace, is_ready)


def message(resource: KeystoneAPI, condition: str) -> str:
    found = find(resource.status.conditions, condition)
    return found.message if found else ""


async def decoded(client: Client, name: str, namespace: str) -> dict[str, str]:
    secret = await client.get(Secret, name, namespace)
    return {key: base64.b64decode(value).decode() for key, value in secret.data.items()}


async def test_keystone_comes_up_from_its_resource_and_what_it_needs(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await ask(client, namespace)
    async with neighbours.schemas(client, namespace), cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        ready = await until_ready(client, namespace)
    assert ready.status.apiEndpoints == {
        "public": f"http://keystone-public.{namespace}.svc:5000",
        "internal": f"http://keystone-internal.{namespace}.svc:5000",
    }
    config = await decoded(client, "keystone-config-data", namespace)
    password = (await decoded(client, "keystone-db-secret", namespace))["DatabasePassword"]
    url = f"mysql+pymysql://keystone:{password}@openstack.{namespace}.svc:3306/keystone?charset=utf8"
    assert f"connection = {url}" in config["01-keystone.conf"]
    jobs = {job.metadata.labels["app.kubernetes.io/component"] for job in await client.list(Job, namespace)}
    assert jobs == {"db-sync", "bootstrap"}
    assert (await client.get(CronJob, "keystone-trust-flush", namespace)).spec["schedule"] == "1 * * * *"
    clouds = yaml.safe_load((await client.get(ConfigMap, "openstack-config", namespace)).data["clouds.yaml"])
    assert clouds["clouds"]["default"]["auth"]["auth_url"] == f"http://keystone-public.{namespace}.svc:5000/v3"
    # What outlives it has no owner.
    for kind, name in ((MariaDBDatabase, "keystone"), (MariaDBAccount, "keystone"), (Secret, "keystone-fernet-keys")):
        assert (await client.get(kind, name, namespace)).metadata.ownerReferences == ()


async def test_each_missing_input_is_named_and_heals_when_it_comes(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await client.apply(KeystoneAPI, keystone(namespace), field_manager="user")
    async with neighbours.schemas(client, namespace), cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        await _said(client, namespace, "InputReady", "Secret osp-secret, which spec.secret names, does not exist")
        await passwords(client, namespace, Other="x")
        await _said(client, namespace, "InputReady", "Secret osp-secret has no value under the key AdminPassword")
        await passwords(client, namespace, AdminPassword="wonderland")
        await _said(client, namespace, "MemcachedReady", "Memcached memcached does not exist")
        await neighbours.cache(client, namespace)
        await neighbours.database_server(client, namespace)
        await until_ready(client, namespace)


async def test_a_broken_snippet_is_refused_with_its_line(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    snippet = "[token]\nexpiration = 60\nnonsense\n"
    await client.apply(KeystoneAPI, keystone(namespace, customServiceConfig=snippet), field_manager="user")
    async with cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        await _said(client, namespace, "InputReady", "spec.customServiceConfig: line 3")


async def test_a_changed_snippet_rolls_the_api_and_runs_no_job_again(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await ask(client, namespace)
    async with neighbours.schemas(client, namespace), cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        await until_ready(client, namespace)
        before = {job.metadata.uid for job in await client.list(Job, namespace)}
        first = await client.get(Deployment, "keystone", namespace)
        changed = keystone(namespace, customServiceConfig="[DEFAULT]\ndebug = true\n")
        await client.apply(KeystoneAPI, changed, field_manager="user")
        await eventually(
            client,
            Deployment,
            "keystone",
            namespace,
            lambda seen: seen.metadata.generation > first.metadata.generation,
        )
        await until_ready(client, namespace)
        assert {job.metadata.uid for job in await client.list(Job, namespace)} == before


async def test_another_account_is_used_before_the_first_one_goes(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await ask(client, namespace)
    async with neighbours.schemas(client, namespace), cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        await until_ready(client, namespace)
        await client.apply(KeystoneAPI, keystone(namespace, databaseAccount="keystone-2"), field_manager="user")
        await eventually(client, MariaDBAccount, "keystone-2", namespace, lambda _: True)
        await gone(client, MariaDBAccount, "keystone", namespace)
        config = await decoded(client, "keystone-config-data", namespace)
        assert "mysql+pymysql://keystone_2:" in config["01-keystone.conf"]
        await gone(client, Secret, "keystone-db-secret", namespace)


async def test_what_a_user_made_stays_when_another_account_is_used(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    own = {"metadata": {"name": "keystone-db-secret", "namespace": namespace}, "stringData": {"DatabasePassword": "x"}}
    await client.create(Secret, own)
    labels = {"mariaDBDatabaseName": "keystone"}
    mine = {"metadata": {"name": "mine", "namespace": namespace, "labels": labels}}
    spec = {"userName": "mine", "secret": "keystone-db-secret"}
    await client.apply(MariaDBAccount, {**mine, "spec": spec}, field_manager="user")
    await ask(client, namespace)
    async with neighbours.schemas(client, namespace), cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        await until_ready(client, namespace)
        await client.apply(KeystoneAPI, keystone(namespace, databaseAccount="keystone-2"), field_manager="user")
        # Its Secret would go before the account, and an account of that name after none of ours.
        await gone(client, MariaDBAccount, "keystone", namespace)
        assert await decoded(client, "keystone-db-secret", namespace) == {"DatabasePassword": "x"}
        kept = await client.get(MariaDBAccount, "mine", namespace)
        assert (kept.spec.deletionPolicy, kept.deleting) == ("Retain", False)


async def test_nothing_goes_while_something_is_waited_for(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    balanced = {"service": {"public": {"spec": {"type": "LoadBalancer"}}}}
    await ask(client, namespace, replicas=2)
    async with neighbours.schemas(client, namespace), cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        await until_ready(client, namespace)
        await client.apply(KeystoneAPI, keystone(namespace, replicas=2, override=balanced), field_manager="user")
        await _said(client, namespace, "CreateServiceReady", "waits for a load balancer")
        # One replica has no budget; it goes when it is known that all is there.
        await client.apply(KeystoneAPI, keystone(namespace, replicas=1, override=balanced), field_manager="user")
        await eventually(client, KeystoneAPI, "keystone", namespace, _is_seen)
        await eventually(client, Deployment, "keystone", namespace, lambda seen: seen.spec["replicas"] == 1)
        assert await client.find(PodDisruptionBudget, "keystone", namespace) is not None
        address = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}}
        await client.patch(Service, "keystone-public", namespace, address, subresource="status")
        await gone(client, PodDisruptionBudget, "keystone", namespace)
        await until_ready(client, namespace)


def _is_seen(resource: KeystoneAPI) -> bool:
    return resource.status.observedGeneration == resource.metadata.generation


async def test_keys_turn_once_for_an_action_and_are_mounted_as_they_are(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await ask(client, namespace)
    async with neighbours.schemas(client, namespace), cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        await until_ready(client, namespace)
        before = await decoded(client, "keystone-fernet-keys", namespace)
        asked = [{"name": "rotate-keys", "id": "2026-11"}]
        await client.apply(KeystoneAPI, keystone(namespace, actions=asked), field_manager="user")
        done = await eventually(
            client,
            KeystoneAPI,
            "keystone",
            namespace,
            lambda seen: [entry.state for entry in seen.status.actions] == ["Succeeded"],
        )
        after = await decoded(client, "keystone-fernet-keys", namespace)
        assert after["2"] == before["0"]
        assert sorted(after) == ["0", "1", "2"]
        assert done.status.actions[0].result


async def test_a_paused_keystone_rests_with_what_it_keeps_and_goes_on(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await ask(client, namespace)
    async with (
        neighbours.schemas(client, namespace),
        operated(client, namespace, (SERVICE,), environment(kubernetes)) as (_, runtime),
    ):
        await until_ready(client, namespace)
        metadata = {"name": "keystone", "namespace": namespace}
        paused = {"metadata": {**metadata, "annotations": {PAUSED: "true"}}}
        await client.apply(KeystoneAPI, paused, field_manager="user-pause")
        for kind in (MariaDBDatabase, MariaDBAccount):
            await eventually(client, kind, "keystone", namespace, lambda seen: PAUSED in seen.metadata.annotations)
        before = await client.get(Deployment, "keystone", namespace)
        changed = await client.apply(KeystoneAPI, keystone(namespace, replicas=2), field_manager="user")
        await worked_through(runtime, changed)
        rested = await client.get(Deployment, "keystone", namespace)
        assert (rested.spec["replicas"], rested.metadata.generation) == (1, before.metadata.generation)
        await client.apply(KeystoneAPI, {"metadata": metadata}, field_manager="user-pause")
        after = await eventually(client, Deployment, "keystone", namespace, lambda seen: seen.spec["replicas"] == 2)
        assert after.metadata.generation == before.metadata.generation + 1
        await eventually(
            client, MariaDBAccount, "keystone", namespace, lambda seen: PAUSED not in seen.metadata.annotations
        )


async def test_the_charts_own_job_makes_the_database_where_that_is_asked_for(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await ask(client, namespace, provisioning="Job")
    async with cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        await until_ready(client, namespace)
    jobs = {job.metadata.labels["app.kubernetes.io/component"] for job in await client.list(Job, namespace)}
    assert jobs == {"db-create", "db-sync", "bootstrap"}
    assert await client.list(MariaDBDatabase, namespace) == []


async def test_the_public_url_is_that_of_the_node_port(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await ask(client, namespace, override={"service": {"public": {"spec": {"type": "NodePort"}}}})
    async with neighbours.schemas(client, namespace), cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        ready = await until_ready(client, namespace)
    service = await client.get(Service, "keystone-public", namespace)
    nodes = await client.list(Node)
    addresses = {entry["address"] for node in nodes for entry in node.status.get("addresses", ())}
    port = service.spec["ports"][0]["nodePort"]
    assert ready.status.apiEndpoints["public"] in {f"http://{address}:{port}" for address in addresses}


async def test_a_node_port_that_is_named_survives_a_keystone_that_is_made_again(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    named = {"service": {"public": {"spec": {"type": "NodePort", "nodePort": 32187}}}}
    await ask(client, namespace, override=named)
    async with neighbours.schemas(client, namespace), cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        first = await until_ready(client, namespace)
        assert first.status.apiEndpoints["public"].endswith(":32187")
        await client.delete(KeystoneAPI, "keystone", namespace)
        await gone(client, Service, "keystone-public", namespace)
        await client.apply(KeystoneAPI, keystone(namespace, override=named), field_manager="user")
        again = await until_ready(client, namespace)
    assert again.status.apiEndpoints == first.status.apiEndpoints


async def test_a_keystone_that_runs_elsewhere_gives_its_administrator_a_clouds_yaml(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    urls = {"public": {"endpointURL": "https://id.example.org"}, "internal": {"endpointURL": "http://id.internal"}}
    await passwords(client, namespace, AdminPassword="wonderland")
    spec = keystone(namespace, externalKeystoneAPI=True, adminUser="root", override={"service": urls})
    await client.apply(KeystoneAPI, spec, field_manager="user")
    async with cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        config = await eventually(client, ConfigMap, "openstack-config", namespace, lambda _: True)
        await eventually(client, Secret, "openstack-config-secret", namespace, lambda _: True)
        await until_ready(client, namespace)
    auth = yaml.safe_load(config.data["clouds.yaml"])["clouds"]["default"]["auth"]
    assert (auth["auth_url"], auth["username"]) == ("https://id.example.org/v3", "root")
    secure = yaml.safe_load((await decoded(client, "openstack-config-secret", namespace))["secure.yaml"])
    assert secure["clouds"]["default"]["auth"] == {"password": "wonderland"}


async def test_a_keystone_that_runs_elsewhere_is_used_and_nothing_is_deployed(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    urls = {"public": {"endpointURL": "https://id.example.org"}, "internal": {"endpointURL": "http://id.internal"}}
    spec = keystone(namespace, externalKeystoneAPI=True, override={"service": urls})
    await client.apply(KeystoneAPI, spec, field_manager="user")
    async with cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        ready = await until_ready(client, namespace)
    assert ready.status.apiEndpoints == {"public": "https://id.example.org", "internal": "http://id.internal"}
    assert await client.list(Deployment, namespace) == []


async def _said(client: Client, namespace: str, condition: str, text: str) -> None:
    await eventually(client, KeystoneAPI, "keystone", namespace, lambda seen: text in message(seen, condition))

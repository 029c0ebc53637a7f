"""What is Keystone's own, beside what its row says: accounts, keys, addresses, and a Keystone that runs elsewhere."""

from typing import Any

import pytest
import yaml

from stackwright.api.mariadb import MariaDBAccount
from stackwright.kube.builtin import ConfigMap, CronJob, Deployment, Job, Node, PodDisruptionBudget, Secret, Service
from stackwright.services.keystone.kinds import KeystoneAPI
from tests.functional.clockwork import without_clock
from tests.functional.cloud import configured
from tests.functional.services.case import ServiceCase
from tests.functional.services.cases.keystone import CASES
from tests.functional.services.place import Place
from tests.functional.watching import eventually, gone

ELSEWHERE: dict[str, Any] = {
    "externalKeystoneAPI": True,
    "override": {
        "service": {
            "public": {"endpointURL": "https://id.example.org"},
            "internal": {"endpointURL": "http://id.internal"},
        }
    },
}


@pytest.fixture
def case() -> ServiceCase:
    return CASES[0]


async def test_its_settings_its_clock_and_a_clouds_yaml_are_there(standing: Place) -> None:
    client, namespace = standing.client, standing.namespace
    await standing.ask()
    await standing.up()
    password = (await standing.decoded("keystone-db-secret"))["DatabasePassword"]
    url = f"mysql+pymysql://keystone:{password}@openstack.{namespace}.svc:3306/keystone?charset=utf8"
    assert f"connection = {url}" in (await standing.decoded("keystone-config-data"))["01-keystone.conf"]
    assert (await client.get(CronJob, "keystone-trust-flush", namespace)).spec["schedule"] == "1 * * * *"
    clouds = yaml.safe_load((await client.get(ConfigMap, "openstack-config", namespace)).data["clouds.yaml"])
    assert clouds["clouds"]["default"]["auth"]["auth_url"] == f"http://keystone-public.{namespace}.svc:5000/v3"


async def test_a_changed_snippet_rolls_the_api_and_runs_no_job_again(standing: Place) -> None:
    client, namespace = standing.client, standing.namespace
    await standing.ask()
    await standing.up()
    before = {job.metadata.uid for job in without_clock(await client.list(Job, namespace))}
    first = (await client.get(Deployment, "keystone", namespace)).metadata.generation
    await standing.ask(customServiceConfig="[DEFAULT]\ndebug = true\n")
    await eventually(client, Deployment, "keystone", namespace, lambda seen: seen.metadata.generation > first)
    await standing.up()
    assert {job.metadata.uid for job in without_clock(await client.list(Job, namespace))} == before


async def test_another_account_is_used_before_the_first_one_goes(standing: Place) -> None:
    client, namespace = standing.client, standing.namespace
    await standing.ask()
    await standing.up()
    await standing.ask(databaseAccount="keystone-2")
    await eventually(client, MariaDBAccount, "keystone-2", namespace, lambda _: True)
    await gone(client, MariaDBAccount, "keystone", namespace)
    url = "mysql+pymysql://keystone_2:"
    await configured(client, "keystone-config-data", namespace, lambda content: url in content["01-keystone.conf"])
    await gone(client, Secret, "keystone-db-secret", namespace)


async def test_what_a_user_made_stays_when_another_account_is_used(standing: Place) -> None:
    client, namespace = standing.client, standing.namespace
    await standing.secret("keystone-db-secret", DatabasePassword="x")
    labels = {"mariaDBDatabaseName": "keystone"}
    mine = {"metadata": {"name": "mine", "namespace": namespace, "labels": labels}}
    spec = {"userName": "mine", "secret": "keystone-db-secret"}
    await client.apply(MariaDBAccount, {**mine, "spec": spec}, field_manager="user")
    await standing.ask()
    await standing.up()
    await standing.ask(databaseAccount="keystone-2")
    # Its Secret would go before the account, and an account of that name after none of ours.
    await gone(client, MariaDBAccount, "keystone", namespace)
    assert await standing.decoded("keystone-db-secret") == {"DatabasePassword": "x"}
    kept = await client.get(MariaDBAccount, "mine", namespace)
    assert (kept.spec.deletionPolicy, kept.deleting) == ("Retain", False)


async def test_nothing_goes_while_something_is_waited_for(standing: Place) -> None:
    client, namespace = standing.client, standing.namespace
    balanced = {"service": {"public": {"spec": {"type": "LoadBalancer"}}}}
    await standing.ask(replicas=2)
    await standing.up()
    await standing.ask(replicas=2, override=balanced)
    await standing.told("waits for a load balancer", "CreateServiceReady")
    # One replica has no budget; it goes when it is known that all is there.
    asked = await standing.ask(replicas=1, override=balanced)
    generation = asked.metadata.generation
    await eventually(
        client, KeystoneAPI, "keystone", namespace, lambda seen: seen.status.observedGeneration == generation
    )
    await eventually(client, Deployment, "keystone", namespace, lambda seen: seen.spec["replicas"] == 1)
    assert await client.find(PodDisruptionBudget, "keystone", namespace) is not None
    address = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}}
    await client.patch(Service, "keystone-public", namespace, address, subresource="status")
    await gone(client, PodDisruptionBudget, "keystone", namespace)
    await standing.up()


async def test_keys_turn_once_for_an_action_and_are_mounted_as_they_are(standing: Place) -> None:
    await standing.ask()
    await standing.up()
    before = await standing.decoded("keystone-fernet-keys")
    await standing.ask(actions=[{"name": "rotate-keys", "id": "2026-11"}])
    done = await eventually(
        standing.client,
        KeystoneAPI,
        "keystone",
        standing.namespace,
        lambda seen: [entry.state for entry in seen.status.actions] == ["Succeeded"],
    )
    after = await standing.decoded("keystone-fernet-keys")
    assert after["2"] == before["0"]
    assert sorted(after) == ["0", "1", "2"]
    assert done.status.actions[0].result


async def test_the_public_url_is_that_of_the_node_port(standing: Place) -> None:
    await standing.ask(override={"service": {"public": {"spec": {"type": "NodePort"}}}})
    ready = await standing.up()
    service = await standing.client.get(Service, "keystone-public", standing.namespace)
    nodes = await standing.client.list(Node)
    addresses = {entry["address"] for node in nodes for entry in node.status.get("addresses", ())}
    port = service.spec["ports"][0]["nodePort"]
    assert ready.status.apiEndpoints["public"] in {f"http://{address}:{port}" for address in addresses}


async def test_a_node_port_that_is_named_survives_a_keystone_that_is_made_again(standing: Place) -> None:
    # The server gives ports of this band to nobody who does not ask for them.
    named = {"service": {"public": {"spec": {"type": "NodePort", "nodePort": 30007}}}}
    await standing.ask(override=named)
    first = await standing.up()
    assert first.status.apiEndpoints["public"].endswith(":30007")
    await standing.client.delete(KeystoneAPI, "keystone", standing.namespace)
    await gone(standing.client, Service, "keystone-public", standing.namespace)
    await standing.ask(override=named)
    assert (await standing.up()).status.apiEndpoints == first.status.apiEndpoints


async def test_a_keystone_that_runs_elsewhere_is_used_and_nothing_is_deployed(place: Place) -> None:
    async with place.operated():
        await place.ask(**ELSEWHERE)
        ready = await place.up()
    assert ready.status.apiEndpoints == {"public": "https://id.example.org", "internal": "http://id.internal"}
    assert await place.client.list(Deployment, place.namespace) == []


async def test_a_keystone_that_runs_elsewhere_gives_its_administrator_a_clouds_yaml(place: Place) -> None:
    await place.give(AdminPassword="wonderland")
    async with place.operated():
        await place.ask(**ELSEWHERE, adminUser="root")
        config = await eventually(place.client, ConfigMap, "openstack-config", place.namespace, lambda _: True)
        await eventually(place.client, Secret, "openstack-config-secret", place.namespace, lambda _: True)
        await place.up()
    auth = yaml.safe_load(config.data["clouds.yaml"])["clouds"]["default"]["auth"]
    assert (auth["auth_url"], auth["username"]) == ("https://id.example.org/v3", "root")
    secure = yaml.safe_load((await place.decoded("openstack-config-secret"))["secure.yaml"])
    assert secure["clouds"]["default"]["auth"] == {"password": "wonderland"}

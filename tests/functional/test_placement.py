"""Placement's blueprint on a real API server, with the real helm; the catalog is a fake Keystone's."""

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from stackwright.adapters.identity import Credentials, Keystone
from stackwright.api.keystone import KeystoneEndpoint, KeystoneService
from stackwright.kube.builtin import Deployment, Job, Secret
from stackwright.kube.client import Client
from stackwright.kube.conditions import find, is_true
from stackwright.services.placement.kinds import PlacementAPI
from stackwright.services.placement.service import SERVICE
from tests.functional.cloud import environment
from tests.functional.identity.cloud import until
from tests.functional.listed import beside_keystone
from tests.functional.test_service_controller import is_ready, kinds
from tests.functional.watching import eventually

__all__ = ["kinds"]

pytestmark = pytest.mark.usefixtures("kinds")

PASSWORD = "counts-everything"


def placement(namespace: str, **spec: Any) -> dict[str, Any]:
    said = {"databaseInstance": "openstack", "secret": "osp-secret", **spec}
    return {"metadata": {"name": "placement", "namespace": namespace}, "spec": said}


@pytest.fixture
async def keystone(client: Client, namespace: str, kubernetes: dict[str, Path]) -> AsyncIterator[Keystone]:
    """The Keystone that lists the service."""
    passwords = {"PlacementPassword": PASSWORD}
    async with beside_keystone(client, namespace, SERVICE, passwords, environment(kubernetes)) as listing:
        yield listing


async def until_ready(client: Client, namespace: str) -> PlacementAPI:
    return await eventually(client, PlacementAPI, "placement", namespace, is_ready)


async def jobs(client: Client, namespace: str) -> dict[str, Job]:
    found = await client.list(Job, namespace, labels="app.kubernetes.io/instance=placement")
    return {job.metadata.labels["app.kubernetes.io/component"]: job for job in found}


async def test_placement_comes_up_and_is_in_the_catalog(client: Client, namespace: str, keystone: Keystone) -> None:
    await client.apply(PlacementAPI, placement(namespace), field_manager="user")
    ready = await until_ready(client, namespace)
    urls = {name: f"http://placement-{name}.{namespace}.svc:8778" for name in ("public", "internal")}
    assert ready.status.apiEndpoints == urls
    assert ready.status.databaseHostname == f"openstack.{namespace}.svc"
    assert ready.status.readyCount == 1
    assert set(ready.status.hash) == {"api", "db-sync"}
    assert {condition.type for condition in ready.status.conditions} == {*PlacementAPI.conditions, "Ready"}
    (service,) = await keystone.find_services("placement", "placement")
    found = [endpoint for endpoint in await keystone.endpoints() if endpoint.service_id == service.id]
    assert {endpoint.interface: endpoint.url for endpoint in found} == urls
    assert await keystone.login(Credentials("placement", PASSWORD, "service")) is not None
    assert set(await jobs(client, namespace)) == {"db-sync"}


async def test_with_jobs_the_chart_enters_keystone_itself(client: Client, namespace: str, keystone: Keystone) -> None:
    await client.apply(PlacementAPI, placement(namespace, provisioning="Job"), field_manager="user")
    await until_ready(client, namespace)
    made = await jobs(client, namespace)
    assert set(made) == {"db-sync", "db-create", "identity-create"}
    variables = {
        variable["name"]: variable.get("value")
        for variable in made["identity-create"].spec["template"]["spec"]["containers"][0]["env"]
    }
    assert variables["PUBLIC_URL"] == f"http://placement-public.{namespace}.svc:8778"
    assert (variables["USER_PASSWORD"], variables["ADMIN_PASSWORD"]) == (None, None)
    assert await client.list(KeystoneService, namespace) == []
    assert await client.list(KeystoneEndpoint, namespace) == []
    # Another password is another Job; the API reads it as well.
    before = await client.get(Deployment, "placement", namespace)
    change = {"stringData": {"PlacementPassword": "another"}}
    await client.patch(Secret, "osp-secret", namespace, change)
    changed = before.metadata.generation
    await eventually(client, Deployment, "placement", namespace, lambda seen: seen.metadata.generation > changed)
    await until_ready(client, namespace)
    assert (await jobs(client, namespace))["identity-create"].metadata.name != made["identity-create"].metadata.name


async def test_who_keeps_it_in_keystone_does_not_change_under_way(
    client: Client, namespace: str, keystone: Keystone
) -> None:
    await client.apply(PlacementAPI, placement(namespace), field_manager="user")
    await until_ready(client, namespace)
    await client.apply(PlacementAPI, placement(namespace, provisioning="Job"), field_manager="user")

    def refused(seen: PlacementAPI) -> bool:
        found = find(seen.status.conditions, "InputReady")
        return found is not None and "spec.provisioning: KeystoneService placement keeps" in found.message

    await eventually(client, PlacementAPI, "placement", namespace, refused)
    assert await keystone.login(Credentials("placement", PASSWORD, "service")) is not None
    await client.apply(PlacementAPI, placement(namespace), field_manager="user")
    await until_ready(client, namespace)


async def test_data_is_migrated_when_somebody_asks(client: Client, namespace: str, keystone: Keystone) -> None:
    await client.apply(PlacementAPI, placement(namespace), field_manager="user")
    await until_ready(client, namespace)
    asked = [{"name": "migrate-data", "id": "after-the-upgrade"}]
    await client.apply(PlacementAPI, placement(namespace, actions=asked), field_manager="user")
    done = await eventually(
        client,
        PlacementAPI,
        "placement",
        namespace,
        lambda seen: [action.state for action in seen.status.actions] == ["Succeeded"],
    )
    assert done.status.actions[0].name == "migrate-data"


async def test_a_keystone_that_is_missing_is_named_and_found_when_it_comes(
    client: Client, namespace: str, keystone: Keystone
) -> None:
    await client.apply(PlacementAPI, placement(namespace, keystoneInstance="other"), field_manager="user")

    def named(seen: PlacementAPI) -> bool:
        found = find(seen.status.conditions, "KeystoneServiceReady")
        return found is not None and "KeystoneAPI other does not exist; create it, or name another" in found.message

    await eventually(client, PlacementAPI, "placement", namespace, named)
    await client.apply(PlacementAPI, placement(namespace), field_manager="user")
    await until_ready(client, namespace)


async def test_what_goes_with_placement_and_what_stays(client: Client, namespace: str, keystone: Keystone) -> None:
    await client.apply(PlacementAPI, placement(namespace), field_manager="user")
    await until_ready(client, namespace)
    password = (await client.get(Secret, "placement-db-secret", namespace)).data["DatabasePassword"]
    await client.delete(PlacementAPI, "placement", namespace)
    await until(lambda: keystone.find_services("placement", "placement"), lambda found: found == ())
    # Its data and its password there are kept, and found again.
    assert (await client.get(Secret, "placement-db-secret", namespace)).data["DatabasePassword"] == password
    await client.apply(PlacementAPI, placement(namespace), field_manager="user")
    again = await until_ready(client, namespace)
    assert is_true(again.status.conditions, "KeystoneEndpointReady")
    config = await client.get(Secret, "placement-config-data", namespace)
    assert base64.b64decode(password).decode() in base64.b64decode(config.data["01-placement.conf"]).decode()

"""What is Keystone's own stays so: its entry, its endpoints, its administrator, and names that it takes for others."""

from dataclasses import replace

import pytest

from stackwright.adapters.identity import Endpoint, Service
from stackwright.api.keystone import KeystoneEndpoint, KeystoneService
from stackwright.controllers.identity.marks import Made, Thing, as_noted
from stackwright.controllers.identity.registration import Registration
from stackwright.controllers.ownership import TAKEN
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.resource import Key
from stackwright.services.keystone.kinds import KeystoneAPI
from tests.functional.identity.cloud import ADMIN, Cloud
from tests.functional.running import Passes
from tests.functional.watching import told, until


async def test_nobody_registers_as_keystone_itself(cloud: Cloud, operator: None) -> None:
    await cloud.whole()
    before = await until(cloud.own, lambda own: len(own) == 2)
    await cloud.service("identity", serviceType="identity", serviceName="keystone", enabled=False)
    await cloud.endpoint("identity", service="identity", public="http://evil.example")
    words = "service of type identity of KeystoneAPI keystone belongs to KeystoneAPI keystone"
    await cloud.says(KeystoneService, "KeystoneServiceOSServiceReady", words, "identity")
    words = "public endpoint identity of KeystoneAPI keystone belongs to KeystoneAPI keystone"
    await cloud.says(KeystoneEndpoint, "KeystoneServiceOSEndpointsReady", words, "identity")
    assert await cloud.own() == before


async def test_keystones_own_entry_is_mended(cloud: Cloud, operator: None) -> None:
    await cloud.whole()
    before = await until(cloud.own, lambda own: len(own) == 2)
    (entry,) = [service for service in await cloud.keystone.services() if service.type == "identity"]
    (public,) = [one for one in await cloud.keystone.endpoints() if (one.service_id, one.interface) == (
        entry.id, "public")]  # fmt: skip
    await cloud.keystone.update_service(replace(entry, enabled=False))
    await cloud.keystone.update_endpoint(replace(public, url="http://evil.example"))
    await until(cloud.own, lambda own: own == before)
    await told(cloud.client, cloud.namespace, "keystone", "CatalogRepaired", "http://evil.example")
    await cloud.keystone.delete_service(entry.id)
    await until(cloud.own, lambda own: own == before)


async def test_another_region_moves_keystones_own_endpoints(cloud: Cloud, operator: None) -> None:
    await cloud.whole()
    await until(cloud.own, lambda own: len(own) == 2)

    async def regions() -> list[str]:
        (entry,) = [service for service in await cloud.keystone.services() if service.type == "identity"]
        return sorted(one.region for one in await cloud.keystone.endpoints() if one.service_id == entry.id)

    assert await regions() == ["regionOne"] * 2
    await cloud.serves(region="regionTwo")
    await until(regions, lambda found: found == ["regionTwo"] * 2)


async def test_a_keystone_elsewhere_is_left_as_it_is(cloud: Cloud, operator: None) -> None:
    await cloud.passwords()
    await cloud.api(external=True)
    await cloud.service()
    await cloud.ready(KeystoneService)
    await Passes("keystoneservice").reach(2)
    assert await cloud.own() == {}


async def test_a_forged_note_deletes_nothing(cloud: Cloud) -> None:
    async with cloud.operator():
        await cloud.whole()
        await until(cloud.own, lambda own: len(own) == 2)
    await cloud.keystone.create_user("person", "a-secret")
    await cloud.keystone.create_service(Service("", "other", "by-hand"))
    users = [await cloud.keystone.find_user(name) for name in (ADMIN.user, "glance", "person")]
    things: list[Thing] = [user for user in users if user is not None]
    things += [*await cloud.keystone.services(), *await cloud.keystone.endpoints()]
    made = tuple(map(as_noted, things))
    # By another name than its own the administrator was not known.
    by_id = tuple(Made(what="user", name=("person",), id=one.id) for one in made if one.what == "user")
    for kind, noted in (("KeystoneService", made), ("KeystoneEndpoint", made), ("KeystoneService", by_id)):
        note = Registration(kind, Key(cloud.namespace, f"ghost{len(noted)}"), "keystone", noted)
        await cloud.client.create(ConfigMap, note.body())
    async with cloud.operator():
        # Each is told of when it has been gone through.
        for ghost in (
            f"KeystoneService ghost{len(made)}",
            f"KeystoneEndpoint ghost{len(made)}",
            "KeystoneService ghost3",
        ):
            await told(cloud.client, cloud.namespace, "keystone", "LeftInKeystone", f"{ghost} is gone")
    assert [await cloud.keystone.find_user(name) for name in (ADMIN.user, "glance", "person")] == users
    assert {*await cloud.keystone.services(), *await cloud.keystone.endpoints()} == set(things[3:])


async def test_what_older_operators_made_is_marked_and_goes_with_its_resource(cloud: Cloud) -> None:
    async with cloud.operator():
        await cloud.whole()
    for service in await cloud.services():
        await cloud.unmark("services", service.id, "stackwright_made_for")
    for endpoint in await cloud.endpoints():
        await cloud.unmark("endpoints", endpoint.id, "description")
    user = await cloud.keystone.find_user("glance")
    assert user is not None
    await cloud.unmark("users", user.id, "stackwright_made_for")
    assert not any(one.made_for for one in await cloud.services())
    assert not any(one.made_for for one in await cloud.endpoints())
    async with cloud.operator():
        await until(cloud.services, lambda found: all(one.made_for for one in found))
        await until(cloud.endpoints, lambda found: all(one.made_for for one in found))
        await cloud.delete(KeystoneService)
        await cloud.delete(KeystoneEndpoint)
        await cloud.swept()


@pytest.mark.parametrize("user", ["glancé", "GLANCE "])
async def test_a_name_that_keystone_takes_for_anothers_is_told_with_its_owner(
    cloud: Cloud, operator: None, user: str
) -> None:
    await cloud.whole()
    await cloud.service("another", serviceType="another", serviceUser=user, secret="another")
    words = "user glance of KeystoneAPI keystone belongs to KeystoneService glance"
    await cloud.says(KeystoneService, "KeystoneServiceOSUserReady", words, "another")


async def test_a_user_of_nobody_that_has_the_same_name_for_keystone_is_named(cloud: Cloud, operator: None) -> None:
    await cloud.keystone.create_user("person", "a-secret", made_for="KeystoneService elsewhere/person")
    await cloud.passwords()
    await cloud.api()
    await cloud.service(serviceUser="Persón ")
    words = "takes 'Persón ' for the name of its user 'person', which was created for KeystoneService elsewhere/person"
    await cloud.says(KeystoneService, "KeystoneServiceOSUserReady", words)


async def test_a_second_keystone_that_is_refused_stops_nobody(cloud: Cloud, operator: None) -> None:
    await cloud.passwords()
    await cloud.api()
    await cloud.put(KeystoneAPI, "second", spec={"secret": "osp-secret", "databaseInstance": "openstack"})
    await cloud.service()
    await cloud.says(KeystoneService, "KeystoneAPIReady", "There are several KeystoneAPIs")
    condition = {"type": "Ready", "status": "False", "reason": TAKEN, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    body = {"metadata": {"name": "second", "namespace": cloud.namespace}, "status": {"conditions": [condition]}}
    await cloud.client.apply(KeystoneAPI, body, subresource="status", field_manager="keystone")
    await cloud.ready(KeystoneService)


async def test_an_endpoint_does_not_follow_a_status_to_keystones_own_entry(cloud: Cloud, operator: None) -> None:
    await cloud.whole()
    before = await until(cloud.own, lambda own: len(own) == 2)
    (own,) = [service for service in await cloud.keystone.services() if service.type == "identity"]
    status = {"status": {"serviceID": own.id}}
    await cloud.client.patch(KeystoneService, "glance", cloud.namespace, status, subresource="status")
    await Passes("keystoneendpoint").reach(2)
    assert await cloud.own() == before
    kept: list[Endpoint] = await cloud.endpoints()
    assert len(kept) == 2

"""Two clouds that share a Keystone: neither takes what the other one made."""

import functools
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from stackwright.adapters.identity import Endpoint, Service
from stackwright.api.keystone import KeystoneEndpoint, KeystoneService
from stackwright.controllers.identity.marks import Thing, read_mark
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.client import Client
from stackwright.services.keystone.kinds import KeystoneAPI
from tests.functional.conftest import fresh_namespace
from tests.functional.identity.cloud import FIRST, SECOND, Cloud
from tests.functional.running import Passes
from tests.functional.watching import told, until

USER_READY, ENDPOINTS_READY = "KeystoneServiceOSUserReady", "KeystoneServiceOSEndpointsReady"
NOTES = ("keystone.keystoneservice.glance", "keystone.keystoneendpoint.glance")


@pytest.fixture
async def second(cloud: Cloud, client: Client) -> AsyncIterator[Cloud]:
    """Another control plane that uses the Keystone of the first one, from another region, with its operator."""
    other = Cloud(client, await fresh_namespace(client, "second"), cloud.url)
    await other.passwords(SECOND)
    await other.api(external=True)
    await other.serves(region="regionTwo")
    async with other.operator():
        yield other


async def test_neither_changes_the_password_of_the_other(cloud: Cloud, second: Cloud) -> None:
    async with cloud.operator():
        await cloud.whole()
        await second.service()
        owner = f"belongs to KeystoneService {cloud.namespace}/glance of cloud "
        await second.says(KeystoneService, USER_READY, owner)
        await Passes("keystoneservice").reach(6)
        counts = await cloud.counts()
        assert (counts.get("passwords", 0), counts["refused glance"]) == (0, 1)
        assert await cloud.can_log_in(FIRST)
        # With a user of its own, or with the password of the other, it works.
        await second.service(serviceUser="other")
        await second.ready(KeystoneService)
        await second.passwords(FIRST)
        await second.service()
        await second.ready(KeystoneService)


async def test_what_both_use_stays_when_one_of_them_ends(cloud: Cloud, second: Cloud) -> None:
    async with cloud.operator():
        await cloud.whole()
        await second.service(serviceUser="other")
        await second.endpoint(public="http://two.example")
        await second.ready(KeystoneEndpoint)
        assert len(await cloud.services()) == 1
        for kind in (KeystoneService, KeystoneEndpoint):
            await cloud.delete(kind)
        event = await told(cloud.client, cloud.namespace, "keystone", "LeftInKeystone")
        assert (
            "service glance stays in Keystone, because an endpoint in regionTwo that is not of this cloud" in event.note
        )
        await until(cloud.notes, lambda found: not found)
        assert await cloud.catalog() == ["endpoint public", "service glance", "user other"]
        await second.ready(KeystoneService)


async def test_an_endpoint_of_the_other_is_not_changed(cloud: Cloud, second: Cloud) -> None:
    async with cloud.operator():
        await cloud.whole()
        urls = await cloud.urls()
        await second.serves()
        await second.service(serviceUser="other")
        await second.endpoint(public="http://two.example")
        owner = f"belongs to KeystoneEndpoint {cloud.namespace}/glance of cloud "
        await second.says(KeystoneEndpoint, ENDPOINTS_READY, owner)
        assert await cloud.urls() == urls


async def test_a_keystone_api_that_is_made_again_knows_what_it_had(cloud: Cloud) -> None:
    async with cloud.operator():
        await cloud.api(external=True)
        await cloud.passwords()
        await cloud.service()
        await cloud.endpoint()
        await cloud.ready(KeystoneEndpoint)
        await cloud.ready(KeystoneService)
        await cloud.client.delete(KeystoneAPI, "keystone", cloud.namespace)
        await cloud.api(external=True)
        await cloud.passwords(SECOND)
        await until(lambda: cloud.can_log_in(SECOND))
        for kind in (KeystoneService, KeystoneEndpoint):
            await cloud.delete(kind)
        await cloud.swept()


async def test_a_keystone_api_that_is_made_again_knows_what_it_adopted(cloud: Cloud) -> None:
    await cloud.keystone.create_service(Service("", "image", "glance", "Images"))
    (service,) = await cloud.services()
    for interface in ("public", "internal"):
        await cloud.keystone.create_endpoint(Endpoint("", service.id, "regionOne", interface, "http://before.example"))
    async with cloud.operator():
        await cloud.api(external=True)
        await cloud.passwords()
        await cloud.service()
        await cloud.endpoint(public="http://one.example", internal="http://one.example")
        await cloud.ready(KeystoneEndpoint)
        assert {endpoint.made_for.endswith("(adopted)") for endpoint in await cloud.endpoints()} == {True}
        await cloud.client.delete(KeystoneAPI, "keystone", cloud.namespace)
        # Only the endpoints' own note is left to say whose they are.
        await cloud.client.delete(ConfigMap, NOTES[0], cloud.namespace)
        await cloud.api(external=True)
        await cloud.endpoint(public="http://two.example", internal="http://two.example")
        wanted = dict.fromkeys(("internal", "public"), "http://two.example")
        await until(cloud.urls, lambda urls: urls == wanted)
        for kind in (KeystoneService, KeystoneEndpoint):
            await cloud.delete(kind)
        # An empty note goes, and what was adopted stays.
        await until(cloud.notes, lambda found: not found)
        assert await cloud.urls() == wanted


async def test_what_an_older_operator_marked_is_taken_over_by_its_maker(cloud: Cloud) -> None:
    async with cloud.operator():
        await cloud.api(external=True)
        await cloud.passwords()
        await cloud.service()
        await cloud.endpoint()
        for kind in (KeystoneService, KeystoneEndpoint):
            await cloud.ready(kind)
    await make_older(cloud)
    (service,) = await cloud.services()
    assert service.made_for == f"KeystoneService {cloud.namespace}/glance"
    async with cloud.operator():
        await until(functools.partial(marked, cloud), all)
        for name in NOTES:
            note = await cloud.client.get(ConfigMap, name, cloud.namespace)
            assert note.data["cloud"]
        for kind in (KeystoneService, KeystoneEndpoint):
            await cloud.delete(kind)
        await cloud.swept()


async def make_older(cloud: Cloud) -> None:
    """Leave notes and marks as an operator did that knew of no clouds."""
    for name in NOTES:
        await cloud.client.patch(ConfigMap, name, cloud.namespace, {"data": {"cloud": None}})
    user = await cloud.keystone.find_user("glance")
    assert user is not None
    await cloud.keystone.update_user(user.id, made_for=f"KeystoneService {cloud.namespace}/glance")
    for service in await cloud.services():
        await cloud.keystone.update_service(replace(service, made_for=f"KeystoneService {cloud.namespace}/glance"))
    for endpoint in await cloud.endpoints():
        made_for = f"KeystoneEndpoint {cloud.namespace}/glance"
        await cloud.keystone.update_endpoint(replace(endpoint, made_for=made_for))


async def marked(cloud: Cloud) -> list[bool]:
    """Return of everything whether it says to which cloud it belongs."""
    user = await cloud.keystone.find_user("glance")
    assert user is not None
    things: list[Thing] = [user, *await cloud.services(), *await cloud.endpoints()]
    return [(mark := read_mark(thing.made_for)) is not None and bool(mark.cloud) for thing in things]

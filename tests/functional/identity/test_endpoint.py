"""KeystoneEndpoint on a real API server, with the fake Keystone behind it."""

from dataclasses import replace

import pytest

from stackwright.adapters.identity import Endpoint
from stackwright.api.keystone import KeystoneEndpoint, KeystoneService, RegisteredEndpoint
from stackwright.kube.shapes import exchange
from tests.functional import hands
from tests.functional.identity.cloud import Cloud
from tests.functional.watching import told, until

ENDPOINTS_READY = "KeystoneServiceOSEndpointsReady"
PUBLIC, INTERNAL = "http://public.example:9292", "http://internal.example:9292"

pytestmark = pytest.mark.usefixtures("operator")


async def test_endpoints_are_registered_and_told(cloud: Cloud) -> None:
    await cloud.whole()
    assert await cloud.urls() == {"internal": INTERNAL, "public": PUBLIC}
    status = (await cloud.ready(KeystoneEndpoint)).status
    ids = {endpoint.interface: endpoint.id for endpoint in await cloud.endpoints()}
    assert status.endpointIDs == ids
    assert status.endpoints == (
        RegisteredEndpoint(interface="internal", url=INTERNAL, id=ids["internal"]),
        RegisteredEndpoint(interface="public", url=PUBLIC, id=ids["public"]),
    )
    assert status.serviceID == (await cloud.services())[0].id
    assert {endpoint.region for endpoint in await cloud.endpoints()} == {"regionOne"}


async def test_what_a_hand_writes_into_a_status_is_put_right(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "TURNS", 1000)
    await cloud.whole()
    for kind in (KeystoneService, KeystoneEndpoint):
        await hands.try_everything(cloud.client, await cloud.ready(kind))
    assert await cloud.urls() == {"internal": INTERNAL, "public": PUBLIC}


async def test_the_service_is_waited_for(cloud: Cloud) -> None:
    await cloud.api()
    await cloud.passwords()
    await cloud.endpoint()
    await cloud.says(KeystoneEndpoint, ENDPOINTS_READY, "spec.serviceName: KeystoneService glance does not exist")
    await cloud.service()
    await cloud.ready(KeystoneEndpoint)


async def test_an_interface_that_is_removed_goes_and_another_url_is_taken_over(cloud: Cloud) -> None:
    await cloud.whole()
    before = (await cloud.ready(KeystoneEndpoint)).status.endpointIDs
    await cloud.endpoint(public="http://moved.example:9292")
    await until(cloud.urls, lambda urls: urls == {"public": "http://moved.example:9292"})
    status = (await cloud.ready(KeystoneEndpoint)).status
    assert status.endpointIDs == {"public": before["public"]}


async def test_what_was_changed_behind_our_back_is_repaired(cloud: Cloud) -> None:
    await cloud.whole()
    right = {"internal": INTERNAL, "public": PUBLIC}
    public, internal = sorted(await cloud.endpoints(), key=lambda entry: entry.interface, reverse=True)
    await cloud.keystone.update_endpoint(replace(public, url="http://wrong.example", enabled=False))
    await cloud.keystone.delete_endpoint(internal.id)
    await cloud.keystone.create_endpoint(replace(public, interface="admin"))
    await until(cloud.urls, lambda urls: urls == right)
    await until(cloud.endpoints, lambda found: all(endpoint.enabled for endpoint in found))


async def test_a_second_endpoint_of_an_interface_goes_and_is_reported(cloud: Cloud) -> None:
    await cloud.whole()
    known = (await cloud.ready(KeystoneEndpoint)).status.endpointIDs
    service = (await cloud.services())[0].id
    twin = await cloud.keystone.create_endpoint(Endpoint("", service, "regionOne", "public", "http://twin.example"))
    elsewhere = Endpoint("", service, "regionTwo", "public", "http://two.example")
    elsewhere = replace(elsewhere, id=await cloud.keystone.create_endpoint(elsewhere))
    event = await told(cloud.client, cloud.namespace, "glance", "DeletingEndpoint")
    assert event.note == (f"The public endpoint of glance in regionOne is there more than once; {twin} is deleted")
    left = {endpoint.id for endpoint in await cloud.endpoints()}
    assert left == {*known.values(), elsewhere.id}


async def test_endpoints_that_were_there_before_are_adopted(cloud: Cloud) -> None:
    await cloud.passwords()
    await cloud.api()
    await cloud.service()
    service = (await cloud.ready(KeystoneService)).status.serviceID
    made = await cloud.keystone.create_endpoint(Endpoint("", service, "regionOne", "public", "http://old.example"))
    await cloud.endpoint()
    assert (await cloud.ready(KeystoneEndpoint)).status.endpointIDs["public"] == made
    await cloud.delete(KeystoneEndpoint)
    await until(cloud.urls, lambda urls: urls == {"public": PUBLIC})


async def test_another_region_moves_the_endpoints(cloud: Cloud) -> None:
    await cloud.whole()
    await cloud.serves(region="regionTwo")
    await until(
        cloud.endpoints,
        lambda found: [endpoint.region for endpoint in found] == ["regionTwo", "regionTwo"],
    )


async def test_two_resources_share_a_service_but_no_interface(cloud: Cloud) -> None:
    await cloud.whole()
    await cloud.endpoint("extra", admin="http://admin.example")
    await cloud.ready(KeystoneEndpoint, "extra")
    assert len(await cloud.urls()) == 3
    await cloud.endpoint("extra", public="http://mine.example")
    sentence = (
        "spec.endpoints.public: public endpoint glance of KeystoneAPI keystone belongs to KeystoneEndpoint glance"
    )
    await cloud.says(KeystoneEndpoint, ENDPOINTS_READY, sentence, "extra")
    await cloud.delete(KeystoneEndpoint, "extra")
    await until(cloud.notes, lambda found: "keystone.keystoneendpoint.extra" not in found)
    await until(cloud.urls, lambda urls: urls == {"internal": INTERNAL, "public": PUBLIC})


async def test_deletion_takes_the_endpoints_from_the_catalog(cloud: Cloud) -> None:
    await cloud.whole()
    await cloud.delete(KeystoneEndpoint)
    await until(cloud.urls, lambda urls: urls == {})
    assert await cloud.catalog() == ["service glance", "user glance"]

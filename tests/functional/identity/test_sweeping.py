"""What was made in Keystone goes with its resource, whether or not an operator was there when it went."""

import functools
from dataclasses import replace
from typing import Any

import pytest

from stackwright.adapters.identity import RoleAssignment, Service
from stackwright.api.keystone import KeystoneEndpoint, KeystoneService
from stackwright.controllers.identity.marks import made_user
from stackwright.controllers.identity.registration import Registration
from stackwright.controllers.identity.upgrade import FINALIZERS
from stackwright.kube import finalizers
from stackwright.kube.builtin import ConfigMap, Event, Namespace, Secret
from stackwright.kube.resource import Key, owner_reference
from stackwright.services.keystone.kinds import KeystoneAPI
from tests.fakes.running import Fake
from tests.functional.identity.cloud import ADMIN, FIRST, Cloud
from tests.functional.running import Passes
from tests.functional.watching import eventually, told, until

BOTH: tuple[type[Any], ...] = (KeystoneService, KeystoneEndpoint)
WHOLE = ["endpoint internal", "endpoint public", "service glance", "user glance"]
NOTES = ["keystone.keystoneendpoint.glance", "keystone.keystoneservice.glance"]


async def put_up(cloud: Cloud, *, external: bool = False) -> None:
    """Register a service with its endpoints, by an operator that is gone then."""
    async with cloud.operator():
        await cloud.passwords()
        await cloud.api(external=external)
        await cloud.service()
        await cloud.endpoint()
        for kept in BOTH:
            await cloud.ready(kept)
    assert await cloud.catalog() == WHOLE
    assert await cloud.notes() == NOTES


async def gone(cloud: Cloud) -> None:
    for kind in BOTH:
        await cloud.delete(kind)


@pytest.mark.parametrize("external", [pytest.param(False, id="ours"), pytest.param(True, id="a-keystone-elsewhere")])
async def test_what_was_made_goes_with_its_resource(cloud: Cloud, external: bool) -> None:
    await put_up(cloud, external=external)
    async with cloud.operator():
        await gone(cloud)
        await cloud.swept()
    assert await cloud.keystone.find_project("service") is not None


async def test_what_was_deleted_while_no_operator_was_there_goes_when_one_starts(cloud: Cloud) -> None:
    await put_up(cloud)
    await gone(cloud)
    assert await cloud.catalog() == WHOLE
    async with cloud.operator():
        await cloud.swept()
        event = await told(cloud.client, cloud.namespace, "keystone", "Unregistered", "KeystoneService glance is gone")
    assert event.note.endswith("what was created for it is deleted from Keystone: service glance, user glance")


async def test_what_the_garbage_collector_takes_leaves_the_catalog_too(cloud: Cloud) -> None:
    await cloud.put(ConfigMap, "service", data={})
    owner = await cloud.client.get(ConfigMap, "service", cloud.namespace)
    async with cloud.operator():
        await cloud.whole()
        for kind in BOTH:
            metadata = {"name": "glance", "namespace": cloud.namespace, "ownerReferences": [owner_reference(owner)]}
            await cloud.client.apply(kind, {"metadata": metadata}, field_manager="service")
        await cloud.client.delete(ConfigMap, "service", cloud.namespace)
        await cloud.swept()
    for kind in BOTH:
        assert await cloud.client.find(kind, "glance", cloud.namespace) is None


async def test_a_resource_that_was_made_again_takes_over_what_there_is(cloud: Cloud) -> None:
    await put_up(cloud)
    before = await cloud.services(), await cloud.endpoints(), await cloud.keystone.find_user("glance")
    await gone(cloud)
    await cloud.service()
    await cloud.endpoint()
    passes = Passes("registrations")
    async with cloud.operator():
        for kind in BOTH:
            await cloud.ready(kind)
        await passes.reach(1)
        after = (
            await cloud.services(),
            await cloud.endpoints(),
            await cloud.keystone.find_user("glance"),
        )
        assert after == before
        await gone(cloud)
        await cloud.swept()


async def test_a_resource_that_was_made_again_differently_leaves_nothing_of_before(cloud: Cloud) -> None:
    await put_up(cloud)
    await gone(cloud)
    await cloud.service(serviceName="images", serviceUser="other")
    await cloud.endpoint(public="http://public.example:9292")
    async with cloud.operator():
        await until(
            cloud.catalog, lambda found: found == ["endpoint public", "service images", "user glance", "user other"]
        )
        await gone(cloud)
        await cloud.swept()


async def test_what_was_there_before_is_adopted_and_stays(cloud: Cloud) -> None:
    await cloud.keystone.create_service(Service("", "image", "glance"))
    await works_as_a_service(cloud, "another-password")
    async with cloud.operator():
        await cloud.whole()
        assert await cloud.can_log_in(FIRST)
        await gone(cloud)
        await until(cloud.urls, lambda urls: urls == {})
        await until(cloud.notes, lambda found: not found)
    assert await cloud.catalog() == ["service glance", "user glance"]


async def works_as_a_service(cloud: Cloud, password: str) -> None:
    """Make the user as somebody else does who deploys services."""
    await cloud.keystone.create_user("glance", password)
    await cloud.keystone.create_project("service")
    await cloud.keystone.create_role("service")
    user, project = await cloud.keystone.find_user("glance"), await cloud.keystone.find_project("service")
    assert user is not None
    assert project is not None
    await cloud.keystone.grant(project.id, RoleAssignment(user.id, (await cloud.keystone.roles())["service"]))


async def test_a_person_keeps_the_password(cloud: Cloud) -> None:
    await cloud.keystone.create_user("glance", "of-a-person")
    async with cloud.operator():
        for write in (cloud.passwords, cloud.api, cloud.service):
            await write()
        words = "user glance is in Keystone, was not created for a service and does not accept the password of Secret"
        await cloud.says(KeystoneService, "KeystoneServiceOSUserReady", words)
        assert await cloud.can_log_in("of-a-person", project="")
        # Whoever knows the password may have the user.
        await cloud.passwords("of-a-person")
        await cloud.ready(KeystoneService)
        assert await cloud.can_log_in("of-a-person")


async def test_what_another_one_made_under_the_same_name_stays(cloud: Cloud) -> None:
    await put_up(cloud)
    await gone(cloud)
    user = await cloud.keystone.find_user("glance")
    assert user is not None
    await cloud.keystone.delete_user(user.id)
    await cloud.keystone.create_user("glance", "somebody-elses")
    async with cloud.operator():
        await until(cloud.notes, lambda found: not found)
    assert await cloud.catalog() == ["user glance"]


async def test_the_administrator_stays_whatever_is_noted(cloud: Cloud) -> None:
    await put_up(cloud)
    await gone(cloud)
    administrator = await cloud.keystone.find_user(ADMIN.user)
    assert administrator is not None
    # Even where it looks like a user that an older operator made.
    await cloud.keystone.update_user(administrator.id, description="Works as glance")
    administrator = replace(administrator, description="Works as glance")
    # As an operator would have noted it that took the administrator for a user of its own.
    key = Key(cloud.namespace, "glance")
    note = Registration("KeystoneService", key, "keystone", (made_user(administrator),))
    await cloud.client.patch(ConfigMap, note.name, cloud.namespace, {"data": note.data})
    async with cloud.operator():
        await until(cloud.notes, lambda found: not found)
    assert await cloud.keystone.find_user(ADMIN.user) == administrator


async def test_a_user_goes_with_the_last_one_who_works_as_it(cloud: Cloud) -> None:
    async with cloud.operator():
        await cloud.whole()
        await cloud.service("other", serviceType="other", serviceUser="glance")
        await cloud.ready(KeystoneService, "other")
        user = await cloud.keystone.find_user("glance")
        await gone(cloud)
        await until(cloud.catalog, lambda found: found == ["service other", "user glance"])
        for kind in BOTH:
            await cloud.forgotten(kind)
        assert await cloud.keystone.find_user("glance") == user
        await cloud.delete(KeystoneService, "other")
        await cloud.swept()


async def test_a_keystone_that_does_not_answer_is_told_of_and_swept_later(cloud: Cloud, fake_keystone: Fake) -> None:
    await put_up(cloud)
    closed = Cloud(cloud.client, cloud.namespace, "http://127.0.0.1:1")
    await closed.serves()
    async with cloud.operator():
        await gone(cloud)
        event = await told(cloud.client, cloud.namespace, "keystone", "CannotUnregister")
        assert "does not answer" in event.note
        await cloud.serves()
        await cloud.swept()


async def test_a_keystone_that_is_being_bootstrapped_is_swept_then_without_a_warning(cloud: Cloud) -> None:
    await put_up(cloud)
    await cloud.serves(bootstrapped=False)
    async with cloud.operator():
        passes = Passes("registrations")
        await gone(cloud)
        for kind in BOTH:
            await cloud.forgotten(kind)
        await passes.reach(1)
        assert await cloud.notes() == NOTES
        events = await cloud.client.list(Event, cloud.namespace)
        assert "CannotUnregister" not in {event.reason for event in events}
        await cloud.serves()
        await cloud.swept()


async def test_a_keystone_that_comes_back_is_swept_then(cloud: Cloud) -> None:
    await put_up(cloud)
    await cloud.client.delete(KeystoneAPI, "keystone", cloud.namespace)
    async with cloud.operator():
        await gone(cloud)
        for kind in BOTH:
            await cloud.forgotten(kind)
        assert await cloud.notes() == NOTES
        await cloud.api()
        await cloud.swept()


@pytest.mark.parametrize("operated", [pytest.param(False, id="no-operator"), pytest.param(True, id="an-operator")])
async def test_the_deletion_of_a_namespace_ends(cloud: Cloud, fake_keystone: Fake, operated: bool) -> None:
    await put_up(cloud)
    fake_keystone.end()
    kinds: tuple[type[Any], ...] = (*BOTH, KeystoneAPI, Secret, ConfigMap)

    async def end() -> None:
        await cloud.client.delete(Namespace, cloud.namespace)
        await until(functools.partial(cloud.client.find, Namespace, cloud.namespace), lambda found: found is None)
        for kind in kinds:
            assert await cloud.client.list(kind, cloud.namespace) == []

    if not operated:
        await end()
        return
    async with cloud.operator():
        await end()


@pytest.mark.parametrize("deleted", [pytest.param(False, id="that-stays"), pytest.param(True, id="that-is-deleted")])
async def test_a_finalizer_of_an_older_operator_is_taken_off_a_resource(cloud: Cloud, deleted: bool) -> None:
    await put_up(cloud)
    for kind in BOTH:
        name = next(name for name in FINALIZERS if name.endswith(kind.kind.name.lower()))
        found = await cloud.client.get(kind, "glance", cloud.namespace)
        await finalizers.add(cloud.client, found, name)
        if deleted:
            await cloud.client.delete(kind, "glance", cloud.namespace)
    # An older operator noted nothing.
    for note in NOTES:
        await cloud.client.delete(ConfigMap, note, cloud.namespace)
    async with cloud.operator():
        if not deleted:
            for kind in BOTH:
                await eventually(
                    cloud.client, kind, "glance", cloud.namespace, lambda found: not found.metadata.finalizers
                )
                await cloud.ready(kind)
            await gone(cloud)
        await cloud.swept()


async def test_a_namespace_with_finalizers_of_an_older_operator_ends(cloud: Cloud) -> None:
    await put_up(cloud)
    for kind in BOTH:
        found = await cloud.client.get(kind, "glance", cloud.namespace)
        await finalizers.add(cloud.client, found, f"openstack.org/{kind.kind.name.lower()}")
    await cloud.client.delete(Namespace, cloud.namespace)
    async with cloud.operator():
        await until(functools.partial(cloud.client.find, Namespace, cloud.namespace), lambda found: found is None)


async def test_a_config_map_in_the_way_of_a_note_is_told_of(cloud: Cloud) -> None:
    await cloud.put(ConfigMap, NOTES[1], data={"mine": "yes"})
    await cloud.passwords()
    await cloud.api()
    await cloud.service()
    async with cloud.operator():
        words = (
            f"ConfigMap {NOTES[1]} is in the way of the record of what is created in Keystone for KeystoneService "
            "glance"
        )
        await cloud.says(KeystoneService, "AdminServiceClientReady", words)
        assert await cloud.catalog() == []
        await cloud.client.delete(ConfigMap, NOTES[1], cloud.namespace)
        await cloud.ready(KeystoneService)


async def test_a_note_that_somebody_changed_holds_up_no_other(cloud: Cloud) -> None:
    await put_up(cloud)
    await cloud.client.patch(ConfigMap, NOTES[0], cloud.namespace, {"data": {"made": "what?"}})
    await gone(cloud)
    async with cloud.operator():
        event = await told(cloud.client, cloud.namespace, "keystone", "CannotUnregister")
        assert f"ConfigMap {NOTES[0]} does not contain its record" in event.note
        await until(cloud.catalog, lambda found: not found)
        await until(cloud.notes, lambda found: found == NOTES[:1])


async def test_a_settled_cloud_writes_nothing(cloud: Cloud) -> None:
    await put_up(cloud)

    async def versions() -> list[tuple[str, str]]:
        kinds: tuple[type[Any], ...] = (*BOTH, ConfigMap)
        found = [one for kind in kinds for one in await cloud.client.list(kind, cloud.namespace)]
        return [(one.metadata.name, one.metadata.resourceVersion) for one in found]

    async with cloud.operator():
        before = await versions()
        for controller in ("keystoneservice", "keystoneendpoint"):
            await Passes(controller).reach(3)
        assert await versions() == before

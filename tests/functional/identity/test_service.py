"""KeystoneService on a real API server, with the fake Keystone behind it."""

import itertools
import time
from dataclasses import replace

import pytest

from stackwright.adapters.identity import Credentials, RoleAssignment, Service
from stackwright.api.annotations import CONFIGURED_WITH
from stackwright.api.keystone import KeystoneEndpoint, KeystoneService
from stackwright.kube.builtin import Secret
from stackwright.kube.conditions import find
from stackwright.services.keystone.kinds import KeystoneAPI
from tests.functional.identity.cloud import ADMIN, FIRST, REMEMBERED, SECOND, Cloud
from tests.functional.running import Passes
from tests.functional.watching import eventually, told, until

# On a machine that takes longer for two looks at six resources, the looks lie further apart than what is remembered.
SLOW = 8.0
API_READY, CLIENT_READY = "KeystoneAPIReady", "AdminServiceClientReady"
SERVICE_READY, USER_READY = "KeystoneServiceOSServiceReady", "KeystoneServiceOSUserReady"

pytestmark = pytest.mark.usefixtures("operator")


async def test_a_service_is_registered_with_its_user(cloud: Cloud) -> None:
    await cloud.whole()
    resource = await cloud.ready(KeystoneService)
    (service,) = await cloud.services()
    keystone = await cloud.client.get(KeystoneAPI, "keystone", cloud.namespace)
    mark = f"KeystoneService {cloud.namespace}/glance of cloud {keystone.metadata.uid}"
    assert service == Service(resource.status.serviceID, "image", "glance", "Images", enabled=True, made_for=mark)
    user, project = await cloud.keystone.find_user("glance"), await cloud.keystone.find_project("service")
    assert user is not None
    assert project is not None
    assert (user.id, resource.status.keystoneInstance) == (resource.status.userID, "keystone")
    roles = await cloud.keystone.roles()
    held = {RoleAssignment(user.id, roles[role]) for role in ("admin", "service")}
    assert await cloud.keystone.assignments(project.id) == held
    assert await cloud.can_log_in(FIRST)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::5], ids=str)
async def test_the_order_of_creation_is_the_users(cloud: Cloud, order: tuple[int, ...]) -> None:
    writes = (cloud.passwords, cloud.api, cloud.service, cloud.endpoint)
    for position in order:
        await writes[position]()
    await cloud.ready(KeystoneService)
    await cloud.ready(KeystoneEndpoint)
    assert await cloud.can_log_in(FIRST)


async def test_what_is_waited_for_is_said(cloud: Cloud) -> None:
    await cloud.service()
    await cloud.says(KeystoneService, API_READY, f"There is no KeystoneAPI in namespace {cloud.namespace} yet")
    await cloud.api(ready=False)
    await cloud.says(KeystoneService, API_READY, "KeystoneAPI keystone is not ready yet")
    await cloud.serves()
    await cloud.says(KeystoneService, CLIENT_READY, "Secret osp-secret does not exist")
    await cloud.secret("osp-secret", Other="x")
    await cloud.says(KeystoneService, CLIENT_READY, "Secret osp-secret has no value under the key AdminPassword")
    await cloud.secret("osp-secret", AdminPassword=ADMIN.password)
    waiting = await cloud.says(KeystoneService, USER_READY, "has no value under the key GlancePassword; add it")
    registered = find(waiting.status.conditions, SERVICE_READY)
    assert registered is not None
    assert registered.status == "True"
    await cloud.passwords()
    await cloud.ready(KeystoneService)


async def test_a_wrong_admin_password_is_told_and_heals(cloud: Cloud) -> None:
    await cloud.secret("osp-secret", AdminPassword="wrong-password", GlancePassword=FIRST)
    await cloud.api()
    await cloud.service()
    refused = await cloud.says(KeystoneService, CLIENT_READY, "takes the password from Secret osp-secret")
    assert "wrong-password" not in str(refused.status)
    assert (await cloud.counts())["refused admin"] == 1
    await cloud.passwords()
    await cloud.ready(KeystoneService)


async def test_a_keystone_that_is_down_is_told_and_heals(cloud: Cloud) -> None:
    await cloud.passwords()
    await cloud.api(ready=False)
    closed = replace(cloud, url="http://127.0.0.1:1")
    await closed.serves()
    await cloud.service()
    await cloud.says(KeystoneService, CLIENT_READY, "Keystone at http://127.0.0.1:1/v3 does not answer")
    await cloud.serves()
    await cloud.ready(KeystoneService)


async def test_several_keystones_are_chosen_from(cloud: Cloud) -> None:
    await cloud.passwords()
    await cloud.api("one")
    await cloud.api("two")
    await cloud.service()
    await cloud.says(KeystoneService, API_READY, "set spec.keystoneInstance to one of one, two")
    await cloud.delete(KeystoneService)
    await cloud.service(keystoneInstance="three")
    await cloud.says(KeystoneService, API_READY, "spec.keystoneInstance: KeystoneAPI three does not exist")
    await cloud.service(keystoneInstance="two")
    assert (await cloud.ready(KeystoneService)).status.keystoneInstance == "two"


async def test_a_keystone_elsewhere_is_used(cloud: Cloud) -> None:
    await cloud.passwords()
    await cloud.api(external=True)
    await cloud.service()
    await cloud.ready(KeystoneService)
    assert await cloud.can_log_in(FIRST)


async def test_what_was_changed_behind_our_back_is_repaired(cloud: Cloud) -> None:
    await cloud.whole()
    before = await cloud.ready(KeystoneService)
    (service,) = await cloud.services()
    await cloud.keystone.update_service(replace(service, name="other", description="", enabled=False))
    await until(cloud.services, lambda found: found == [service])

    user, project = await cloud.keystone.find_user("glance"), await cloud.keystone.find_project("service")
    assert user is not None
    assert project is not None
    assignments = await cloud.keystone.assignments(project.id)
    for assignment in assignments:
        await cloud.keystone.revoke(project.id, assignment)
    await until(lambda: cloud.keystone.assignments(project.id), lambda found: found == assignments)

    await cloud.keystone.update_user(user.id, enabled=False)
    await until(lambda: cloud.can_log_in(FIRST))

    await cloud.keystone.delete_user(user.id)
    await until(lambda: cloud.can_log_in(FIRST))
    await cloud.keystone.delete_service(service.id)
    after = await eventually(
        cloud.client,
        KeystoneService,
        "glance",
        cloud.namespace,
        lambda found: found.status.serviceID != before.status.serviceID,
    )
    assert (await cloud.services())[0].id == after.status.serviceID
    await cloud.ready(KeystoneEndpoint)
    await until(cloud.urls, lambda urls: len(urls) == 2)


async def test_a_password_that_was_changed_in_keystone_is_changed_back(cloud: Cloud) -> None:
    await cloud.whole()
    user = await cloud.keystone.find_user("glance")
    assert user is not None
    await cloud.keystone.set_password(user.id, "somebody-elses")
    await until(lambda: cloud.can_log_in(FIRST))
    assert (await cloud.counts())["passwords"] == 2


async def test_a_password_that_is_changed_in_the_secret_is_changed_in_keystone_once(cloud: Cloud) -> None:
    await cloud.whole()
    assert (await cloud.ready(KeystoneService)).status.passwordChanged is None
    await cloud.passwords(SECOND)
    changed = await eventually(
        cloud.client, KeystoneService, "glance", cloud.namespace, lambda found: found.status.passwordChanged
    )
    assert await cloud.can_log_in(SECOND)
    assert SECOND not in str(changed)
    event = await told(cloud.client, cloud.namespace, "glance", "ChangingPassword")
    assert event.note == "The password of user glance is not that of Secret osp-secret and is changed in Keystone"

    before = await cloud.counts()
    await Passes("keystoneservice").reach(3)
    after = await cloud.counts()
    assert (after["passwords"], after.get("refused glance", 0)) == (1, before.get("refused glance", 0))
    assert after["login"] == before["login"]


async def test_a_password_that_is_not_to_be_set_is_tried_once(cloud: Cloud) -> None:
    await cloud.whole()
    metadata = {"name": "glance", "namespace": cloud.namespace, "annotations": {CONFIGURED_WITH: "an-older-version"}}
    await cloud.client.apply(KeystoneService, {"metadata": metadata}, field_manager="parent")
    await cloud.passwords(SECOND)
    await cloud.says(KeystoneService, USER_READY, "Secret osp-secret has another password for user glance")
    before = (await cloud.counts())["refused glance"]
    await Passes("keystoneservice").reach(10)
    counts = await cloud.counts()
    assert (counts["refused glance"], counts.get("passwords", 0)) == (before, 0)
    # Once the service is configured with it, it is set.
    secret = await cloud.client.get(Secret, "osp-secret", cloud.namespace)
    metadata["annotations"] = {CONFIGURED_WITH: secret.metadata.resourceVersion}
    await cloud.client.apply(KeystoneService, {"metadata": metadata}, field_manager="parent")
    await until(lambda: cloud.can_log_in(SECOND))


async def test_a_password_of_the_administrator_is_not_tried_before_bootstrap_has_set_it(cloud: Cloud) -> None:
    await cloud.whole()
    await cloud.serves(bootstrapped=False)
    # With the former password what is registered is still looked after.
    user = await cloud.keystone.find_user("glance")
    assert user is not None
    await cloud.keystone.delete_user(user.id)
    await until(lambda: cloud.can_log_in(FIRST))
    await cloud.secret("osp-secret", AdminPassword=SECOND, GlancePassword=FIRST)
    await cloud.says(KeystoneService, API_READY, "KeystoneAPI keystone is not ready yet")
    await Passes("keystoneservice").reach(3)
    assert (await cloud.counts()).get("refused admin", 0) == 0
    administrator = await cloud.keystone.find_user("admin")
    assert administrator is not None
    await cloud.keystone.set_password(administrator.id, SECOND)
    await cloud.serves()
    await cloud.ready(KeystoneService)
    assert (await cloud.counts()).get("refused admin", 0) == 0


async def test_a_user_that_cannot_log_in_is_told_and_gets_its_password_once(cloud: Cloud) -> None:
    await cloud.whole()
    await cloud.lock("glance")
    await cloud.passwords(SECOND)
    message = "Keystone accepted the new password of user glance, but refuses its login"
    await cloud.says(KeystoneService, USER_READY, message)
    await Passes("keystoneservice").reach(3)
    assert (await cloud.counts())["passwords"] == 1
    await cloud.lock("glance", locked=False)
    await cloud.ready(KeystoneService)
    assert (await cloud.counts())["passwords"] == 1


async def test_a_settled_cloud_logs_nobody_in_and_asks_little(cloud: Cloud) -> None:
    await cloud.whole()
    for number in range(5):
        await cloud.service(f"service-{number}", serviceType=f"type-{number}")
        await cloud.ready(KeystoneService, f"service-{number}")
    # What is new is looked at more than once; then each of the six about once in a second.
    await Passes("keystoneservice").reach(12)
    before, passes, began = await cloud.counts(), Passes("keystoneservice"), time.monotonic()
    await passes.reach(24)
    after, took = await cloud.counts(), time.monotonic() - began
    assert after["login"] == before["login"]
    assert all(after.get(method, 0) == before.get(method, 0) for method in ("POST", "PATCH", "PUT", "DELETE"))
    # Two requests of its own in each pass, and a few that are shared, also with the endpoint's, and remembered.
    shared = 2 * passes.ended if took < SLOW else 8 * (took / REMEMBERED + 1)
    assert after["GET"] + after["HEAD"] - before["GET"] - before["HEAD"] < 2 * passes.ended + shared


async def test_two_resources_do_not_fight_for_a_user(cloud: Cloud) -> None:
    await cloud.whole()
    await cloud.secret("other-secret", GlancePassword=SECOND)
    sentence = "spec.serviceUser: user glance of KeystoneAPI keystone belongs to KeystoneService glance"
    # By whatever words it says which Keystone it means: there is one.
    for instance in ("", "keystone"):
        said = {"serviceType": "other", "secret": "other-secret", "keystoneInstance": instance}
        await cloud.service("other", serviceUser="glance", **said)
        await cloud.says(KeystoneService, USER_READY, sentence, "other")
    assert await cloud.can_log_in(FIRST)

    await cloud.service("other", serviceType="other", serviceUser="glance")
    await cloud.ready(KeystoneService, "other")
    await cloud.delete(KeystoneService, "other")
    await until(cloud.services, lambda found: [entry.name for entry in found] == ["glance"])
    await until(cloud.notes, lambda found: "keystone.keystoneservice.other" not in found)
    assert await cloud.can_log_in(FIRST)


async def test_who_asks_for_the_user_of_a_younger_one_does_not_get_it(cloud: Cloud) -> None:
    await cloud.whole()
    await cloud.secret("other-secret", GlancePassword=SECOND)
    await cloud.service("other", serviceType="other", secret="other-secret")
    await cloud.ready(KeystoneService, "other")
    await cloud.service(serviceUser="other")
    await cloud.says(KeystoneService, USER_READY, "user other of KeystoneAPI keystone belongs to KeystoneService other")
    # The one that has it is looked at again, and goes on.
    changed = (await cloud.client.get(KeystoneService, "other", cloud.namespace)).status.passwordChanged
    await cloud.service("other", serviceType="other", secret="other-secret", serviceDescription="again")
    other = await cloud.ready(KeystoneService, "other")
    assert other.status.passwordChanged == changed
    assert await cloud.keystone.login(Credentials("other", SECOND, "service")) is not None


async def test_two_resources_do_not_stand_for_one_service(cloud: Cloud) -> None:
    await cloud.whole()
    await cloud.service("other", serviceName="glance", serviceUser="other")
    await cloud.says(
        KeystoneService,
        SERVICE_READY,
        "of type image glance of KeystoneAPI keystone belongs to KeystoneService glance;",
        "other",
    )
    assert "keystone.keystoneservice.other" not in await cloud.notes()
    await cloud.delete(KeystoneService, "other")
    await cloud.forgotten(KeystoneService, "other")
    assert len(await cloud.services()) == 1


async def test_the_administrator_is_nobodys_service_user(cloud: Cloud) -> None:
    await cloud.passwords()
    await cloud.api()
    await cloud.service(serviceUser="admin")
    await cloud.says(KeystoneService, USER_READY, "spec.serviceUser: admin is Keystone's administrator")
    assert await cloud.notes() == []
    await cloud.delete(KeystoneService)
    await cloud.forgotten(KeystoneService)
    assert await cloud.keystone.find_user("admin") is not None


async def test_another_type_changes_the_service_and_makes_no_second_one(cloud: Cloud) -> None:
    await cloud.whole()
    await cloud.service(serviceType="imagery")
    await until(cloud.services, lambda found: [entry.type for entry in found] == ["imagery"])


async def test_while_keystone_rolls_what_is_registered_stays_ready(cloud: Cloud) -> None:
    await cloud.whole()
    await cloud.serves(ready=False)
    user = await cloud.keystone.find_user("glance")
    assert user is not None
    await cloud.keystone.delete_user(user.id)
    await until(lambda: cloud.can_log_in(FIRST))
    await cloud.ready(KeystoneService)


async def test_a_paused_resource_is_left_alone(cloud: Cloud) -> None:
    await cloud.whole()
    body = {
        "metadata": {"name": "glance", "namespace": cloud.namespace, "annotations": {"openstack.org/paused": "true"}}
    }
    # The pass that is in hand may not have seen the annotation yet.
    await cloud.worked_through(await cloud.client.apply(KeystoneService, body, field_manager="pauser"))
    (service,) = await cloud.services()
    await cloud.keystone.update_service(replace(service, description="by hand"))
    # What would wake it does not.
    await cloud.service(serviceDescription="Other images")
    await cloud.worked_through(await cloud.client.get(KeystoneService, "glance", cloud.namespace))
    assert (await cloud.services())[0].description == "by hand"

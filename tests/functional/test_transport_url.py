"""TransportURLs on a real API server, with a fake broker in a process of its own."""

import asyncio
import base64
import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from urllib.parse import unquote, urlsplit

import aiohttp
import pytest

from stackwright.adapters.rabbitmq import Access, Management, Permission, digest_of
from stackwright.api.rabbitmq import TransportURL
from stackwright.blueprint import use
from stackwright.controllers.broker import controllers
from stackwright.controllers.broker.controllers import find_reader_kinds
from stackwright.controllers.broker.secrets import password_name
from stackwright.controllers.dialling import Dialler
from stackwright.kube.builtin import Event, Namespace, Secret
from stackwright.kube.client import Client
from stackwright.kube.conditions import find, is_true
from stackwright.kube.errors import Invalid
from stackwright.kube.resource import JsonObject
from stackwright.kube.runtime import Runtime
from stackwright.kube.shapes import exchange
from stackwright.kube.shapes.belonging import MADE_FOR
from stackwright.services.neutron.kinds import NeutronAPI
from stackwright.services.rabbitmq.kinds import RabbitMq
from tests.fakes import rabbitmq
from tests.functional import hands
from tests.functional.definitions import defined
from tests.functional.running import Passes, patches, running
from tests.functional.watching import PATIENCE, eventually, gone, until

CONSUMER = "openstack.org/nova-transport-consumer"


@pytest.fixture
def access() -> Iterator[Access]:
    with rabbitmq.running() as access:
        yield access


@pytest.fixture
async def broker(access: Access) -> AsyncIterator[Management]:
    async with Management(access) as broker:
        yield broker


@pytest.fixture
async def kinds(client: Client) -> None:
    await defined(client, (RabbitMq, TransportURL, *find_reader_kinds().values()))


@pytest.fixture
async def operator(client: Client, namespace: str, kinds: None) -> AsyncIterator[None]:
    passwords = (f"password {number} of/ours" for number in itertools.count(1))
    made = controllers(Dialler(client, inside=True), generate=lambda _: next(passwords), every=0.3)
    async with running(Runtime(client, made, namespace=namespace)):
        yield


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def text(secret: Secret, key: str) -> str:
    return base64.b64decode(secret.data[key]).decode()


async def administrator(client: Client, namespace: str, access: Access, password: str = "") -> None:
    data = {"username": encoded(access.username), "password": encoded(password or access.password)}
    await client.apply(Secret, {"metadata": {"name": "rabbit-admin", "namespace": namespace}, "data": data})


async def outside(
    client: Client, namespace: str, access: Access, *, ready: bool = True, name: str = "rabbitmq"
) -> None:
    """A RabbitMq that stands for the fake, as its operator reports it."""
    await administrator(client, namespace, access)
    external = {"hostname": "rabbit.example.org", "managementURL": access.url, "secret": "rabbit-admin"}
    body: JsonObject = {"metadata": {"name": name, "namespace": namespace}, "spec": {"external": external}}
    made = await client.apply(RabbitMq, body)
    if ready:
        now = "2026-01-01T00:00:00Z"
        condition = {"type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": now}
        status = {"conditions": [condition], "observedGeneration": made.metadata.generation}
        await client.apply(RabbitMq, {**body, "spec": {}, "status": status}, subresource="status")


async def ask(client: Client, namespace: str, name: str = "nova-api", **spec: str) -> None:
    body = {"metadata": {"name": name, "namespace": namespace}, "spec": {"rabbitmqClusterName": "rabbitmq", **spec}}
    await client.apply(TransportURL, body)


def ready(resource: TransportURL) -> bool:
    current = resource.status.observedGeneration == resource.metadata.generation
    return current and is_true(resource.status.conditions)


def says(reason: str) -> Callable[[TransportURL], bool]:
    def holds(resource: TransportURL) -> bool:
        condition = find(resource.status.conditions, "TransportURLReady")
        return condition is not None and condition.reason == reason

    return holds


async def settled(client: Client, namespace: str, name: str = "nova-api") -> TransportURL:
    return await eventually(client, TransportURL, name, namespace, ready)


async def login(client: Client, namespace: str, resource: TransportURL) -> tuple[str, str]:
    secret = await client.get(Secret, resource.status.secretName, namespace)
    parts = urlsplit(text(secret, "transport_url"))
    return unquote(parts.username or ""), unquote(parts.password or "")


async def test_a_second_resource_of_one_broker_neither_shuts_out_nor_deletes_users_of_the_first(
    client: Client, namespace: str, access: Access, broker: Management, operator: None
) -> None:
    await outside(client, namespace, access)
    await outside(client, namespace, access, name="another")
    await ask(client, namespace, username="nova")
    first = await settled(client, namespace)
    before = await broker.user("nova")
    # Somebody makes a Secret that says that the user is ours.
    secret = {"name": password_name("another", "nova"), "namespace": namespace}
    marked = {**secret, "annotations": {"openstack.org/generated": "true"}}
    await client.apply(Secret, {"metadata": marked, "data": {"password": encoded("forged")}})
    wanted = {"rabbitmqClusterName": "another", "username": "nova", "deletionPolicy": "Delete"}
    await ask(client, namespace, "thief", **wanted)
    await eventually(client, TransportURL, "thief", namespace, says("UserTaken"))
    await client.delete(TransportURL, "thief", namespace)
    await gone(client, TransportURL, "thief", namespace)
    after = await broker.user("nova")
    assert after is not None
    assert after == before
    assert after.has_password((await login(client, namespace, first))[1])


async def test_without_a_name_the_url_has_the_default_user(
    client: Client, namespace: str, access: Access, broker: Management, operator: None
) -> None:
    await outside(client, namespace, access)
    await ask(client, namespace, vhost="cell1")
    found = await settled(client, namespace)
    status = found.status
    assert (status.secretName, status.previousSecretName) == ("rabbitmq-transport-url-nova-api", "")
    assert (status.rabbitmqUsername, status.rabbitmqVhost, status.queueType) == ("admin", "cell1", "Quorum")
    secret = await client.get(Secret, status.secretName, namespace)
    assert {key: text(secret, key) for key in secret.data} == {
        "transport_url": "rabbit://admin:administrator%27s%20secret@rabbit.example.org:5672/cell1?ssl=0",
        "quorumqueues": "true",
    }
    assert await broker.permission("cell1", "admin") == Permission()


async def test_a_named_user_is_made_with_a_password_of_its_own(
    client: Client, namespace: str, access: Access, broker: Management, operator: None
) -> None:
    await outside(client, namespace, access)
    await ask(client, namespace, username="nova", vhost="/")
    found = await settled(client, namespace)
    assert await login(client, namespace, found) == ("nova", "password 1 of/ours")
    user = await broker.user("nova")
    assert user is not None
    assert user.has_password("password 1 of/ours")
    resource = await client.get(RabbitMq, "rabbitmq", namespace)
    assert user.tags == {f"stackwright/{namespace}/rabbitmq/{resource.metadata.uid}"}
    assert await broker.permission("/", "nova") == Permission()


async def test_what_a_hand_writes_into_a_status_is_put_right(
    client: Client,
    namespace: str,
    access: Access,
    broker: Management,
    operator: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exchange, "TURNS", 1000)
    await outside(client, namespace, access)
    await ask(client, namespace, username="nova", vhost="/")
    found = await settled(client, namespace)
    before = await login(client, namespace, found)
    await hands.try_everything(client, found)
    assert await login(client, namespace, found) == before


async def test_two_that_name_one_user_share_its_password(
    client: Client, namespace: str, access: Access, broker: Management, operator: None
) -> None:
    await outside(client, namespace, access)
    await ask(client, namespace, "nova-api", username="nova", vhost="one")
    await ask(client, namespace, "nova-cell1", username="nova", vhost="two")
    first = await login(client, namespace, await settled(client, namespace, "nova-api"))
    assert await login(client, namespace, await settled(client, namespace, "nova-cell1")) == first

    await client.delete(TransportURL, "nova-api", namespace)
    await gone(client, TransportURL, "nova-api", namespace)
    user = await broker.user("nova")
    assert user is not None
    assert user.has_password(first[1])


async def test_a_shared_user_loses_the_rights_in_the_vhost_of_the_one_that_goes(
    client: Client, namespace: str, access: Access, broker: Management, operator: None
) -> None:
    await outside(client, namespace, access)
    await ask(client, namespace, "nova-api", username="nova", vhost="one", deletionPolicy="Delete")
    await ask(client, namespace, "nova-cell1", username="nova", vhost="two")
    for name in ("nova-api", "nova-cell1"):
        await settled(client, namespace, name)
    assert await broker.permission("one", "nova") == Permission()

    await client.delete(TransportURL, "nova-api", namespace)
    await gone(client, TransportURL, "nova-api", namespace)
    assert await broker.permission("one", "nova") is None
    assert await broker.permission("two", "nova") == Permission()


async def test_it_waits_for_a_broker_and_says_for_what(
    client: Client, namespace: str, access: Access, operator: None
) -> None:
    await ask(client, namespace, username="nova")
    missing = await eventually(client, TransportURL, "nova-api", namespace, says("RabbitMqMissing"))
    condition = find(missing.status.conditions, "TransportURLReady")
    assert condition is not None
    assert condition.message == "RabbitMq rabbitmq does not exist; create it, or correct spec.rabbitmqClusterName"
    await outside(client, namespace, access, ready=False)
    await eventually(client, TransportURL, "nova-api", namespace, says("RabbitMqNotReady"))
    await client.delete(Secret, "rabbit-admin", namespace)
    await eventually(client, TransportURL, "nova-api", namespace, says("SecretMissing"))
    await outside(client, namespace, access)
    await settled(client, namespace)


async def test_what_somebody_changed_at_the_broker_is_repaired(
    client: Client, namespace: str, access: Access, broker: Management, operator: None
) -> None:
    await outside(client, namespace, access)
    await ask(client, namespace, username="nova", vhost="cell1")
    _, password = await login(client, namespace, await settled(client, namespace))

    async def as_it_was() -> bool:
        user = await broker.user("nova")
        right = user is not None and user.has_password(password)
        return right and await broker.permission("cell1", "nova") == Permission()

    assert await as_it_was()
    await broker.delete_vhost("cell1")
    await until(as_it_was)
    await broker.delete_permission("cell1", "nova")
    await until(as_it_was)
    await broker.put_user("nova", digest_of("another"))
    await until(as_it_was)
    await broker.delete_user("nova")
    await until(as_it_was)
    await settled(client, namespace)


async def test_a_deleted_secret_is_written_again(
    client: Client, namespace: str, access: Access, operator: None
) -> None:
    await outside(client, namespace, access)
    await ask(client, namespace, username="nova")
    before = await login(client, namespace, await settled(client, namespace))
    await client.delete(Secret, "rabbitmq-transport-url-nova-api", namespace)
    await eventually(client, Secret, "rabbitmq-transport-url-nova-api", namespace, lambda secret: bool(secret.data))
    assert await login(client, namespace, await settled(client, namespace)) == before


async def test_another_user_name_rotates_and_the_old_one_waits_for_its_users(
    client: Client, namespace: str, access: Access, broker: Management, operator: None
) -> None:
    await outside(client, namespace, access)
    await ask(client, namespace, username="nova")
    first = (await settled(client, namespace)).status.secretName
    consumed = {"metadata": {"name": first, "namespace": namespace, "finalizers": [CONSUMER]}}
    await client.apply(Secret, consumed, field_manager="nova")

    await ask(client, namespace, username="nova-2")
    rotated = (await settled(client, namespace)).status
    assert rotated.secretName.startswith("rabbitmq-transport-url-nova-api-")
    assert (rotated.rabbitmqUsername, rotated.previousSecretName) == ("nova-2", first)
    assert rotated.previousRabbitmqUsername == "nova"
    for user in ("nova", "nova-2"):
        assert await broker.permission("/", user) == Permission()

    async with aiohttp.ClientSession(access.url) as session:
        await session.put("/fake/connections/nova/2")
        await client.apply(Secret, {"metadata": {"name": first, "namespace": namespace}}, field_manager="nova")
        await Passes("transporturl").reach(4)
        assert await broker.user("nova") is not None
        assert await client.find(Secret, first, namespace) is not None
        await session.put("/fake/connections/nova/0")

    done = await eventually(client, TransportURL, "nova-api", namespace, lambda one: not one.status.previousSecretName)
    assert await broker.user("nova") is None
    assert await client.find(Secret, first, namespace) is None
    assert await client.find(Secret, password_name("rabbitmq", "nova"), namespace) is None
    assert await login(client, namespace, done) == ("nova-2", "password 2 of/ours")


async def test_the_old_user_stays_until_all_of_its_service_has_the_new_one(
    client: Client, namespace: str, access: Access, broker: Management, operator: None
) -> None:
    """Nobody is connected as the old one: what logs in with it may be machines that are switched off."""
    await outside(client, namespace, access)
    spec = {"secret": "osp-secret", "databaseInstance": "openstack"}
    service: JsonObject = {"metadata": {"name": "neutron", "namespace": namespace}, "spec": spec}
    await client.apply(NeutronAPI, service)
    await ask(client, namespace, username="nova")
    made = {"metadata": {"annotations": {MADE_FOR: "NeutronAPI/neutron"}}}
    await client.patch(TransportURL, "nova-api", namespace, made)
    first = (await settled(client, namespace)).status.secretName

    await ask(client, namespace, username="nova-2")
    rotated = await settled(client, namespace)
    await Passes("transporturl").reach(4)
    assert (await client.get(TransportURL, "nova-api", namespace)).status.previousSecretName == first
    assert await broker.user("nova") is not None

    secret = await client.get(Secret, rotated.status.secretName, namespace)
    noted = {f"{use.NOTED}{secret.metadata.name}": secret.metadata.annotations[use.CONTENT]}
    await client.apply(NeutronAPI, {**service, "status": {"hash": noted}}, subresource="status")
    await eventually(client, TransportURL, "nova-api", namespace, lambda one: not one.status.previousSecretName)
    assert await broker.user("nova") is None


async def test_deletion_takes_the_user_and_leaves_the_vhost(
    client: Client, namespace: str, access: Access, broker: Management, operator: None
) -> None:
    await outside(client, namespace, access)
    await ask(client, namespace, username="nova", vhost="cell1", deletionPolicy="Delete")
    await settled(client, namespace)
    await client.delete(TransportURL, "nova-api", namespace)
    await gone(client, TransportURL, "nova-api", namespace)
    assert await broker.user("nova") is None
    assert await broker.vhost("cell1") is not None
    assert await client.find(Secret, password_name("rabbitmq", "nova"), namespace) is None


async def test_deletion_never_takes_the_default_user(
    client: Client, namespace: str, access: Access, broker: Management, operator: None
) -> None:
    await outside(client, namespace, access)
    await ask(client, namespace)
    await settled(client, namespace)
    await client.delete(TransportURL, "nova-api", namespace)
    await gone(client, TransportURL, "nova-api", namespace)
    assert (await broker.whoami()).name == "admin"


async def test_deletion_waits_for_a_broker_that_is_down_but_not_for_one_that_is_gone(
    client: Client, namespace: str, access: Access, operator: None
) -> None:
    await outside(client, namespace, access)
    await ask(client, namespace, username="nova", deletionPolicy="Delete")
    await settled(client, namespace)
    async with aiohttp.ClientSession(access.url) as session:
        await session.put("/fake/down/yes")
    await client.delete(TransportURL, "nova-api", namespace)
    held = await eventually(client, TransportURL, "nova-api", namespace, says("Unavailable"))
    assert held.deleting
    await client.delete(RabbitMq, "rabbitmq", namespace)
    await gone(client, TransportURL, "nova-api", namespace)


async def test_a_namespace_with_a_dead_broker_in_it_ends(
    client: Client, namespace: str, access: Access, operator: None
) -> None:
    await outside(client, namespace, access)
    await ask(client, namespace, username="nova", deletionPolicy="Delete")
    await settled(client, namespace)
    async with aiohttp.ClientSession(access.url) as session:
        await session.put("/fake/down/yes")
    await client.delete(Namespace, namespace)
    # Kubernetes looks again at a namespace whose objects have finalizers only after many seconds, and more than once.
    async with asyncio.timeout(2 * PATIENCE):
        while await client.find(Namespace, namespace) is not None:
            await asyncio.sleep(0.2)


async def test_a_user_of_somebody_else_is_not_taken_over_unless_its_password_is_given(
    client: Client, namespace: str, access: Access, broker: Management, operator: None
) -> None:
    await broker.put_user("nova", digest_of("theirs"), frozenset({"monitoring"}))
    await outside(client, namespace, access)
    await ask(client, namespace, username="nova")
    refused = await eventually(client, TransportURL, "nova-api", namespace, says("UserTaken"))
    condition = find(refused.status.conditions, "TransportURLReady")
    name = password_name("rabbitmq", "nova")
    assert condition is not None
    assert condition.message == (
        "spec.username: user nova exists at the broker and was not created for this resource; name another user, or "
        f"create Secret {name} with the password under the key password"
    )
    user = await broker.user("nova")
    assert user is not None
    assert user.has_password("theirs")

    body = {"metadata": {"name": name, "namespace": namespace}, "data": {"password": encoded("theirs")}}
    await client.apply(Secret, body, field_manager="somebody")
    assert await login(client, namespace, await settled(client, namespace)) == ("nova", "theirs")
    await client.delete(TransportURL, "nova-api", namespace)
    await gone(client, TransportURL, "nova-api", namespace)
    left = await broker.user("nova")
    assert left is not None
    assert left.tags == {"monitoring"}


async def test_a_wrong_administrator_s_password_is_told_and_heals(
    client: Client, namespace: str, access: Access, operator: None
) -> None:
    await outside(client, namespace, access)
    await administrator(client, namespace, access, "not the password")
    await ask(client, namespace, username="nova")
    refused = await eventually(client, TransportURL, "nova-api", namespace, says("Refused"))
    condition = find(refused.status.conditions, "TransportURLReady")
    assert condition is not None
    assert "RabbitMq rabbitmq takes them from Secret rabbit-admin" in condition.message
    await administrator(client, namespace, access)
    await settled(client, namespace)


async def test_no_password_is_told_to_anybody(
    client: Client, namespace: str, access: Access, operator: None, capfd: pytest.CaptureFixture[str]
) -> None:
    await outside(client, namespace, access)
    await ask(client, namespace, username="nova")
    await settled(client, namespace)
    async with aiohttp.ClientSession(access.url) as session:
        await session.put("/fake/down/yes")
    shown = await eventually(client, TransportURL, "nova-api", namespace, says("Unavailable"))
    told = [repr(event) for event in await client.list(Event, namespace)]
    printed = capfd.readouterr()
    for secret in ("password 1 of", "password%201%20of", "administrator's secret", "administrator%27s"):
        for place in (repr(shown), *told, printed.out, printed.err):
            assert secret not in place


async def test_a_settled_one_makes_no_write(client: Client, namespace: str, access: Access, operator: None) -> None:
    await outside(client, namespace, access)
    await ask(client, namespace, username="nova", vhost="cell1")
    before = await settled(client, namespace)
    await Passes("transporturl").reach(2)
    written = patches()
    await Passes("transporturl").reach(4)
    assert patches() == written
    after = await client.get(TransportURL, "nova-api", namespace)
    assert after.metadata.resourceVersion == before.metadata.resourceVersion


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({"replicas": 32}, "less than or equal to 31", id="too-many-nodes"),
        pytest.param(
            {"external": {"hostname": "a", "managementURL": "http://user:pw@a:15672", "secret": "b"}},
            "spec.external.managementURL",
            id="a-login-in-the-url",
        ),
    ],
)
async def test_a_broker_that_cannot_be_is_refused(
    client: Client, namespace: str, kinds: None, spec: JsonObject, message: str
) -> None:
    body = {"metadata": {"name": "rabbitmq", "namespace": namespace}, "spec": spec}
    with pytest.raises(Invalid, match=message):
        await client.apply(RabbitMq, body)

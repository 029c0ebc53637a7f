"""What once went wrong with services: work that was done twice or never, on a real API server with the real helm."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from stackwright.api.annotations import ACCEPT_LOSS, RELEASE_OWNER
from stackwright.api.mariadb import MariaDBAccount
from stackwright.api.rabbitmq import TransportURL
from stackwright.controllers import release
from stackwright.controllers.service import controllers
from stackwright.controllers.service.rings import PRIMARY_UNTIL
from stackwright.kube import conditions
from stackwright.kube.builtin import Event, Job, Pod, RoleBinding, Secret, Service, StatefulSet, StorageClass
from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.kube.errors import Unreachable
from stackwright.kube.resource import JsonObject
from stackwright.kube.runtime import Runtime
from stackwright.kube.transport import Call, Reply
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.keystone.service import SERVICE
from stackwright.services.memcached.kinds import Memcached
from stackwright.services.memcached.service import SERVICE as MEMCACHED
from stackwright.services.rabbitmq.kinds import RabbitMq
from stackwright.services.rabbitmq.service import SERVICE as RABBITMQ
from stackwright.simulator import Behaviour, ImageMissing, Script, Selector, simulated, storage_class
from tests.functional import neighbours
from tests.functional.cloud import cloud, configured, environment
from tests.functional.keystones import decoded, keystone, message, passwords, until_ready
from tests.functional.running import running
from tests.functional.watching import PATIENCE, eventually, gone, is_ready, some
from tests.functional.workloads import cache

pytestmark = pytest.mark.usefixtures("kinds")


class Cut:
    """Cuts the wire of a client: the first so many calls of a sort do not arrive."""

    def __init__(self, client: Client, of: Callable[[Call], bool], times: int) -> None:
        self._of, self.left = of, times
        self._request = client.transport.request
        client.transport.request = self.request  # type: ignore[method-assign]  # the wire is what is cut

    async def request(self, call: Call) -> Reply:
        if self.left and self._of(call):
            self.left -= 1
            raise Unreachable("cut")
        return await self._request(call)


async def surroundings(client: Client, namespace: str) -> None:
    await neighbours.database_server(client, namespace)
    await neighbours.cache(client, namespace)
    await passwords(client, namespace, AdminPassword="wonderland")


@contextlib.asynccontextmanager
async def cut_operator(
    connection: Connection, namespace: str, kubernetes: dict[str, Path], of: Callable[[Call], bool], times: int
) -> AsyncIterator[Cut]:
    """Run an operator of which some calls do not arrive."""
    async with Client(connection) as own:
        cut = Cut(own, of, times)
        async with running(Runtime(own, controllers((SERVICE,), environment(kubernetes)), namespace=namespace)):
            yield cut


async def test_an_action_whose_end_could_not_be_told_does_not_run_again(
    client: Client, connection: Connection, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await surroundings(client, namespace)
    asked = [{"name": "sync-database", "id": "1"}]
    await client.apply(KeystoneAPI, keystone(namespace, actions=asked), field_manager="user")

    def tells_success(call: Call) -> bool:
        return call.path.endswith("/keystone/status") and b"Succeeded" in (call.body or b"")

    async with (
        neighbours.schemas(client, namespace),
        simulated(client, namespace, Script()),
        cut_operator(connection, namespace, kubernetes, tells_success, 2) as cut,
    ):
        runs: set[str] = set()
        # Its Job goes when all is told; a second one is one too many.
        async with asyncio.timeout(PATIENCE):
            async for event in client.watch(Job, namespace, initial=True):
                if "-action-" in event.object.metadata.name:
                    runs.add(event.object.metadata.uid)
                    told = (await client.get(KeystoneAPI, "keystone", namespace)).status.actions
                    if len(runs) > 1 or (event.type == "DELETED" and told[0].state == "Succeeded"):
                        break
        assert (len(runs), cut.left) == (1, 0)


async def test_the_secret_of_a_retired_account_goes_also_when_its_deletion_failed_at_first(
    client: Client, connection: Connection, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await surroundings(client, namespace)
    await client.apply(KeystoneAPI, keystone(namespace), field_manager="user")

    def deletes_secret(call: Call) -> bool:
        return call.method == "DELETE" and call.path.endswith("/keystone-db-secret")

    async with (
        neighbours.schemas(client, namespace),
        simulated(client, namespace, Script()),
        cut_operator(connection, namespace, kubernetes, deletes_secret, 1) as cut,
    ):
        await until_ready(client, namespace)
        await client.apply(KeystoneAPI, keystone(namespace, databaseAccount="keystone-2"), field_manager="user")
        await gone(client, MariaDBAccount, "keystone", namespace)
        await gone(client, Secret, "keystone-db-secret", namespace)
        assert cut.left == 0


async def test_credential_keys_turn_a_second_time_when_all_is_migrated(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await surroundings(client, namespace)
    asked = [{"name": "rotate-credential-keys", "id": name} for name in ("first", "second")]
    await client.apply(KeystoneAPI, keystone(namespace), field_manager="user")
    async with neighbours.schemas(client, namespace), cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        await until_ready(client, namespace)
        before = await decoded(client, "keystone-credential-keys", namespace)
        await client.apply(KeystoneAPI, keystone(namespace, actions=asked), field_manager="user")
        await eventually(
            client,
            KeystoneAPI,
            "keystone",
            namespace,
            lambda seen: [entry.state for entry in seen.status.actions] == ["Succeeded", "Succeeded"],
        )
        after = await decoded(client, "keystone-credential-keys", namespace)
        assert sorted(after) == ["0", "2", "3"]
        assert after["2"] == before["0"]
        await some(
            client, Job, namespace, lambda jobs: [job for job in jobs if "credential-migrate" in job.metadata.name]
        )


async def test_keys_that_tokens_of_today_are_written_with_stay_however_often_the_ring_turns(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await surroundings(client, namespace)
    asked = [{"name": "rotate-keys", "id": str(number)} for number in range(5)]
    await client.apply(KeystoneAPI, keystone(namespace, fernetMaxActiveKeys=5), field_manager="user")
    async with neighbours.schemas(client, namespace), cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        await until_ready(client, namespace)
        before = await decoded(client, "keystone-fernet-keys", namespace)
        await client.apply(KeystoneAPI, keystone(namespace, actions=asked), field_manager="user")
        await eventually(
            client,
            KeystoneAPI,
            "keystone",
            namespace,
            lambda seen: [entry.state for entry in seen.status.actions] == ["Succeeded"] * len(asked),
        )
        after = await decoded(client, "keystone-fernet-keys", namespace)
        assert sorted(after) == ["0", "1", "2", "3", "4", "5", "6"]
        assert (after["1"], after["2"]) == (before["1"], before["0"])
        # Once their tokens are over, by a day long ago, as many stay as there should be.
        ring = await client.get(Secret, "keystone-fernet-keys", namespace)
        noted = json.loads(ring.metadata.annotations[PRIMARY_UNTIL])
        long_ago = {**noted, "1": "2026-01-01T00:00:00Z", "2": "2026-01-01T00:00:00Z"}
        change = {"metadata": {"annotations": {PRIMARY_UNTIL: json.dumps(long_ago)}}}
        await client.patch(Secret, "keystone-fernet-keys", namespace, change)
        shorter = await eventually(client, Secret, "keystone-fernet-keys", namespace, lambda seen: "1" not in seen.data)
        assert sorted(shorter.data) == ["0", "3", "4", "5", "6"]


async def test_keys_that_were_deleted_are_made_anew_with_a_warning(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await surroundings(client, namespace)
    await client.apply(KeystoneAPI, keystone(namespace), field_manager="user")
    async with neighbours.schemas(client, namespace), cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        await until_ready(client, namespace)
        before = await client.get(Secret, "keystone-fernet-keys", namespace)
        await client.delete(Secret, "keystone-fernet-keys", namespace)
        await some(client, Event, namespace, lambda events: any(event.reason == "SecretLost" for event in events))
        after = await client.get(Secret, "keystone-fernet-keys", namespace)
        assert after.metadata.uid != before.metadata.uid
        sentence = "Secret keystone-fernet-keys was deleted and is created again"
        ready = await eventually(client, KeystoneAPI, "keystone", namespace, lambda seen: sentence in _input(seen))
        assert ready.status.hash["keystone-fernet-keys"]
        await until_ready(client, namespace)


async def test_keys_of_what_is_stored_are_waited_for_and_taken_as_they_come_back(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await surroundings(client, namespace)
    await client.apply(KeystoneAPI, keystone(namespace), field_manager="user")
    async with neighbours.schemas(client, namespace), cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        await until_ready(client, namespace)
        backup = await client.get(Secret, "keystone-credential-keys", namespace)
        await client.delete(Secret, "keystone-credential-keys", namespace)
        sentence = "Secret keystone-credential-keys was deleted"
        blocked = await eventually(client, KeystoneAPI, "keystone", namespace, lambda seen: sentence in _input(seen))
        assert blocked.status.hash["keystone-credential-keys"] in _input(blocked)
        assert await client.find(Secret, "keystone-credential-keys", namespace) is None
        restored = {"metadata": {"name": "keystone-credential-keys", "namespace": namespace}, "data": backup.data}
        await client.create(Secret, restored)
        await until_ready(client, namespace)
        assert (await client.get(Secret, "keystone-credential-keys", namespace)).data == backup.data


async def test_a_broker_takes_the_password_of_a_default_user_that_was_accepted_as_lost(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await client.apply(StorageClass, storage_class("local"))
    spec = {"persistence": {"storageClassName": "local"}}
    broker = {"metadata": {"name": "mq", "namespace": namespace}, "spec": spec}
    await client.apply(RabbitMq, broker, field_manager="user")
    async with cloud(client, namespace, (RABBITMQ,), environment(kubernetes)):
        await eventually(client, RabbitMq, "mq", namespace, is_ready)
        before = await client.get(StatefulSet, "mq-server", namespace)
        await client.delete(Secret, "mq-default-user", namespace)
        lost = await eventually(
            client, RabbitMq, "mq", namespace, lambda seen: "mq-default-user was deleted" in _ready(seen)
        )
        change = {"metadata": {"annotations": {ACCEPT_LOSS: lost.status.hash["mq-default-user"]}}}
        await client.patch(RabbitMq, "mq", namespace, change)
        # The nodes start again, and load the new password into what they know of users.
        await eventually(
            client, StatefulSet, "mq-server", namespace, lambda seen: seen.spec["template"] != before.spec["template"]
        )
        renewed = await decoded(client, "mq-default-user", namespace)
        config = await configured(client, "mq-config-data", namespace, lambda content: "definitions.json" in content)
        told = json.loads(config["definitions.json"])
        assert told["users"][0]["password"] == renewed["password"]
        await eventually(client, RabbitMq, "mq", namespace, is_ready)


def _ready(resource: RabbitMq | Memcached) -> str:
    found = conditions.find(resource.status.conditions, conditions.READY)
    return f"{found.reason}: {found.message}" if found is not None else ""


@pytest.mark.parametrize(
    ("blueprint", "kind", "spec", "workload"),
    [
        pytest.param(RABBITMQ, RabbitMq, {"persistence": {"storageClassName": "local"}}, "mq-server", id="with-data"),
        pytest.param(MEMCACHED, Memcached, {}, "mq", id="without-data"),
    ],
)
async def test_an_image_that_does_not_exist_takes_no_pod_of_a_stateful_set_away(
    client: Client, namespace: str, kubernetes: dict[str, Path], blueprint: Any, kind: Any, spec: Any, workload: str
) -> None:
    def asked(image: str) -> dict[str, Any]:
        return {"metadata": {"name": "mq", "namespace": namespace}, "spec": {**spec, "containerImage": image}}

    await client.apply(StorageClass, storage_class("local"))
    await client.apply(kind, asked("registry.example/image:1"), field_manager="user")
    script = Script((Behaviour(Selector(image="*:missing"), fault=ImageMissing()),))
    runtime = Runtime(client, controllers((blueprint,), environment(kubernetes)), namespace=namespace)
    async with simulated(client, namespace, script), running(runtime):
        await eventually(client, kind, "mq", namespace, is_ready)
        before = await client.get(Pod, f"{workload}-0", namespace)
        await client.apply(kind, asked("registry.example/image:missing"), field_manager="user")
        stuck = await eventually(client, kind, "mq", namespace, lambda seen: _ready(seen).startswith("RolloutStuck"))
        assert f"StatefulSet {workload} keeps its pods, because a trial of the change failed" in _ready(stuck)
        assert "cannot get its image registry.example/image:missing" in _ready(stuck)
        assert (await client.get(Pod, f"{workload}-0", namespace)).metadata.uid == before.metadata.uid
        await client.apply(kind, asked("registry.example/image:2"), field_manager="user")
        await eventually(
            client, Pod, f"{workload}-0", namespace, lambda seen: seen.spec["containers"][0]["image"].endswith(":2")
        )
        await eventually(client, kind, "mq", namespace, is_ready)
        # What was tried is gone, and what could not be.
        await some(client, Job, namespace, lambda jobs: not jobs)


async def test_an_image_that_a_hand_set_on_a_stateful_set_is_theirs_and_is_not_tried(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    spec = {"persistence": {"storageClassName": "local"}}
    await client.apply(StorageClass, storage_class("local"))
    await client.apply(RabbitMq, {"metadata": {"name": "mq", "namespace": namespace}, "spec": spec})
    async with cloud(client, namespace, (RABBITMQ,), environment(kubernetes)):
        await eventually(client, RabbitMq, "mq", namespace, is_ready)
        theirs = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "theirs:1"}]
        await client.managing("hand").patch(StatefulSet, "mq-server", namespace, theirs)
        await eventually(
            client, Pod, "mq-server-0", namespace, lambda seen: seen.spec["containers"][0]["image"] == "theirs:1"
        )
        # Its pod serves again, and what was set is still listed.
        listed = await eventually(client, RabbitMq, "mq", namespace, lambda seen: is_ready(seen) and _theirs(seen))
        assert {entry.manager for entry in listed.status.overridden} == {"hand"}
        assert await client.list(Job, namespace) == []


def _theirs(seen: RabbitMq) -> bool:
    return any(entry.field.endswith(".image") for entry in seen.status.overridden)


def _input(resource: KeystoneAPI) -> str:
    return message(resource, "InputReady")


async def test_what_others_change_in_rights_and_budgets_is_seen(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await surroundings(client, namespace)
    await client.apply(KeystoneAPI, keystone(namespace, replicas=2), field_manager="user")
    changes: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("Role", "keystone-wait", {"rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]}),
        ("PodDisruptionBudget", "keystone", {"spec": {"maxUnavailable": 0}}),
        ("ServiceAccount", "keystone", {"automountServiceAccountToken": True}),
    )
    kinds_by_name = {kind.kind.name: kind for kind in release.KINDS}
    async with neighbours.schemas(client, namespace), cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        await until_ready(client, namespace)
        for kind, name, change in changes:
            await client.patch(kinds_by_name[kind], name, namespace, change)
        wanted = {f"{kind}/{name}" for kind, name, _ in changes}

        def all_seen(resource: KeystoneAPI) -> bool:
            return {entry.resource for entry in resource.status.overridden} >= wanted

        await eventually(client, KeystoneAPI, "keystone", namespace, all_seen)
        # What is nobody's is made whole again.
        await client.patch(RoleBinding, "keystone-wait", namespace, {"subjects": []})
        await eventually(client, RoleBinding, "keystone-wait", namespace, lambda seen: seen.subjects)


async def test_the_login_to_a_broker_goes_when_no_bus_is_named_any_more(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await surroundings(client, namespace)
    bus = "keystone-notifications"
    await client.apply(KeystoneAPI, keystone(namespace, notificationsBus={"cluster": "mq"}), field_manager="user")
    async with neighbours.schemas(client, namespace), cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        made = await eventually(client, TransportURL, bus, namespace, lambda _: True)
        url = {"transport_url": "rabbit://keystone:hidden@mq.example:5672/?ssl=0", "quorumqueues": "true"}
        await client.create(Secret, {"metadata": {"name": "the-url", "namespace": namespace}, "stringData": url})
        await neighbours.tell(client, made, {"secretName": "the-url"})
        ready = await until_ready(client, namespace)
        assert ready.status.transportURLSecret == "the-url"
        assert "mq.example:5672" in (await decoded(client, "keystone-config-data", namespace))["01-keystone.conf"]
        await client.apply(KeystoneAPI, keystone(namespace), field_manager="user")
        await gone(client, TransportURL, bus, namespace)
        assert (await until_ready(client, namespace)).status.transportURLSecret == ""
        place = client, "keystone-config-data", namespace
        await configured(*place, lambda content: "mq.example:5672" not in content["01-keystone.conf"])


async def test_an_account_stays_while_a_job_may_use_it(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await surroundings(client, namespace)
    await client.apply(KeystoneAPI, keystone(namespace), field_manager="user")
    names = {"name": "keystone", "instance": "keystone", "component": "trust-flush"}
    labels = {f"app.kubernetes.io/{name}": value for name, value in names.items()}
    flush = {
        "metadata": {"name": "flush", "namespace": namespace, "labels": labels},
        "spec": {"restartPolicy": "Always", "containers": [{"name": "flush", "image": "keystone:1"}]},
    }
    async with neighbours.schemas(client, namespace), cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        await until_ready(client, namespace)
        await client.apply(Pod, flush, field_manager="user")
        await eventually(client, Pod, "flush", namespace, lambda pod: pod.status.get("phase") == "Running")
        await client.apply(KeystoneAPI, keystone(namespace, databaseAccount="keystone-2"), field_manager="user")
        await eventually(client, MariaDBAccount, "keystone-2", namespace, lambda account: account.status.currentSecret)
        await until_ready(client, namespace)
        # Whatever wakes it, the account is not even told to go.
        await passwords(client, namespace, AdminPassword="wonderland", Other="x")
        await until_ready(client, namespace)
        assert (await client.get(MariaDBAccount, "keystone", namespace)).spec.deletionPolicy != "Delete"
        await client.delete(Pod, "flush", namespace, grace=0)
        await gone(client, MariaDBAccount, "keystone", namespace)


async def test_a_job_that_failed_of_the_configuration_is_tried_again_with_another_one(
    client: Client, namespace: str, kubernetes: dict[str, Path]
) -> None:
    await surroundings(client, namespace)
    await client.apply(KeystoneAPI, keystone(namespace), field_manager="user")
    async with (
        neighbours.schemas(client, namespace),
        cloud(client, namespace, (SERVICE,), environment(kubernetes)) as play,
    ):
        play.perform(Script((Behaviour(Selector(kind="Job"), fault=ImageMissing()),)))
        jobs = await some(client, Job, namespace, lambda jobs: any("db-sync" in job.metadata.name for job in jobs))
        name = next(job.metadata.name for job in jobs if "db-sync" in job.metadata.name)
        await client.patch(Job, name, namespace, {"spec": {"activeDeadlineSeconds": 1}})
        await eventually(client, KeystoneAPI, "keystone", namespace, lambda seen: _reason(seen) == "DeadlineExceeded")
        play.perform(Script())
        fixed = keystone(namespace, customServiceConfig="[database]\nmax_retries = 2\n")
        await client.apply(KeystoneAPI, fixed, field_manager="user")
        await until_ready(client, namespace)


def _reason(resource: KeystoneAPI) -> str:
    found: dict[str, Any] = {entry.type: entry.reason for entry in resource.status.conditions}
    return str(found.get("DBSyncReady", ""))


@pytest.mark.parametrize("way", ["uninstalled", "taken-over"])
async def test_a_release_goes_on_when_what_another_one_held_is_gone(
    client: Client, namespace: str, kubernetes: dict[str, Path], way: str
) -> None:
    """These are the ways that the sentence names; the second is for the same service under another name."""
    metadata = {
        "name": "memcached",
        "namespace": namespace,
        "annotations": {"meta.helm.sh/release-name": "other", "meta.helm.sh/release-namespace": namespace},
    }
    spec = {"clusterIP": "None", "selector": {"app": "cache"}, "ports": [{"name": "memcached", "port": 1}]}
    await client.apply(Service, {"metadata": metadata, "spec": spec}, field_manager="helm")
    await client.apply(Memcached, cache(namespace), field_manager="user")
    async with cloud(client, namespace, (MEMCACHED,), environment(kubernetes)):
        await eventually(client, Memcached, "memcached", namespace, _is_contested)
        if way == "uninstalled":
            await client.delete(Service, "memcached", namespace)
        else:
            owner: JsonObject = {"metadata": {"annotations": {RELEASE_OWNER: "operator"}}}
            await client.patch(Memcached, "memcached", namespace, owner)
        await eventually(client, Memcached, "memcached", namespace, is_ready)
    service = await client.get(Service, "memcached", namespace)
    assert service.metadata.annotations["meta.helm.sh/release-name"] == "memcached"


def _is_contested(resource: Memcached) -> bool:
    return any("other Helm releases hold" in entry.message for entry in resource.status.conditions)

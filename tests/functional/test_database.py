"""MariaDBDatabase and MariaDBAccount on a real API server, with a MariaDB in memory behind them."""

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from stackwright.adapters.mariadb import Schema
from stackwright.adapters.mariadb_grants import ALL, ALL_IN_SCHEMA, Grant, needed_in
from stackwright.adapters.mariadb_passwords import digest
from stackwright.api.annotations import CONFIGURED_WITH
from stackwright.api.mariadb import MariaDBAccount, MariaDBDatabase
from stackwright.controllers.database import controllers
from stackwright.controllers.dialling import Dialler
from stackwright.kube import conditions
from stackwright.kube.builtin import ConfigMap, Namespace, Secret
from stackwright.kube.client import Client
from stackwright.kube.errors import Invalid
from stackwright.kube.resource import JsonObject
from stackwright.kube.runtime import Runtime
from stackwright.kube.shapes.belonging import MADE_FOR
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.mariadb.kinds import Galera
from stackwright.services.mariadb.root_password import ROUNDS
from stackwright.services.nova.kinds.nova import Nova
from tests.fakes.mariadb import FakeMariaDB, User
from tests.functional.cloud import Cloud
from tests.functional.running import running
from tests.functional.watching import eventually, until

LOGIN = {"username": "root", "password": "root-password"}


@pytest.fixture
def fake() -> FakeMariaDB:
    return FakeMariaDB(password="root-password")


@pytest.fixture
async def operator(client: Client, namespace: str, kinds: None, fake: FakeMariaDB) -> AsyncIterator[None]:
    """The controllers, which look at the server again often enough for a test."""
    made = controllers(Dialler(client, inside=True), fake.connect, every=0.5)
    async with running(Runtime(client, made, namespace=namespace)):
        yield


class Database(Cloud):
    """What a user writes, in one namespace."""

    @property
    def usual(self) -> str:
        """The name of schema and account."""
        return "keystone"

    async def galera(self, *, bootstrapped: bool = True, **spec: Any) -> None:
        await self.put(Galera, "openstack", spec=spec or {"storageClass": "local", "storageRequest": "1G"})
        if bootstrapped:
            await self.bootstrapped()

    async def bootstrapped(self) -> None:
        """Do what the Galera's own operator does once it accepts clients."""
        body = {"metadata": {"name": "openstack", "namespace": self.namespace}, "status": {"bootstrapped": True}}
        await self.client.apply(Galera, body, subresource="status", field_manager="galera")

    async def root(self) -> None:
        await self.secret("openstack-mariadb-root", DatabasePassword="root-password")

    async def node_knows(self, password: str) -> None:
        """Do what the program beside a node does once root has a password there."""
        salt = "a1b2c3d4"
        record = {"life": salt, "root": hashlib.pbkdf2_hmac("sha256", password.encode(), salt.encode(), ROUNDS).hex()}
        node = "openstack-galera-0"
        await self.put(ConfigMap, "openstack-galera-state", data={"active": node, node: json.dumps(record)})

    async def database(self, **spec: Any) -> None:
        await self.put(MariaDBDatabase, "keystone", {"dbName": "openstack"}, spec={"name": "keystone", **spec})

    async def account(self, name: str = "keystone", **spec: Any) -> None:
        said = {"userName": "keystone", "secret": "keystone-db-secret", **spec}
        await self.put(MariaDBAccount, name, {"mariaDBDatabaseName": "keystone"}, spec=said)

    async def password(self, password: str = "first-password") -> None:  # noqa: S107  test data
        await self.secret("keystone-db-secret", DatabasePassword=password)

    async def made_for(self, maker: str | None) -> None:
        """Say for which resource the account was made."""
        body = {"metadata": {"annotations": {MADE_FOR: maker}}}
        await self.client.patch(MariaDBAccount, "keystone", self.namespace, body)

    async def whole(self, **account: Any) -> None:
        """Write all of it, and wait until all of it is there."""
        for write in (self.root, self.galera, self.database, self.password):
            await write()
        await self.account(**account)
        await self.ready(MariaDBAccount)

    async def gone(self, kind: type[Any], name: str = "keystone") -> None:
        await self.client.delete(kind, name, self.namespace)
        await until(lambda: self.client.find(kind, name, self.namespace), is_none)


@pytest.fixture
def cloud(client: Client, namespace: str) -> Database:
    return Database(client, namespace)


def is_none(found: object) -> bool:
    return found is None


@pytest.mark.usefixtures("operator")
@pytest.mark.parametrize("backwards", [False, True], ids=["server-first", "account-first"])
async def test_any_order_of_creation_comes_to_the_same(cloud: Database, fake: FakeMariaDB, backwards: bool) -> None:
    writes = [cloud.root, cloud.galera, cloud.database, cloud.password, cloud.account]
    for write in reversed(writes) if backwards else writes:
        await write()
    account = await cloud.ready(MariaDBAccount)
    database = await cloud.ready(MariaDBDatabase)

    assert fake.schemas == {"keystone": Schema("keystone", "utf8mb3", "utf8mb3_general_ci")}
    assert fake.users["keystone"].digest == digest("first-password")
    assert list(fake.users["keystone"].grants.values()) == [needed_in("keystone")]
    assert database.status.completed
    assert (account.status.currentSecret, account.status.server) == ("keystone-db-secret", "openstack")
    assert fake.calls == ["create schema keystone", "create user keystone", "grant keystone keystone"]


@pytest.mark.usefixtures("operator")
async def test_each_missing_part_is_named_and_its_coming_heals(cloud: Database) -> None:
    await cloud.account()
    await cloud.says(MariaDBAccount, "MariaDBServerReady", "MariaDBDatabase keystone does not exist; create it")
    await cloud.database()
    await cloud.says(MariaDBDatabase, "MariaDBServerReady", "Galera openstack does not exist; create it")
    await cloud.galera(bootstrapped=False)
    await cloud.says(MariaDBDatabase, "MariaDBServerReady", "Galera openstack does not accept clients yet")
    await cloud.bootstrapped()
    await cloud.says(MariaDBDatabase, "MariaDBServerReady", "Secret openstack-mariadb-root does not exist")
    await cloud.root()
    await cloud.ready(MariaDBDatabase)
    await cloud.says(MariaDBAccount, "MariaDBAccountReady", "Secret keystone-db-secret does not exist; create it with")
    await cloud.secret("keystone-db-secret", Password="x")
    await cloud.says(MariaDBAccount, "MariaDBAccountReady", "has no value under the key DatabasePassword; add it")
    await cloud.password()
    await cloud.ready(MariaDBAccount)


@pytest.mark.usefixtures("operator")
async def test_what_somebody_changed_on_the_server_is_repaired(cloud: Database, fake: FakeMariaDB) -> None:
    await cloud.whole()
    user = fake.users["keystone"]

    user.grants.clear()
    await until(lambda: user.grants == {"keystone.*": needed_in("keystone")})
    user.grants["*.*"] = Grant("*.*", frozenset({ALL}), grantable=True)
    await until(lambda: "*.*" not in user.grants)
    # What former versions gave: the rest of it goes, and what is needed is there all the time.
    fake.calls.clear()
    user.grants["keystone.*"] = Grant("keystone.*", ALL_IN_SCHEMA)
    await until(lambda: user.grants == {"keystone.*": needed_in("keystone")})
    assert fake.calls == ["revoke keystone keystone.*"]
    user.digest = digest("somebody else's")
    await until(lambda: user.digest == digest("first-password"))
    fake.schemas["keystone"] = Schema("keystone", "latin1", "latin1_swedish_ci")
    await until(lambda: fake.schemas["keystone"].character_set == "utf8mb3")
    del fake.users["keystone"]
    await until(lambda: "keystone" in fake.users and fake.users["keystone"].grants)


@pytest.mark.usefixtures("kinds")
async def test_a_changed_secret_changes_the_password_without_a_poll(
    client: Client, namespace: str, cloud: Database, fake: FakeMariaDB
) -> None:
    made = controllers(Dialler(client, inside=True), fake.connect, every=3600.0)
    async with running(Runtime(client, made, namespace=namespace)):
        await cloud.whole()
        await cloud.password("second-password")
        await until(lambda: fake.users["keystone"].digest == digest("second-password"))
        assert fake.calls.count("create user keystone") == 1


def keystone(namespace: str, **spec: Any) -> JsonObject:
    said = {"secret": "osp-secret", "databaseInstance": "openstack", "databaseAccount": "keystone", **spec}
    said["memcachedInstance"] = "memcached"
    return {"metadata": {"name": "keystone", "namespace": namespace}, "spec": said}


async def work_with(cloud: Database, version: str) -> None:
    """Write what a service writes when all that logs in works with this version of the Secret."""
    body = {"metadata": {"annotations": {CONFIGURED_WITH: version}}}
    await cloud.client.patch(MariaDBAccount, "keystone", cloud.namespace, body)


@pytest.mark.usefixtures("operator")
async def test_a_former_password_is_valid_until_the_service_works_with_the_new_one(
    client: Client, namespace: str, cloud: Database, fake: FakeMariaDB
) -> None:
    await cloud.whole()
    await client.apply(KeystoneAPI, keystone(namespace), field_manager="user")
    before = (await client.get(Secret, "keystone-db-secret", namespace)).metadata.resourceVersion
    await cloud.password("second-password")
    user = fake.users["keystone"]
    await until(lambda: (user.digest, user.former) == (digest("second-password"), digest("first-password")))
    told = await eventually(client, MariaDBAccount, "keystone", namespace, lambda seen: seen.status.formerPasswordUsers)
    assert told.status.formerPasswordUsers == ("KeystoneAPI/keystone",)
    said = conditions.find(told.status.conditions, "MariaDBAccountReady")
    assert said is not None
    assert (said.status, said.reason) == ("True", "FormerPasswordValid")
    sentence = (
        "until KeystoneAPI keystone is Ready and all its pods, and what reads from it, work with the one in Secret"
    )
    assert f"{sentence} keystone-db-secret or with another account; do not change" in said.message
    assert "first-password" not in str(told)
    assert digest("first-password") not in str(told)

    # What says that it works with the Secret of before says nothing of this one.
    await work_with(cloud, before)
    await cloud.password("third-password")
    await until(lambda: (user.digest, user.former) == (digest("third-password"), digest("first-password")))

    await work_with(cloud, (await client.get(Secret, "keystone-db-secret", namespace)).metadata.resourceVersion)
    await until(lambda: (user.digest, user.former) == (digest("third-password"), ""))
    told = await eventually(
        client, MariaDBAccount, "keystone", namespace, lambda seen: not seen.status.formerPasswordUsers
    )
    said = conditions.find(told.status.conditions, "MariaDBAccountReady")
    assert said is not None
    assert said.reason == "Ready"
    assert "former" not in said.message


@pytest.mark.usefixtures("operator")
@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"databaseAccount": "another"}, id="it-names-another-account-than-a-users"),
        pytest.param({"provisioning": "Job", MADE_FOR: "KeystoneAPI/keystone"}, id="it-asks-for-jobs"),
        pytest.param({"databaseAccount": "another", MADE_FOR: "KeystoneAPI/other"}, id="it-was-made-for-another"),
    ],
)
async def test_nobody_is_waited_for_who_does_not_use_the_account(
    client: Client, namespace: str, cloud: Database, fake: FakeMariaDB, spec: JsonObject
) -> None:
    await cloud.whole()
    await cloud.made_for(spec.get(MADE_FOR))
    spec = {key: value for key, value in spec.items() if key != MADE_FOR}
    await client.apply(KeystoneAPI, keystone(namespace, **spec), field_manager="user")
    await cloud.password("second-password")
    user = fake.users["keystone"]
    await until(lambda: (user.digest, user.former) == (digest("second-password"), ""))


@pytest.mark.usefixtures("operator")
async def test_a_service_that_names_another_account_by_now_may_still_use_the_one_before(
    client: Client, namespace: str, cloud: Database, fake: FakeMariaDB
) -> None:
    await cloud.whole()
    await cloud.made_for("KeystoneAPI/keystone")
    await client.apply(KeystoneAPI, keystone(namespace), field_manager="user")
    await cloud.password("second-password")
    user = fake.users["keystone"]
    await until(lambda: (user.digest, user.former) == (digest("second-password"), digest("first-password")))

    await client.apply(KeystoneAPI, keystone(namespace, databaseAccount="another"), field_manager="user")
    # Changed once more, so that a pass sees both: all pods had the first one.
    await cloud.password("third-password")
    await until(lambda: user.digest == digest("third-password"))
    assert user.former == digest("first-password")


@pytest.mark.usefixtures("operator")
async def test_a_cell_that_is_removed_keeps_the_former_password(
    client: Client, namespace: str, cloud: Database, fake: FakeMariaDB
) -> None:
    await cloud.whole()
    # It has no cell1 any more, for which the account was made, and still waits for servers there.
    await cloud.made_for("Nova/nova")
    spec = {"secret": "osp-secret", "cellTemplates": {"cell0": {"cellDatabaseAccount": "nova-cell0"}}}
    metadata = {"name": "nova", "namespace": namespace}
    await client.apply(Nova, {"metadata": metadata, "spec": spec}, field_manager="user")
    await cloud.password("second-password")
    user = fake.users["keystone"]
    await until(lambda: (user.digest, user.former) == (digest("second-password"), digest("first-password")))
    told = await eventually(client, MariaDBAccount, "keystone", namespace, lambda seen: seen.status.formerPasswordUsers)
    assert told.status.formerPasswordUsers == ("Nova/nova",)


@pytest.mark.usefixtures("operator")
async def test_a_former_password_goes_with_the_service_that_used_it(
    client: Client, namespace: str, cloud: Database, fake: FakeMariaDB
) -> None:
    await cloud.whole()
    await client.apply(KeystoneAPI, keystone(namespace), field_manager="user")
    await cloud.password("second-password")
    user = fake.users["keystone"]
    await until(lambda: user.former == digest("first-password"))
    await client.delete(KeystoneAPI, "keystone", namespace)
    await until(lambda: user.former == "")
    assert user.digest == digest("second-password")


@pytest.mark.usefixtures("operator")
async def test_deleting_keeps_schema_and_user_and_needs_nobody(
    client: Client, namespace: str, cloud: Database, fake: FakeMariaDB
) -> None:
    await cloud.whole()
    for kind in (MariaDBDatabase, MariaDBAccount):
        assert (await client.get(kind, "keystone", namespace)).metadata.finalizers == ()
        await cloud.gone(kind)
    assert list(fake.schemas) == ["keystone"]
    assert "keystone" in fake.users


@pytest.mark.usefixtures("operator")
async def test_deleting_drops_the_user_where_the_resource_says_so(cloud: Database, fake: FakeMariaDB) -> None:
    await cloud.whole(deletionPolicy="Delete")
    # The schema's resource goes first: where the user is, the account still knows.
    await cloud.gone(MariaDBDatabase)
    await cloud.gone(MariaDBAccount)
    assert list(fake.schemas) == ["keystone"]
    assert fake.users == {}

    await cloud.database()
    await cloud.account()
    await cloud.ready(MariaDBAccount)
    assert "keystone" in fake.users


@pytest.mark.usefixtures("operator")
async def test_a_schema_goes_where_the_resource_says_so(cloud: Database, fake: FakeMariaDB) -> None:
    await cloud.whole()
    await cloud.database(deletionPolicy="Delete")
    await eventually(cloud.client, MariaDBDatabase, "keystone", cloud.namespace, lambda seen: seen.metadata.finalizers)
    await cloud.gone(MariaDBDatabase)
    assert fake.schemas == {}


@pytest.mark.usefixtures("operator")
async def test_a_server_that_is_down_holds_a_deletion_and_one_that_is_gone_does_not(
    client: Client, namespace: str, cloud: Database, fake: FakeMariaDB
) -> None:
    await cloud.whole(deletionPolicy="Delete")
    fake.down = True
    await client.delete(MariaDBAccount, "keystone", namespace)
    await cloud.says(MariaDBAccount, "MariaDBServerReady", "does not answer")
    await client.delete(Galera, "openstack", namespace)
    await until(lambda: client.find(MariaDBAccount, "keystone", namespace), is_none)
    assert "keystone" in fake.users


@pytest.mark.usefixtures("operator")
async def test_a_namespace_with_databases_in_it_ends(
    client: Client, namespace: str, cloud: Database, fake: FakeMariaDB
) -> None:
    await cloud.whole(deletionPolicy="Delete")
    await cloud.database(deletionPolicy="Delete")
    fake.down = True
    await client.delete(Namespace, namespace)
    await until(lambda: client.find(MariaDBAccount, "keystone", namespace), is_none)
    await until(lambda: client.find(MariaDBDatabase, "keystone", namespace), is_none)


@pytest.mark.usefixtures("operator")
async def test_a_server_that_was_down_is_worked_on_when_it_is_back(cloud: Database, fake: FakeMariaDB) -> None:
    fake.down = True
    for write in (cloud.root, cloud.galera, cloud.database):
        await write()
    await cloud.says(MariaDBDatabase, "MariaDBServerReady", "openstack")
    fake.down = False
    await cloud.ready(MariaDBDatabase)


@pytest.mark.usefixtures("operator")
async def test_a_wrong_root_password_says_where_it_is_from(cloud: Database) -> None:
    await cloud.secret("openstack-mariadb-root", DatabasePassword="not-the-password")
    await cloud.galera()
    await cloud.database()
    seen = await cloud.says(
        MariaDBDatabase, "MariaDBServerReady", "Secret openstack-mariadb-root, key DatabasePassword"
    )
    assert "not-the-password" not in str(seen)
    await cloud.root()
    await cloud.ready(MariaDBDatabase)


@pytest.mark.usefixtures("operator")
async def test_a_new_root_password_is_waited_for_until_the_server_has_it(cloud: Database, fake: FakeMariaDB) -> None:
    await cloud.whole()
    await cloud.node_knows("root-password")
    await cloud.secret("openstack-mariadb-root", DatabasePassword="another")
    waiting = await cloud.says(MariaDBAccount, "MariaDBServerReady", "has not taken root's new password")
    said = conditions.find(waiting.status.conditions, "MariaDBServerReady")
    assert said is not None
    assert said.severity == "Info"
    fake.password = "another"
    await cloud.node_knows("another")
    await cloud.ready(MariaDBAccount)


@pytest.mark.usefixtures("operator")
async def test_a_server_outside_is_used_by_its_own_account(cloud: Database, fake: FakeMariaDB) -> None:
    await cloud.put(
        Secret,
        "outside",
        data={
            "username": base64.b64encode(b"root").decode(),
            "password": base64.b64encode(b"root-password").decode(),
        },
    )
    external = {"hostname": "db.example", "port": 3307, "secret": "outside"}
    await cloud.galera(bootstrapped=False, external=external)
    await cloud.database()
    await cloud.ready(MariaDBDatabase)
    assert list(fake.schemas) == ["keystone"]


@pytest.mark.usefixtures("operator")
@pytest.mark.parametrize(
    ("spec", "words"),
    [
        pytest.param({"accountType": "System"}, "System is not supported yet", id="a-system-account"),
        pytest.param({"userName": "root"}, "root is the server's own", id="the-servers-own-user"),
        pytest.param({"userName": "root "}, "is the server's own", id="the-servers-own-user-with-a-blank"),
    ],
)
async def test_what_must_not_be_touched_is_refused(
    cloud: Database, fake: FakeMariaDB, spec: JsonObject, words: str
) -> None:
    fake.users["root"] = User(digest("root-password"))
    for write in (cloud.root, cloud.galera, cloud.database, cloud.password):
        await write()
    await cloud.account(deletionPolicy="Delete", **spec)
    await cloud.says(MariaDBAccount, "MariaDBAccountReady", words)
    await cloud.gone(MariaDBAccount)
    assert list(fake.users) == ["root"]


@pytest.mark.usefixtures("operator")
async def test_the_servers_own_schemas_stay_and_nobody_gets_rights_there(cloud: Database, fake: FakeMariaDB) -> None:
    fake.schemas["mysql"] = Schema("mysql", "utf8mb4", "utf8mb4_general_ci")
    # As a former version left it.
    fake.users["keystone"] = User(digest("first-password"), {"mysql.*": Grant("mysql.*", ALL_IN_SCHEMA)})
    for write in (cloud.root, cloud.galera):
        await write()
    await cloud.database(name="mysql", deletionPolicy="Delete")
    await cloud.account()
    # Nothing is looked up before there is a password. What a hand writes into an operator's status is undone, so this
    # is written under the operator's own name, and when it writes nothing itself.
    await cloud.says(MariaDBAccount, "", "keystone-db-secret")
    status = {"metadata": {"name": "keystone", "namespace": cloud.namespace}, "status": {"server": "openstack"}}
    written = None
    # A pass that began before may still write its own over it.
    while written is None or not written.status.server:
        await cloud.client.apply(MariaDBAccount, status, subresource="status", field_manager="stackwright")
        await asyncio.sleep(1)
        written = await cloud.client.get(MariaDBAccount, "keystone", cloud.namespace)
    await cloud.password()

    await cloud.says(MariaDBDatabase, "MariaDBDatabaseReady", "mysql is a schema of the server itself")
    await cloud.says(MariaDBAccount, "MariaDBDatabaseReady", "mysql is a schema of the server itself")
    assert fake.users["keystone"].grants == {}
    await cloud.gone(MariaDBAccount)
    await cloud.gone(MariaDBDatabase)
    assert list(fake.schemas) == ["mysql"]
    assert fake.calls == ["revoke keystone mysql.*"]


@pytest.mark.usefixtures("operator")
async def test_two_accounts_do_not_fight_over_one_user(cloud: Database, fake: FakeMariaDB) -> None:
    await cloud.whole()
    await cloud.secret("other", DatabasePassword="other-password")
    await cloud.account("zweiter", secret="other")
    await cloud.says(MariaDBAccount, "MariaDBAccountReady", "belongs to MariaDBAccount keystone;", "zweiter")
    await cloud.gone(MariaDBAccount, "zweiter")
    assert fake.users["keystone"].digest == digest("first-password")


@pytest.mark.usefixtures("operator")
async def test_an_unknown_character_set_is_refused_by_name(cloud: Database) -> None:
    for write in (cloud.root, cloud.galera):
        await write()
    await cloud.database(defaultCharacterSet="klingon", defaultCollation="klingon_general_ci")
    await cloud.says(MariaDBDatabase, "MariaDBDatabaseReady", "klingon")


@pytest.mark.usefixtures("kinds")
@pytest.mark.parametrize(
    ("spec", "words"),
    [
        pytest.param({}, "storageClass and storageRequest are needed", id="no-storage"),
        pytest.param({"rootDatabaseAccount": "root"}, "rootDatabaseAccount is not supported yet", id="root-account"),
    ],
)
async def test_a_galera_that_asks_for_too_much_or_too_little_is_refused(
    cloud: Database, spec: JsonObject, words: str
) -> None:
    storage = {"storageClass": "local", "storageRequest": "1G"} if spec else {}
    with pytest.raises(Invalid, match=words):
        await cloud.put(Galera, "openstack", spec={**storage, **spec})


@pytest.mark.usefixtures("operator")
async def test_a_second_way_to_a_server_gets_nothing_of_what_is_on_it(cloud: Database, fake: FakeMariaDB) -> None:
    await cloud.whole(deletionPolicy="Delete")
    before = dict(fake.users)
    # No name tells that this is the same server.
    alias = {"external": {"hostname": "192.0.2.7", "secret": "alias-root"}}
    root = {key: base64.b64encode(text.encode()).decode() for key, text in LOGIN.items()}
    await cloud.put(Secret, "alias-root", data=root)
    await cloud.put(Galera, "alias", spec=alias)
    await cloud.secret("evil-secret", DatabasePassword="evil-password")
    spec = {"name": "keystone", "deletionPolicy": "Delete"}
    await cloud.put(MariaDBDatabase, "second", {"dbName": "alias"}, spec=spec)
    sentence = f"on this server belongs to MariaDBDatabase keystone in namespace {cloud.namespace}"
    await cloud.says(MariaDBDatabase, "MariaDBDatabaseReady", sentence, "second")
    await cloud.gone(MariaDBDatabase, "second")
    await cloud.put(MariaDBDatabase, "evil", {"dbName": "alias"}, spec={"name": "evil"})
    said = {"userName": "keystone", "secret": "evil-secret", "deletionPolicy": "Delete"}
    await cloud.put(MariaDBAccount, "evil", {"mariaDBDatabaseName": "evil"}, spec=said)
    await cloud.says(MariaDBAccount, "MariaDBAccountReady", "belongs to MariaDBAccount keystone in namespace", "evil")
    await cloud.gone(MariaDBAccount, "evil")
    assert "keystone" in fake.schemas
    assert fake.users["keystone"] == before["keystone"]
    assert not [call for call in fake.calls if call.startswith(("drop", "set password"))]


@pytest.mark.usefixtures("operator")
async def test_a_schema_that_was_lost_is_made_again_and_told_to_be_another(cloud: Database, fake: FakeMariaDB) -> None:
    await cloud.whole()
    first = await cloud.ready(MariaDBDatabase)
    assert first.status.hash["schema"] == "original"
    del fake.schemas["keystone"]

    def is_another(database: MariaDBDatabase) -> bool:
        return database.status.completed and database.status.hash["schema"] != "original"

    await eventually(cloud.client, MariaDBDatabase, "keystone", cloud.namespace, is_another)
    assert "keystone" in fake.schemas

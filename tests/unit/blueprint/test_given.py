"""What works alone: a broker by user and password, a login by a URL, a database by its account, no cache."""

from typing import Any

import pytest

from stackwright.api.base import ObjectMeta
from stackwright.api.mariadb import (
    DATABASE_LABEL,
    SERVER_LABEL,
    MariaDBAccount,
    MariaDBAccountSpec,
    MariaDBAccountStatus,
    MariaDBDatabase,
    MariaDBDatabaseSpec,
)
from stackwright.blueprint.needs import Account, Cache, Given, GivenLogin, Reported
from stackwright.blueprint.needs.given import GIVEN_BROKER_ALONE
from stackwright.kube.resource import Condition
from stackwright.services.placement.kinds import PlacementAPI, PlacementAPISpec, PlacementAPIStatus
from tests.unit.blueprint.resolving import secret
from tests.unit.blueprint.working_alone import given

BROKER = Given(name="messaging", of=GIVEN_BROKER_ALONE, secret="other", otherwise="secret")


def test_a_broker_is_given_by_host_user_and_password() -> None:
    content = {"hostname": "bus.example.org", "user": "no/va", "password": "h@p", "vhost": "cell1"}
    found = given(BROKER, secret("login", content))
    assert found.fact.transport_url == "rabbit://no%2Fva:h%40p@bus.example.org:5672/cell1"
    assert found.fact.quorum_queues


@pytest.mark.parametrize("key", ["quorumqueues", "quorum_queues"])
def test_a_broker_without_quorum_queues_says_so_by_either_spelling(key: str) -> None:
    found = given(BROKER, secret("login", {"transport_url": "rabbit://u:p@bus:5672/", key: "false"}))
    assert not found.fact.quorum_queues


def test_the_field_of_its_own_comes_before_the_common_one() -> None:
    there = (
        secret("login", {"transport_url": "rabbit://u:p@common:5672/"}),
        secret("own", {"transport_url": "rabbit://u:p@own:5672/"}),
    )
    assert "@own:" in given(BROKER, *there, other="own").fact.transport_url
    assert "@common:" in given(BROKER, *there).fact.transport_url


def test_half_a_login_is_told_by_what_it_lacks() -> None:
    found = given(BROKER, secret("login", {"hostname": "bus", "user": "nova"}))
    assert [wait.message for wait in found.waits] == ["Secret login has no value under the key password; add it"]


def test_a_login_follows_from_the_spec_and_one_key_of_the_secret() -> None:
    found = given(GivenLogin(), secret("login", {"ServicePassword": "hush"}))
    assert (found.fact.url, found.fact.public_url) == ("http://keystone:5000", "http://keystone:5000")
    assert (found.fact.user, found.fact.password, found.fact.region) == ("nova", "hush", "regionOne")
    assert not given(GivenLogin()).ready


ACCOUNT = Account(name="database", hostname="hostname", account="account", instead="databaseSecret")
MADE = MariaDBAccount(
    metadata=ObjectMeta(name="nova", labels={DATABASE_LABEL: "nova-cell1"}),
    spec=MariaDBAccountSpec(userName="nova_1", secret="nova-db-secret"),
    status=MariaDBAccountStatus(currentSecret="nova-db-secret"),
)
SCHEMA = MariaDBDatabase(
    metadata=ObjectMeta(name="nova-cell1", labels={SERVER_LABEL: "openstack"}),
    spec=MariaDBDatabaseSpec(name="nova_cell1"),
)


def test_a_database_is_given_by_its_account() -> None:
    found = given(ACCOUNT, MADE, SCHEMA, secret("nova-db-secret", {"DatabasePassword": "hush"}))
    assert (found.fact.hostname, found.fact.schema, found.fact.user) == ("db.example.org", "nova_cell1", "nova_1")
    assert found.fact.server == "openstack"


@pytest.mark.parametrize(
    ("there", "spec", "words"),
    [
        ((), {}, "MariaDBAccount nova does not exist; create it, or give the database as a Secret"),
        ((MADE, SCHEMA), {"hostname": ""}, "spec.hostname is empty"),
        ((MADE,), {}, "MariaDBAccount nova is not ready yet"),
        ((MADE, SCHEMA), {}, "Secret nova-db-secret does not exist"),
    ],
    ids=["no-account", "no-host", "no-schema", "no-secret"],
)
def test_what_a_database_by_account_waits_for_is_said(there: Any, spec: Any, words: str) -> None:
    found = given(ACCOUNT, *there, **spec)
    assert not found.ready
    assert words in found.waits[0].message


def test_a_cache_that_nobody_names_is_none() -> None:
    found = given(Cache(optional=True))
    assert found.ready
    assert found.fact is None


@pytest.mark.parametrize(("status", "known"), [("True", True), ("False", False)])
def test_what_another_resource_reports_is_a_fact(status: str, known: bool) -> None:
    need = Reported(name="synced", of=PlacementAPI, resource=lambda _: "placement", condition="DBSyncReady")
    reported = PlacementAPIStatus(conditions=(Condition(type="DBSyncReady", status=status, reason="", message=""),))
    spec = PlacementAPISpec(databaseInstance="openstack", secret="osp-secret")
    other = PlacementAPI(metadata=ObjectMeta(name="placement"), spec=spec, status=reported)
    assert given(need, other).fact is known
    assert given(need).fact is False

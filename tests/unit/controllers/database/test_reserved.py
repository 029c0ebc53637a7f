"""The server's own schemas and users are never made, changed, granted or dropped, whatever resources say."""

from typing import Any

import msgspec
import pytest

from stackwright.adapters.mariadb import Schema
from stackwright.adapters.mariadb_grants import ALL, ALL_IN_SCHEMA, NEEDED, Grant, needed_in
from stackwright.api.mariadb import MariaDBAccount, MariaDBDatabase
from stackwright.controllers.database import account, schema
from stackwright.controllers.database.server import Server
from stackwright.kube.errors import Blocked
from stackwright.kube.plan import Plan

SERVER = Server("openstack", "db.example", 3306, "admin", "root-password")
SPELLINGS = ["mysql", "MySQL", "sys", "SYS", "information_schema", "Performance_Schema"]


def a_database(name: str) -> MariaDBDatabase:
    body = {
        "metadata": {"name": "one", "namespace": "cloud", "labels": {"dbName": "openstack"}},
        "spec": {"name": name, "deletionPolicy": "Delete"},
        # As a former version left it.
        "status": {"completed": True},
    }
    return msgspec.convert(body, MariaDBDatabase)


def an_account(name: str, *, made: bool = True) -> MariaDBAccount:
    body: dict[str, Any] = {
        "metadata": {"name": "one", "namespace": "cloud", "labels": {"mariaDBDatabaseName": "one"}},
        "spec": {"userName": name, "secret": "s", "deletionPolicy": "Delete"},
        "status": {"server": "openstack"} if made else {},
    }
    return msgspec.convert(body, MariaDBAccount)


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_schema_of_the_server_itself_is_refused_and_stays(name: str) -> None:
    database, found = a_database(name), Schema(name, "utf8mb4", "utf8mb4_general_ci")
    seen = schema.Seen(SERVER, Schema(name, "utf8mb3", "utf8mb3_general_ci"), found)
    with pytest.raises(Blocked, match=r"spec\.name: .* is a schema of the server itself") as refused:
        schema.decide(database, seen)
    assert (refused.value.reason, refused.value.condition) == ("SchemaReserved", "MariaDBDatabaseReady")
    assert schema.remove(database, seen) == Plan()
    # Nobody looks at the server for it.
    assert not schema.tell(database, schema.Seen(None)).completed


def test_another_schema_is_dropped_with_its_resource() -> None:
    found = Schema("keystone", "utf8mb3", "utf8mb3_general_ci")
    plan = schema.remove(a_database("keystone"), schema.Seen(SERVER, found, found))
    assert [type(step) for step in plan.steps] == [schema.DropSchema]


@pytest.mark.parametrize(
    "name", ["root", "Root", "root ", "`root`", "mysql", "mariadb.sys", "PUBLIC", "admin", "ADMIN"]
)
def test_a_user_of_the_server_itself_is_refused_and_stays(name: str) -> None:
    seen = account.Seen(SERVER, schema="keystone", password="p", grants=())
    with pytest.raises(Blocked, match="is the server's own; create a MariaDBAccount with another userName"):
        account.decide(an_account(name), seen)
    assert account.remove(an_account(name), seen) == Plan()
    assert account.tell(an_account(name, made=False), seen).server == ""


@pytest.mark.parametrize("name", ["nova ", "no\tva"])
def test_a_user_that_the_server_would_call_otherwise_is_refused_and_nobody_else_goes(name: str) -> None:
    seen = account.Seen(SERVER, schema="keystone", password="p", grants=())
    with pytest.raises(Blocked, match="is not a name that MariaDB keeps unchanged"):
        account.decide(an_account(name), seen)
    assert account.remove(an_account(name), seen) == Plan()


@pytest.mark.parametrize("scope", ["*.*", "mysql.*", "mysql.proc", "PROXY 'root'@'%'"])
def test_an_administrator_that_somebody_else_made_is_not_taken_over(scope: str) -> None:
    seen = account.Seen(SERVER, schema="keystone", password="p", grants=(Grant(scope, frozenset({ALL})),))
    with pytest.raises(Blocked, match="was not created for this resource and has rights beyond schemas"):
        account.decide(an_account("dba", made=False), seen)
    assert account.remove(an_account("dba", made=False), seen) == Plan()
    # One that was made for it, and that somebody gave more, is brought back.
    plan = account.decide(an_account("dba"), seen)
    assert [type(step) for step in plan.steps] == [account.SetPassword, account.GrantSchema]


def test_a_user_of_others_that_has_another_password_is_not_taken_over() -> None:
    theirs, own = Grant("shop.*"), needed_in("keystone")
    seen = account.Seen(SERVER, schema="keystone", password="p", grants=(theirs,))
    with pytest.raises(
        Blocked, match="has rights in other schemas too, and its password is not the one in Secret s; put its"
    ):
        account.decide(an_account("shop", made=False), seen)
    assert account.remove(an_account("shop", made=False), seen) == Plan()
    assert account.tell(an_account("shop", made=False), seen).server == ""
    # Of a backup: the status is lost, and the password, or that it works nowhere else, tells whose it is.
    for grants, accepted in (((theirs, own), True), ((own,), False), ((), False)):
        back = account.Seen(SERVER, schema="keystone", password="p", grants=grants, accepted=accepted)
        assert account.decide(an_account("keystone", made=False), back).steps
    # What the status knows is ours, whatever somebody gave it.
    assert account.decide(an_account("shop"), seen).steps


def test_a_user_of_ours_is_dropped_with_its_resource() -> None:
    seen = account.Seen(SERVER, schema="keystone", password="p", grants=(needed_in("keystone"),))
    plan = account.remove(an_account("keystone"), seen)
    assert [type(step) for step in plan.steps] == [account.DropUser]


def test_rights_in_a_schema_of_the_server_itself_are_taken_away_and_none_are_given() -> None:
    given = Grant("mysql.*", ALL_IN_SCHEMA)
    plan = account.decide(an_account("one"), account.Seen(SERVER, schema="mysql", grants=(given,)))
    (step,) = plan.steps
    assert isinstance(step, account.Revoke)
    assert step.grant == given
    for grants in ((), None):
        with pytest.raises(Blocked, match="MariaDBDatabase one: mysql is a schema of the server itself"):
            account.decide(an_account("one"), account.Seen(SERVER, schema="mysql", password="p", grants=grants))


@pytest.mark.parametrize(
    ("grants", "steps"),
    [
        pytest.param((needed_in("a_b"),), [], id="just-what-is-needed"),
        pytest.param((), ["grant"], id="nothing-yet"),
        pytest.param((Grant("a_b.*", NEEDED - {"TRIGGER"}),), ["grant"], id="less-than-is-needed"),
        pytest.param((Grant("LIKE a_b.*"),), ["grant"], id="first-what-is-needed-then-the-rest-goes"),
        pytest.param(
            (Grant("a_b.*", ALL_IN_SCHEMA),),
            [Grant("a_b.*", ALL_IN_SCHEMA - NEEDED)],
            id="all-as-versions-of-before-gave-it",
        ),
        pytest.param(
            (Grant("a_b.*", NEEDED, grantable=True),),
            [Grant("a_b.*", frozenset(), grantable=True)],
            id="the-right-to-pass-it-on",
        ),
        pytest.param(
            (needed_in("a_b"), Grant("LIKE a_b.*"), Grant("PROXY 'root'@'%'")),
            [Grant("LIKE a_b.*"), Grant("PROXY 'root'@'%'")],
            id="what-reaches-others",
        ),
    ],
)
def test_an_account_gets_what_a_service_needs_and_no_more(grants: tuple[Grant, ...], steps: list[object]) -> None:
    seen = account.Seen(SERVER, schema="a_b", password="p", grants=grants, accepted=True)
    plan = account.decide(an_account("one"), seen)
    assert [step.grant if isinstance(step, account.Revoke) else "grant" for step in plan.steps] == steps

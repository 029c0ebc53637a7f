"""Two ways to one server: what a resource has marked there is no other's, however the others came to it."""

from typing import Any

import msgspec
import pytest

from stackwright.adapters.mariadb import Schema
from stackwright.adapters.mariadb_grants import needed_in
from stackwright.adapters.mariadb_marks import DROPPED, UNMARKED, Mark
from stackwright.api.mariadb import MariaDBAccount, MariaDBDatabase
from stackwright.controllers.database import account, schema
from stackwright.controllers.database.marks import FREE, Holding
from stackwright.controllers.database.server import Server
from stackwright.kube.errors import Blocked

SERVER = Server("alias", "db.example", 3306, "root", "root-password")
PLACEMENT = Schema("placement", "utf8mb3", "utf8mb3_general_ci")
OWNER = Mark("cloud/placement", made=True)
MINE = Mark("cloud/evil", made=True)


def a_database(**status: Any) -> MariaDBDatabase:
    body = {
        "metadata": {"name": "evil", "namespace": "cloud", "labels": {"dbName": "alias"}},
        "spec": {"name": "placement", "deletionPolicy": "Delete"},
        "status": status,
    }
    return msgspec.convert(body, MariaDBDatabase)


def an_account(**status: Any) -> MariaDBAccount:
    body = {
        "metadata": {"name": "evil", "namespace": "cloud", "labels": {"mariaDBDatabaseName": "evil"}},
        "spec": {"userName": "placement", "secret": "s", "deletionPolicy": "Delete"},
        "status": status,
    }
    return msgspec.convert(body, MariaDBAccount)


def a_schema(mark: Mark | None, *, found: Schema | None = PLACEMENT, gone: bool = False) -> schema.Seen:
    return schema.Seen(SERVER, PLACEMENT, found, holding=Holding(mark, gone=gone))


def a_user(mark: Mark | None, *, gone: bool = False) -> account.Seen:
    return account.Seen(
        SERVER, schema="placement", password="p", grants=(needed_in("placement"),), holding=Holding(mark, gone=gone)
    )


def test_a_schema_of_another_resource_is_refused_by_its_name_and_stays() -> None:
    database, seen = a_database(completed=True), a_schema(OWNER)
    with pytest.raises(Blocked, match="belongs to MariaDBDatabase placement in namespace cloud") as refused:
        schema.decide(database, seen)
    assert refused.value.reason == "BelongsToAnother"
    assert "DELETE FROM stackwright_ledger.owners WHERE sort = 'schema' AND name = 'placement'" in str(refused.value)
    assert not schema.remove(database, seen).steps
    assert not schema.tell(database, seen).completed


def test_a_user_of_another_resource_keeps_its_password_and_stays() -> None:
    seen = a_user(OWNER)
    with pytest.raises(Blocked, match="belongs to MariaDBAccount placement in namespace cloud"):
        account.decide(an_account(server="alias"), seen)
    assert not account.remove(an_account(server="alias"), seen).steps
    assert account.tell(an_account(), seen).server == ""


def test_what_a_version_without_marks_made_is_marked_and_goes_with_its_resource() -> None:
    [step] = schema.decide(a_database(completed=True), a_schema(UNMARKED)).steps
    assert isinstance(step, schema.MarkSchema)
    assert step.mark == MINE
    assert schema.remove(a_database(completed=True), a_schema(UNMARKED)).steps
    marking = account.decide(an_account(server="alias"), a_user(UNMARKED)).steps[0]
    assert isinstance(marking, account.MarkUser)
    assert marking.mark == MINE


def test_what_was_there_before_the_resource_is_used_and_never_dropped() -> None:
    [step] = schema.decide(a_database(), a_schema(UNMARKED)).steps
    assert isinstance(step, schema.MarkSchema)
    assert step.mark == Mark("cloud/evil", made=False)
    assert not schema.remove(a_database(completed=True), a_schema(step.mark)).steps


def test_what_a_resource_has_made_it_drops() -> None:
    assert [type(step) for step in schema.remove(a_database(completed=True), a_schema(MINE)).steps] == [
        schema.DropSchema
    ]
    assert [type(step) for step in account.remove(an_account(server="alias"), a_user(MINE)).steps] == [account.DropUser]


def test_what_belonged_to_one_that_is_gone_is_taken_over_and_not_dropped() -> None:
    [step] = schema.decide(a_database(), a_schema(OWNER, gone=True)).steps
    assert isinstance(step, schema.MarkSchema)
    assert step.mark == Mark("cloud/evil", made=False)


def test_without_a_table_for_marks_all_is_as_it_was() -> None:
    assert not schema.decide(a_database(completed=True), a_schema(None)).steps
    assert schema.remove(a_database(completed=True), a_schema(None)).steps
    [step] = schema.decide(a_database(), a_schema(None, found=None)).steps
    assert isinstance(step, schema.CreateSchema)
    assert step.owner == ""


@pytest.mark.parametrize(
    ("status", "mark", "again"),
    [
        pytest.param({}, UNMARKED, False, id="the-first"),
        pytest.param({"completed": True}, UNMARKED, True, id="the-server-lost-all"),
        pytest.param({"hash": {"schema": "original"}}, UNMARKED, True, id="it-could-not-be-made-at-once"),
        pytest.param({}, MINE, True, id="somebody-dropped-it"),
        pytest.param({}, DROPPED, True, id="its-resource-dropped-it"),
    ],
)
def test_a_schema_that_was_lost_is_known_to_be_another(status: Any, mark: Mark, again: bool) -> None:
    [step] = schema.decide(a_database(**status), a_schema(mark, found=None)).steps
    assert isinstance(step, schema.CreateSchema)
    assert step.again is again


def test_the_status_tells_which_schema_it_is() -> None:
    assert schema.tell(a_database(), a_schema(MINE)).hash == {"schema": "original"}
    second = schema.tell(a_database(), a_schema(Mark("cloud/evil", made=True, identity="1f2e")))
    assert second.hash == {"schema": "1f2e"}
    lost = schema.Seen(SERVER, PLACEMENT, None, holding=FREE)
    told = schema.tell(a_database(completed=True, hash={"schema": "1f2e"}), lost)
    assert (told.completed, told.hash) == (False, {"schema": "1f2e"})


def test_a_schema_of_which_nobody_can_say_who_made_it_stays() -> None:
    unread = schema.Seen(SERVER, PLACEMENT, PLACEMENT, holding=Holding(None, external=True))
    assert not schema.remove(a_database(completed=True), unread).steps
    had = a_database(completed=True, hash={"galera": "ours"})
    for mark in (UNMARKED, None):
        assert not schema.remove(had, a_schema(mark)).steps
    [step] = schema.decide(had, a_schema(UNMARKED)).steps
    assert isinstance(step, schema.MarkSchema)
    assert not step.mark.made

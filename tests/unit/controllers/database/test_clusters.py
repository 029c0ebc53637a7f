"""Two clusters with equal names on one external server: the Galera in a mark tells whose a thing is."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from stackwright.adapters.mariadb import Schema
from stackwright.adapters.mariadb_grants import needed_in
from stackwright.adapters.mariadb_marks import Mark
from stackwright.api.mariadb import MariaDBAccount, MariaDBDatabase
from stackwright.controllers.database import account, schema
from stackwright.controllers.database.marks import Holding
from stackwright.controllers.database.server import Server
from stackwright.kube.errors import Blocked

SERVER = Server("db", "db.example", 3306, "root", "root-password", uid="ours", external=True)
PLACEMENT = Schema("placement", "utf8mb3", "utf8mb3_general_ci")
OURS = Mark("cloud/placement", made=True, galera="ours")
THEIRS = replace(OURS, galera="theirs")
OF_BEFORE = replace(OURS, galera="")


def a_database(**status: Any) -> MariaDBDatabase:
    body = {
        "metadata": {"name": "placement", "namespace": "cloud", "labels": {"dbName": "db"}},
        "spec": {"name": "placement", "deletionPolicy": "Delete"},
        "status": status,
    }
    return msgspec.convert(body, MariaDBDatabase)


def an_account(**status: Any) -> MariaDBAccount:
    body = {
        "metadata": {"name": "placement", "namespace": "cloud", "labels": {"mariaDBDatabaseName": "placement"}},
        "spec": {"userName": "placement", "secret": "s", "deletionPolicy": "Delete"},
        "status": status,
    }
    return msgspec.convert(body, MariaDBAccount)


def holding(mark: Mark, *, external: bool = True, gone: bool = False) -> Holding:
    return Holding(mark, gone=gone, galera="ours", external=external)


def a_schema(mark: Mark, *, external: bool = True, gone: bool = False) -> schema.Seen:
    return schema.Seen(SERVER, PLACEMENT, PLACEMENT, holding=holding(mark, external=external, gone=gone))


def a_user(mark: Mark) -> account.Seen:
    grants = (needed_in("placement"),)
    return account.Seen(SERVER, schema="placement", password="p", grants=grants, accepted=True, holding=holding(mark))


def marked(seen: schema.Seen, **status: Any) -> Mark:
    [step] = schema.decide(a_database(**status), seen).steps
    assert isinstance(step, schema.MarkSchema)
    return step.mark


def test_a_schema_of_another_cluster_is_refused_and_stays() -> None:
    database, seen = a_database(completed=True), a_schema(THEIRS)
    with pytest.raises(Blocked, match="in another cluster"):
        schema.decide(database, seen)
    assert not schema.remove(database, seen).steps
    assert not schema.tell(database, seen).completed


def test_a_user_of_another_cluster_is_refused_and_stays() -> None:
    with pytest.raises(Blocked, match="in another cluster"):
        account.decide(an_account(server="db"), a_user(THEIRS))
    assert not account.remove(an_account(server="db"), a_user(THEIRS)).steps


def test_what_is_ours_stays_ours_when_its_resource_is_made_again() -> None:
    assert not schema.decide(a_database(), a_schema(OURS)).steps
    assert schema.remove(a_database(), a_schema(OURS)).steps


def test_a_galera_that_was_made_again_is_known_by_the_status() -> None:
    status = schema.tell(a_database(), a_schema(replace(OURS, galera="ours"))).hash
    assert status == {"schema": "original", "galera": "ours"}
    assert marked(a_schema(THEIRS), hash={"galera": "theirs"}) == OURS
    seen = a_user(THEIRS)
    assert account.tell(an_account(hash={"galera": "theirs"}), seen).hash == {"galera": "theirs"}
    [step] = account.decide(an_account(server="db", hash={"galera": "theirs"}), seen).steps
    assert isinstance(step, account.MarkUser)
    assert step.mark == OURS
    assert account.remove(an_account(server="db", hash={"galera": "theirs"}), seen).steps


def test_a_mark_of_before_gets_our_galera() -> None:
    assert marked(a_schema(OF_BEFORE), completed=True) == OURS


def test_on_a_server_that_we_deploy_the_name_is_enough() -> None:
    assert marked(a_schema(THEIRS, external=False)) == OURS
    assert schema.remove(a_database(), a_schema(THEIRS, external=False)).steps


@pytest.mark.parametrize(
    ("galera", "external", "taken_over"),
    [
        ("ours", True, True),
        ("theirs", True, False),
        ("", True, False),
        ("ours", False, True),
        ("theirs", False, False),
        ("", False, True),
    ],
)
def test_only_of_our_own_it_is_believed_that_they_are_gone(galera: str, external: bool, taken_over: bool) -> None:
    seen = a_schema(Mark("cloud/other", made=True, galera=galera), external=external, gone=True)
    if taken_over:
        assert marked(seen) == Mark("cloud/placement", made=False, galera="ours")
        return
    with pytest.raises(Blocked, match="belongs to MariaDBDatabase other"):
        schema.decide(a_database(), seen)


def test_a_mark_that_may_not_be_changed_is_left() -> None:
    assert not schema.decide(a_database(), a_schema(replace(OF_BEFORE, fixed=True))).steps

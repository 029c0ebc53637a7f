"""What a pass over an account asks the server: each account of a cloud has one every minute."""

import base64
from typing import Any

import msgspec
import pymysql
import pytest
import structlog

from stackwright.adapters import mariadb
from stackwright.adapters.mariadb_passwords import digest
from stackwright.api.mariadb import MariaDBAccount, MariaDBDatabase
from stackwright.controllers.database import account
from stackwright.controllers.database.server import World
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.looks import Interests
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.controller import Context
from stackwright.kube.informers import Informers
from stackwright.services.mariadb.kinds import Galera

NOBODY: Any = None
ELSEWHERE = {"hostname": "db.example", "port": 3306, "secret": "admin"}
WORDS = {"admin": {"username": "root", "password": "root-password"}, "nova-db-secret": {"DatabasePassword": "now"}}


def resource(kind: type[Any], name: str, labels: dict[str, str] | None = None, **said: Any) -> Any:
    metadata = {"name": name, "namespace": "openstack", "labels": labels or {}}
    return msgspec.convert({"metadata": metadata, **said}, kind)


ACCOUNT = resource(
    MariaDBAccount, "nova", {"mariaDBDatabaseName": "nova"}, spec={"userName": "nova", "secret": "nova-db-secret"}
)


def world() -> World:
    """Return a world in which nobody follows the kinds of services: who looks for them fails."""
    there = [
        ACCOUNT,
        resource(Galera, "openstack", spec={"external": ELSEWHERE}),
        resource(MariaDBDatabase, "nova", {"dbName": "openstack"}, spec={"name": "nova"}, status={"completed": True}),
    ]
    for name, words in WORDS.items():
        data = {key: base64.b64encode(text.encode()).decode() for key, text in words.items()}
        there.append(resource(Secret, name, data=data))
    informers = Informers(NOBODY)
    informers.of(ConfigMap)
    for item in there:
        informers.of(type(item)).store.put(item)
    context = Context(NOBODY, informers, NOBODY, "test", structlog.get_logger())
    return World(context, Dialler(NOBODY, inside=True), mariadb.connect, Interests())


class Answering:
    """A connection of PyMySQL to a server on which the user is as it should be."""

    def __init__(self) -> None:
        self.asked = ""

    def cursor(self) -> "Answering":
        return self

    def __enter__(self) -> "Answering":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""

    def close(self) -> None:
        """Nothing to close."""

    def execute(self, statement: str, _values: object = None) -> None:
        self.asked = statement

    def fetchall(self) -> list[tuple[object, ...]]:
        if "global_priv" in self.asked:
            return [(f'{{"plugin":"mysql_native_password","authentication_string":"{digest("now")}"}}',)]
        return []


async def test_a_pass_over_a_settled_account_opens_three_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def connect(**login: Any) -> Answering:
        opened.append(login["user"])
        return Answering()

    monkeypatch.setattr(pymysql, "connect", connect)
    seen = await account.observe(ACCOUNT, world())
    # The user with its passwords, whether it may log in, and whose it is.
    assert opened == ["root", "nova", "root"]
    assert (seen.accepted, seen.former, seen.behind) == (True, False, ())

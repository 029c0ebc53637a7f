"""The script by which a chart enters Keystone: its promises on the fake one, and what it does while there is none."""

import socket
import urllib.request
from collections.abc import Iterator
from dataclasses import replace

import pytest

from stackwright.adapters.identity import Credentials
from tests.contracts.identity import Where
from tests.contracts.identity_script import IdentityScriptContract, Script
from tests.fakes.running import fake

ADMIN = Credentials("admin", "a-good-password", "admin")


@pytest.fixture
def where() -> Iterator[Where]:
    with fake("tests.fakes.keystone", ADMIN.password) as running:
        yield Where(running.url, ADMIN)


class TestFakeKeystone(IdentityScriptContract):
    """The script keeps its promises."""


def lock(where: Where, method: str) -> None:
    urllib.request.urlopen(urllib.request.Request(f"{where.url}/locks/admin", method=method), timeout=10)  # noqa: S310  our own fake


def test_it_waits_until_the_administrator_is_let_in(where: Where) -> None:
    lock(where, "PUT")
    script = Script(where)
    with script.start() as process:
        assert process.stdout is not None
        assert "Trying again" in process.stdout.readline()
        lock(where, "DELETE")
        said = process.stdout.read().splitlines()
    assert (process.returncode, said[-1]) == (0, script.last)


def test_a_keystone_that_does_not_answer_is_told() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}"
        said = Script(Where(url, ADMIN), patience=0.5).run(code=1)
    assert said == [
        f"Trying again: {url} does not answer (ConnectionRefusedError)",
        said[0].removeprefix("Trying again: "),
    ]


@pytest.mark.parametrize("name", ["admin", "Admin", "Ådmin "])
def test_the_administrator_is_nobodys_user(where: Where, name: str) -> None:
    said = Script(where, name=name, type="image").run(code=1)
    assert said == [f"provision.identity.user.username: {name} is Keystone's administrator; choose another name"]
    # It has its password still.
    script = Script(where)
    assert script.run()[-1] == script.last


@pytest.mark.parametrize("of_type", ["identity", "Identity"])
def test_there_is_no_second_identity(where: Where, of_type: str) -> None:
    said = Script(where, type=of_type).run(code=1)
    assert said == [f"provision.identity.service.type: {of_type} is Keystone's own; choose another type"]


def test_the_version_may_stand_in_the_url(where: Where) -> None:
    script = Script(replace(where, url=f"{where.url}/v3/"))
    assert script.run()[-1] == script.last

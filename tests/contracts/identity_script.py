"""What the script of the Job identity-create promises, whichever Keystone it speaks with.

A ring makes a subclass and a fixture `where`. Everything but the project of all services is made under fresh names.
"""

import os
import secrets
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from stackwright.adapters.identity import Credentials, Endpoint, Keystone, Service
from tests.contracts.identity import Where, fresh

SCRIPT = Path(__file__).parents[2] / "charts" / "library" / "files" / "create_identity.py"
REGION = "regionOne"


@dataclass(frozen=True)
class Script:
    """The script with its variables, for one service."""

    where: Where
    name: str = field(default_factory=lambda: fresh("script"))
    password: str = field(default_factory=lambda: secrets.token_hex(12))
    public: str = "http://public.example:8778"
    description: str = "Counts"
    patience: float = 60.0
    type: str = ""

    def environment(self) -> dict[str, str]:
        admin = self.where.credentials
        return {
            "PATH": os.environ["PATH"],
            "PATIENCE": str(self.patience),
            "PAUSE": "0.1",
            "KEYSTONE_URL": self.where.url,
            "REGION": REGION,
            "ADMIN_USERNAME": admin.user,
            "ADMIN_PROJECT": admin.project,
            "ADMIN_PASSWORD": admin.password,
            "USER_NAME": self.name,
            "USER_PASSWORD": self.password,
            "SERVICE_NAME": self.name,
            "SERVICE_TYPE": self.type or self.name,
            "SERVICE_DESCRIPTION": self.description,
            "PUBLIC_URL": self.public,
            "INTERNAL_URL": "http://internal.example:8778",
        }

    def start(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, SCRIPT],
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, code: int = 0) -> list[str]:
        """Run it to its end; return the lines that it said, none of which has a password in it."""
        with self.start() as process:
            said, _ = process.communicate(timeout=120)
        assert process.returncode == code, said
        assert self.password not in said
        assert self.where.credentials.password not in said
        return said.splitlines()

    @property
    def last(self) -> str:
        return f"Service {self.name}, user {self.name} and both endpoints are there"


class IdentityScriptContract:
    """The promises, as tests."""

    @pytest.fixture
    def keystone(self, where: Where) -> Keystone:
        return Keystone(where.session())

    @pytest.fixture
    async def script(self, where: Where, keystone: Keystone) -> AsyncIterator[Script]:
        script = Script(where)
        yield script
        for service in await keystone.find_services(script.name, script.name):
            await keystone.delete_service(service.id)
        if user := await keystone.find_user(script.name):
            await keystone.delete_user(user.id)

    async def entry(self, keystone: Keystone, script: Script) -> tuple[Service, dict[tuple[str, str], str]]:
        """The one service of a script in the catalog, and its URLs."""
        (service,) = await keystone.find_services(script.name, script.name)
        found = [endpoint for endpoint in await keystone.endpoints() if endpoint.service_id == service.id]
        urls = {(endpoint.region, endpoint.interface): endpoint.url for endpoint in found}
        assert len(urls) == len(found), "an endpoint stands there twice"
        return service, urls

    async def test_all_is_made(self, keystone: Keystone, script: Script) -> None:
        assert script.run()[-1] == script.last
        service, urls = await self.entry(keystone, script)
        assert (service.description, service.enabled) == ("Counts", True)
        assert urls == {(REGION, "public"): script.public, (REGION, "internal"): "http://internal.example:8778"}
        project, user = await keystone.find_project("service"), await keystone.find_user(script.name)
        assert project is not None
        assert user is not None
        roles = {name for name, role in (await keystone.roles()).items() if (user.id, role) in await held(keystone)}
        assert roles == {"admin", "service"}
        assert await keystone.login(Credentials(script.name, script.password, "service")) is not None

    async def test_a_second_run_changes_nothing_and_tokens_stay_good(self, keystone: Keystone, script: Script) -> None:
        script.run()
        before = await self.entry(keystone, script)
        token = await keystone.login(Credentials(script.name, script.password, "service"))
        assert script.run() == [script.last]
        assert await self.entry(keystone, script) == before
        assert token is not None
        assert await keystone.is_good(token)

    async def test_another_password_is_set(self, keystone: Keystone, script: Script) -> None:
        script.run()
        other = replace(script, password="another-" + secrets.token_hex(8))
        assert other.run() == [f"Setting the password of user {script.name}", script.last]
        assert await keystone.login(Credentials(script.name, other.password, "service")) is not None
        assert await keystone.login(Credentials(script.name, script.password, "service")) is None

    async def test_what_somebody_changed_becomes_as_it_should_be(self, keystone: Keystone, script: Script) -> None:
        script.run()
        service, urls = await self.entry(keystone, script)
        await keystone.update_service(replace(service, description="Nothing", enabled=False))
        user = await keystone.find_user(script.name)
        assert user is not None
        await keystone.update_user(user.id, enabled=False)
        await keystone.create_endpoint(Endpoint("", service.id, REGION, "public", "http://second.example"))
        await keystone.create_endpoint(Endpoint("", service.id, "elsewhere", "public", "http://elsewhere.example"))
        script.run()
        found, after = await self.entry(keystone, script)
        assert found == service
        assert after == {**urls, ("elsewhere", "public"): "http://elsewhere.example"}
        assert await keystone.login(Credentials(script.name, script.password, "service")) is not None

    async def test_another_url_takes_the_place_of_the_one_before(self, keystone: Keystone, script: Script) -> None:
        script.run()
        other = replace(script, public="http://other.example:8778", description="Counts all")
        other.run()
        service, urls = await self.entry(keystone, script)
        assert urls[REGION, "public"] == "http://other.example:8778"
        assert service.description == "Counts all"

    async def test_a_wrong_password_of_the_administrator_is_told_and_not_shown(self, script: Script) -> None:
        wrong = replace(script.where.credentials, password="no-such-password")
        said = replace(script, where=replace(script.where, credentials=wrong), patience=0.5).run(code=1)
        assert said[-1].endswith(
            f"does not let user {wrong.user} in: provision.identity.admin must name a Secret with its password"
        )


async def held(keystone: Keystone) -> set[tuple[str, str]]:
    """Who holds which role in the project of all services."""
    project = await keystone.find_project("service")
    assert project is not None
    return {(held.user_id, held.role_id) for held in await keystone.assignments(project.id)}

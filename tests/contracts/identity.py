"""What the identity adapter promises, whichever Keystone it speaks with.

A ring makes a subclass and a fixture `where`. Everything is made under fresh names, and nothing else is touched.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import pytest

from stackwright.adapters.errors import Refused, Rejected, Unavailable
from stackwright.adapters.identity import Credentials, Endpoint, Keystone, RoleAssignment, Service, Session

REGION = "regionOne"


@dataclass(frozen=True)
class Where:
    """A Keystone, and its administrator."""

    url: str
    credentials: Credentials
    addresses: dict[str, str] = field(default_factory=dict)

    async def dial(self, hostname: str) -> str:
        return self.addresses.get(hostname, hostname)

    def session(self, credentials: Credentials | None = None, *, remembered: float = 0.0) -> Session:
        return Session(self.url, credentials or self.credentials, dial=self.dial, remembered=remembered)


def fresh(word: str) -> str:
    return f"contract-{word}-{secrets.token_hex(4)}"


class IdentityContract:
    """The promises, as tests."""

    @pytest.fixture
    def keystone(self, where: Where) -> Keystone:
        return Keystone(where.session())

    @pytest.fixture
    async def service(self, keystone: Keystone) -> AsyncIterator[Service]:
        made = Service("", fresh("type"), fresh("service"), "Does nothing")
        made = replace(made, id=await keystone.create_service(made))
        yield made
        await keystone.delete_service(made.id)

    @pytest.fixture
    async def login(self, keystone: Keystone) -> AsyncIterator[Credentials]:
        """A user that exists, with its password."""
        credentials = Credentials(fresh("user"), secrets.token_hex(8))
        await keystone.create_user(credentials.user, credentials.password, description="Somebody")
        yield credentials
        user = await keystone.find_user(credentials.user)
        assert user is not None
        await keystone.delete_user(user.id)

    async def test_a_service_is_found_by_type_and_name(self, keystone: Keystone, service: Service) -> None:
        assert await keystone.find_services(service.type, service.name) == (service,)
        assert await keystone.find_services(service.type, "another") == ()

    async def test_a_service_changes(self, keystone: Keystone, service: Service) -> None:
        other = replace(service, type=fresh("type"), description="Does less", enabled=False)
        await keystone.update_service(other)
        assert await keystone.find_services(other.type, other.name) == (other,)

    async def test_what_is_gone_can_be_deleted_again_but_not_changed(
        self, keystone: Keystone, service: Service
    ) -> None:
        await keystone.delete_service(service.id)
        await keystone.delete_service(service.id)
        assert await keystone.find_services(service.type, service.name) == ()
        with pytest.raises(Unavailable, match="404"):
            await keystone.update_service(service)

    async def test_endpoints_come_change_and_go_with_their_service(self, keystone: Keystone, service: Service) -> None:
        endpoint = Endpoint("", service.id, REGION, "public", "http://one.example")
        endpoint = replace(endpoint, id=await keystone.create_endpoint(endpoint))
        assert await keystone.find_endpoints(service.id, REGION, "public") == (endpoint,)
        assert await keystone.find_endpoints(service.id, REGION, "internal") == ()

        moved = replace(endpoint, url="http://two.example")
        await keystone.update_endpoint(moved)
        assert await keystone.find_endpoints(service.id, REGION, "public") == (moved,)

        twin = await keystone.create_endpoint(endpoint)
        assert {entry.id for entry in await keystone.find_endpoints(service.id, REGION, "public")} == {
            endpoint.id,
            twin,
        }
        await keystone.delete_endpoint(twin)
        await keystone.delete_endpoint(twin)
        assert await keystone.find_endpoints(service.id, REGION, "public") == (moved,)

        await keystone.delete_service(service.id)
        assert not [entry for entry in await keystone.endpoints() if entry.service_id == service.id]

    async def test_an_endpoint_of_no_service_is_rejected(self, keystone: Keystone) -> None:
        with pytest.raises(Rejected):
            await keystone.create_endpoint(Endpoint("", "f" * 32, REGION, "public", "http://one.example"))

    async def test_a_project_is_made_once(self, keystone: Keystone) -> None:
        name = fresh("project")
        assert await keystone.find_project(name) is None
        await keystone.create_project(name, "For a test")
        found = await keystone.find_project(name)
        await keystone.create_project(name)
        assert found is not None
        assert await keystone.find_project(name) == found
        await keystone.delete_project(found.id)

    async def test_a_user_is_made_once_and_keeps_its_password(self, keystone: Keystone, login: Credentials) -> None:
        found = await keystone.find_user(login.user)
        assert found is not None
        assert (found.name, found.description, found.enabled) == (login.user, "Somebody", True)
        await keystone.create_user(login.user, "another-password")
        assert await keystone.login(login) is not None

    async def test_a_name_that_the_database_takes_for_anothers_is_told(
        self, keystone: Keystone, login: Credentials
    ) -> None:
        assert await keystone.find_alike(login.user) is None
        for name in (login.user.upper(), f"{login.user} ", login.user.replace("user", "usér")):
            assert await keystone.find_user(name) is None
            found = await keystone.find_alike(name)
            assert found is not None
            assert found.name == login.user
            with pytest.raises(Rejected, match=f"for the name of its user '{login.user}'"):
                await keystone.create_user(name, "another-password")

    async def test_what_was_made_says_for_whom(self, keystone: Keystone) -> None:
        mark = "KeystoneService cloud/contract"
        made = Service("", fresh("type"), fresh("service"), "Does nothing", made_for=mark)
        service = replace(made, id=await keystone.create_service(made))
        endpoint = Endpoint("", service.id, REGION, "public", "http://one.example", made_for=mark)
        endpoint = replace(endpoint, id=await keystone.create_endpoint(endpoint))
        name = fresh("user")
        await keystone.create_user(name, secrets.token_hex(8), description="Somebody", made_for=mark)
        user = await keystone.find_user(name)
        assert user is not None
        assert user.made_for == mark
        assert await keystone.find_services(service.type, service.name) == (service,)
        assert await keystone.find_endpoints(service.id, REGION, "public") == (endpoint,)
        # A change that says nothing of it leaves it.
        await keystone.update_user(user.id, enabled=False)
        await keystone.update_service(replace(service, enabled=False, made_for=""))
        await keystone.update_endpoint(replace(endpoint, url="http://two.example", made_for=""))
        assert await keystone.find_user(name) == replace(user, enabled=False)
        assert await keystone.find_services(service.type, service.name) == (replace(service, enabled=False),)
        moved = replace(endpoint, url="http://two.example")
        assert await keystone.find_endpoints(service.id, REGION, "public") == (moved,)
        # Another one takes its place, alone or with a password.
        for said in (f"{mark} of cloud one", f"{mark} of cloud two"):
            await keystone.update_user(user.id, made_for=said)
            assert await keystone.find_user(name) == replace(user, enabled=False, made_for=said)
        await keystone.set_password(user.id, secrets.token_hex(8), made_for=f"{mark} (adopted)")
        assert await keystone.find_user(name) == replace(user, enabled=False, made_for=f"{mark} (adopted)")
        await keystone.delete_user(user.id)
        await keystone.delete_service(service.id)

    async def test_a_user_changes(self, keystone: Keystone, login: Credentials) -> None:
        found = await keystone.find_user(login.user)
        assert found is not None
        await keystone.update_user(found.id, enabled=False, description="Nobody")
        assert await keystone.find_user(login.user) == replace(found, enabled=False, description="Nobody")
        assert await keystone.login(login) is None
        await keystone.update_user(found.id, enabled=True)
        assert await keystone.login(login) is not None

    async def test_another_password_ends_the_tokens_of_the_one_before(
        self, keystone: Keystone, login: Credentials
    ) -> None:
        found, token = await keystone.find_user(login.user), await keystone.login(login)
        assert found is not None
        assert token is not None
        assert await keystone.is_good(token)
        await keystone.set_password(found.id, "another-password")
        assert not await keystone.is_good(token)
        assert await keystone.login(login) is None
        assert await keystone.login(replace(login, password="another-password")) is not None

    async def test_roles_are_granted_and_revoked(self, keystone: Keystone, login: Credentials) -> None:
        role, name = fresh("role"), fresh("project")
        await keystone.create_role(role)
        await keystone.create_role(role)
        await keystone.create_project(name)
        user, project = await keystone.find_user(login.user), await keystone.find_project(name)
        assert user is not None
        assert project is not None
        assignment = RoleAssignment(user.id, (await keystone.roles())[role])
        assert await keystone.assignments(project.id) == frozenset()
        await keystone.grant(project.id, assignment)
        await keystone.grant(project.id, assignment)
        assert await keystone.assignments(project.id) == {assignment}
        await keystone.revoke(project.id, assignment)
        assert await keystone.assignments(project.id) == frozenset()
        await keystone.delete_role(assignment.role_id)
        await keystone.delete_project(project.id)

    async def test_a_wrong_password_is_refused_once_and_not_tried_again(self, where: Where) -> None:
        session = where.session(replace(where.credentials, password="wrong-password"))
        for _ in range(3):
            with pytest.raises(Refused) as refused:
                await Keystone(session).services()
            assert "wrong-password" not in str(refused.value)
            assert where.credentials.user in str(refused.value)

    async def test_who_has_no_role_is_refused(self, where: Where, keystone: Keystone, login: Credentials) -> None:
        found = await keystone.find_user(login.user)
        assert found is not None
        project, role = await keystone.find_project(where.credentials.project), (await keystone.roles())["reader"]
        assert project is not None
        await keystone.grant(project.id, RoleAssignment(found.id, role))
        somebody = Keystone(where.session(replace(login, project=where.credentials.project)))
        with pytest.raises(Refused, match="403"):
            await somebody.create_role(fresh("role"))

    async def test_a_token_that_was_revoked_is_renewed(self, where: Where) -> None:
        session = where.session()
        await Keystone(session).services()
        assert session._token is not None
        token, until = session._token
        session._token = (replace(token, text="revoked"), until)
        assert await Keystone(session).roles()

    async def test_an_answer_is_remembered_until_something_is_written(self, where: Where, keystone: Keystone) -> None:
        remembering = Keystone(where.session(remembered=60.0))
        before = await remembering.services()
        elsewhere = await keystone.create_service(Service("", fresh("type"), fresh("service")))
        assert await remembering.services() == before
        await remembering.delete_service("0" * 32)
        assert elsewhere in {entry.id for entry in await remembering.services()}
        await remembering.delete_service(elsewhere)

    async def test_many_ask_at_once(self, where: Where) -> None:
        keystone = Keystone(where.session(remembered=60.0))
        found = await asyncio.gather(*(keystone.services() for _ in range(10)))
        assert len(set(found)) == 1

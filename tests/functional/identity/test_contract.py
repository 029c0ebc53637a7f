"""The identity adapter's promises on the fake Keystone, and what only a server that misbehaves can show."""

import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import aiohttp
import pytest
from aiohttp import web

from stackwright.adapters.errors import Rejected, Unavailable
from stackwright.adapters.identity import Credentials, Keystone, Session
from tests.contracts.identity import IdentityContract, Where
from tests.fakes.running import fake

ADMIN = Credentials("admin", "a-good-password", "admin")


@pytest.fixture(scope="module")
def where() -> Iterator[Where]:
    with fake("tests.fakes.keystone", ADMIN.password) as running:
        yield Where(running.url, ADMIN)


class TestFakeKeystone(IdentityContract):
    """The fake keeps the contract."""


async def counts(where: Where) -> dict[str, int]:
    async with aiohttp.ClientSession() as session, session.get(f"{where.url}/counts") as reply:
        found: dict[str, int] = await reply.json()
        return found


async def test_a_refused_login_reaches_keystone_once(where: Where) -> None:
    before = (await counts(where)).get("refused admin", 0)
    session = where.session(replace(ADMIN, password="wrong"))
    for _ in range(5):
        with pytest.raises(Exception, match="does not let user admin in"):
            await Keystone(session).services()
    assert (await counts(where))["refused admin"] == before + 1


async def test_a_login_that_is_refused_again_and_again_is_tried_ever_more_seldom(where: Where) -> None:
    before, now = (await counts(where)).get("refused admin", 0), 0.0
    session = Session(where.url, replace(ADMIN, password="wrong"), clock=lambda: now)
    # An hour, with a look in each second.
    for second in range(3600):
        now = float(second)
        with pytest.raises(Exception, match="does not let user admin in"):
            await Keystone(session).services()
    # After 15, 45, 105, 225, 465 and 945 seconds, then every ten minutes.
    assert (await counts(where))["refused admin"] == before + 11


async def test_one_login_serves_many_requests(where: Where) -> None:
    keystone = Keystone(where.session())
    before = (await counts(where)).get("login", 0)
    for _ in range(5):
        await keystone.services()
    assert (await counts(where))["login"] == before + 1


async def test_a_host_is_dialled_by_its_address_and_keeps_its_name(where: Where) -> None:
    asked: list[str] = []

    async def dial(hostname: str) -> str:
        asked.append(hostname)
        return "127.0.0.1"

    port = where.url.rpartition(":")[2]
    session = Session(f"http://keystone-internal.cloud.svc:{port}/v3", ADMIN, dial=dial)
    assert await Keystone(session).roles()
    assert set(asked) == {"keystone-internal.cloud.svc"}


async def test_a_host_without_an_address_yet_is_unavailable() -> None:
    async def dial(hostname: str) -> str:
        raise Unavailable(f"Service {hostname} has no address yet")

    with pytest.raises(Unavailable, match=r"^Service keystone\.svc has no address yet$"):
        await Keystone(Session("http://keystone.svc:5000", ADMIN, dial=dial)).services()


async def test_nobody_at_home_is_unavailable() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        session = Session(f"http://name:secret@127.0.0.1:{reserved.getsockname()[1]}", ADMIN)
        with pytest.raises(Unavailable, match="does not answer") as error:
            await Keystone(session).services()
    assert "secret" not in str(error.value)
    assert ADMIN.password not in str(error.value)


@pytest.fixture
async def odd(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """A server that lets everybody in, and then answers with one status and repeats what it was sent."""

    async def answer(asked: web.Request) -> web.Response:
        if asked.path.endswith("/auth/tokens"):
            times = {"issued_at": "2026-01-01T00:00:00.000000Z", "expires_at": "2026-01-01T01:00:00.000000Z"}
            return web.json_response({"token": times}, status=201, headers={"X-Subject-Token": "t"})
        error = {"message": f"no: {await asked.text()}"}
        return web.json_response({"error": error}, status=request.param)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.mark.parametrize(
    ("odd", "error"),
    [
        pytest.param(400, Rejected, id="what-keystone-does-not-accept"),
        pytest.param(503, Unavailable, id="a-keystone-that-is-not-ready"),
        pytest.param(429, Unavailable, id="a-keystone-that-has-enough-of-us"),
        pytest.param(302, Unavailable, id="something-that-sends-us-elsewhere"),
    ],
    indirect=["odd"],
)
async def test_a_password_is_not_repeated_although_keystone_does(odd: str, error: type[Exception]) -> None:
    keystone = Keystone(Session(odd, ADMIN))
    with pytest.raises(error) as raised:
        await keystone.set_password("id", "a-secret-word")
    assert "a-secret-word" not in str(raised.value)
    with pytest.raises(error, match=r"no: .*Somebody"):
        await keystone.update_user("id", description="Somebody")

"""Another API of a cloud is read over HTTP: a list that comes in pages is read to its end."""

import contextlib
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from stackwright.adapters.errors import Unavailable
from stackwright.adapters.identity import Credentials, OtherApi, Session

ADMIN = Credentials("admin", "p", "admin")
EVERY = [{"id": str(number)} for number in range(7)]


@contextlib.asynccontextmanager
async def nova(*, endless: bool = False, last: object = None) -> AsyncIterator[OtherApi]:
    """Serve a Keystone that lets everybody in, and a Nova with seven migrations, three on a page at most.

    It is `endless` if each page names the same next one. `last` is what it answers in place of the last page.
    """

    async def log_in(_: web.Request) -> web.Response:
        return web.json_response({"token": {}}, status=201, headers={"X-Subject-Token": "t"})

    async def list_them(request: web.Request) -> web.Response:
        assert request.query["host"] == "one"
        size, marker = int(request.query.get("limit", 3)), request.query.get("marker", "-1")
        first = int(marker) + 1
        page = EVERY[first : first + size]
        if last is not None and first + size >= len(EVERY):
            return web.json_response(last)
        if first + size >= len(EVERY) and not endless:
            return web.json_response({"migrations": page})
        following = "2" if endless else page[-1]["id"]
        # The address of a link is the public one, which is reached from elsewhere.
        href = f"https://nova.example/v2.1/os-migrations?host=one&limit={size}&marker={following}"
        return web.json_response({"migrations": page, "migrations_links": [{"rel": "next", "href": href}]})

    application = web.Application()
    application.router.add_post("/v3/auth/tokens", log_in)
    application.router.add_get("/v2.1/os-migrations", list_them)
    runner = web.AppRunner(application, shutdown_timeout=0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield OtherApi(Session(url, ADMIN), url)
    finally:
        await runner.cleanup()


async def test_all_pages_of_a_list_are_read() -> None:
    async with nova() as api:
        assert (await api.read("/v2.1/os-migrations", {"host": "one"}))["migrations"] == EVERY


async def test_whoever_asks_for_some_gets_some() -> None:
    async with nova() as api:
        some = await api.read("/v2.1/os-migrations", {"host": "one", "limit": "2"})
        assert some["migrations"] == EVERY[:2]


@pytest.mark.parametrize("last", [{}, {"migrations": None}, {"versions": []}])
async def test_half_a_list_is_no_answer(last: object) -> None:
    async with nova(last=last) as api:
        with pytest.raises(Unavailable, match="does not list all of"):
            await api.read("/v2.1/os-migrations", {"host": "one"})


async def test_a_list_without_an_end_is_no_answer() -> None:
    async with nova(endless=True) as api:
        with pytest.raises(Unavailable, match="without an end"):
            await api.read("/v2.1/os-migrations", {"host": "one"})

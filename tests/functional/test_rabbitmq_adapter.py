"""The fake of RabbitMQ keeps the contract that the real one keeps in the end-to-end ring."""

import asyncio
import json
from collections.abc import Iterator

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from stackwright.adapters.errors import Unavailable
from stackwright.adapters.rabbitmq import Access, Management
from tests.contracts.rabbitmq import BrokerContract
from tests.fakes import rabbitmq


@pytest.fixture(scope="module")
def access() -> Iterator[Access]:
    with rabbitmq.running() as access:
        yield access


class TestFake(BrokerContract):
    """The contract, on the fake."""

    async def test_a_broker_that_is_down_is_unavailable(self, access: Access, broker: Management) -> None:
        async with aiohttp.ClientSession(access.url) as session:
            await session.put("/fake/down/yes")
            with pytest.raises(Unavailable, match="answered with 503 for whoami"):
                await broker.whoami()
            await session.put("/fake/down/no")
        assert (await broker.whoami()).name == access.username


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("<html>", id="not-json"),
        pytest.param(json.dumps(["a"]), id="json-of-another-shape"),
    ],
)
async def test_a_stranger_at_the_port_is_unavailable(body: str) -> None:
    async def handle(_: web.Request) -> web.Response:
        return web.Response(text=body)

    application = web.Application()
    application.router.add_get("/api/whoami", handle)
    async with TestServer(application) as server, Management(Access(str(server.make_url("/")), "a", "b")) as broker:
        with pytest.raises(Unavailable, match="does not answer like RabbitMQ's management API"):
            await broker.whoami()


async def test_a_silent_broker_is_unavailable() -> None:
    async def handle(_: web.Request) -> web.Response:
        await asyncio.sleep(60)
        return web.Response()

    application = web.Application()
    application.router.add_get("/api/whoami", handle)
    async with TestServer(application) as server:
        broker = Management(Access(str(server.make_url("/")), "a", "b"), timeout=0.2)
        with pytest.raises(Unavailable, match="did not answer in time"):
            async with broker:
                await broker.whoami()

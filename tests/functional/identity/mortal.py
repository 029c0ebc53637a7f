"""An operator that dies after some writes, be they to Kubernetes or to Keystone: from then on nothing of it arrives."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import aiohttp
from aiohttp import web

from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.kube.errors import Unreachable
from stackwright.kube.transport import Call, Reply
from tests.functional.identity.cloud import Cloud


@dataclass
class Wires:
    """What an operator is connected by."""

    left: int
    keystone: str
    dead: asyncio.Event = field(default_factory=asyncio.Event)

    def cut(self, *, writes: bool) -> bool:
        """Count a request; return whether it does not arrive any more."""
        if writes and not self.left:
            self.dead.set()
        self.left -= writes and not self.dead.is_set()
        return self.dead.is_set()

    def hold(self, client: Client) -> None:
        """Come between a client and its server; that people are told something is no write that matters."""
        send = client.transport.request

        async def request(call: Call) -> Reply:
            if self.cut(writes=call.method != "GET" and "/events" not in call.path):
                raise Unreachable("killed")
            return await send(call)

        client.transport.request = request  # type: ignore[method-assign]  # the wire is what is cut

    async def forward(self, asked: web.Request) -> web.Response:
        """Hand a request on to Keystone."""
        login = asked.path.endswith("/auth/tokens")
        if self.cut(writes=not login and asked.method not in ("GET", "HEAD")):
            return web.Response(status=503)
        headers = {name: value for name, value in asked.headers.items() if name != "Host"}
        async with (
            aiohttp.ClientSession() as session,
            session.request(
                asked.method, f"{self.keystone}{asked.path_qs}", headers=headers, data=await asked.read()
            ) as reply,
        ):
            kept = {name: reply.headers[name] for name in ("X-Subject-Token",) if name in reply.headers}
            kind = reply.content_type if reply.content_type != "application/octet-stream" else None
            return web.Response(status=reply.status, body=await reply.read(), headers=kept, content_type=kind)


@contextlib.asynccontextmanager
async def mortal(cloud: Cloud, connection: Connection, writes: int) -> AsyncIterator[Wires]:
    """Run an operator that is killed after some writes; Keystone is where it was again when it is gone."""
    wires = Wires(writes, cloud.url)
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", wires.forward)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        await replace(cloud, url=f"http://127.0.0.1:{runner.addresses[0][1]}").serves()
        async with Client(connection) as client:
            wires.hold(client)
            async with cloud.operator(client):
                yield wires
    finally:
        await runner.cleanup()
        await cloud.serves()

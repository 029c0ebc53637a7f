"""HTTP connections that exist while somebody uses them, so that nobody has to close them."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

# Returns what to dial for a host name: the name itself, or an address; raises Unavailable if there is none yet.
Dial = Callable[[str], Awaitable[str]]

# How long one request may take, in seconds, and how long to wait for a connection.
_TIMEOUT = aiohttp.ClientTimeout(total=30.0, sock_connect=5.0)


async def as_it_is(hostname: str) -> str:
    """Dial a host by its own name."""
    return hostname


class Connections:
    """The connections to one server. The host is dialled where `dial` says; URL and Host header keep its name."""

    def __init__(self, dial: Dial = as_it_is) -> None:
        self._dial = dial
        self._session: aiohttp.ClientSession | None = None
        self._users = 0

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[aiohttp.ClientSession]:
        """Give a session, shared by all users that overlap; the last one closes it."""
        session = self._session
        if session is None:
            connector = aiohttp.TCPConnector(resolver=_Resolver(self._dial), use_dns_cache=False)
            session = self._session = aiohttp.ClientSession(connector=connector, timeout=_TIMEOUT)
        self._users += 1
        try:
            yield session
        finally:
            self._users -= 1
            if not self._users:
                self._session = None
                await session.close()


class _Resolver(AbstractResolver):
    """Asks `dial` for the address, then the system where that is a name."""

    def __init__(self, dial: Dial) -> None:
        self._dial = dial

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        address = await self._dial(host)
        found = await asyncio.get_running_loop().getaddrinfo(address, port, type=socket.SOCK_STREAM, family=family)
        return [
            ResolveResult(
                hostname=host,
                host=str(place[0]),
                port=port,
                family=of,
                proto=protocol,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for of, _, protocol, _, place in found
        ]

    async def close(self) -> None:
        """Does nothing: nothing is kept open."""

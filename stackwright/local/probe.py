"""Asks a program on loopback whether it is ready, without threads and without a client library."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable

from stackwright.local.certificates import Pair

Question = Callable[[], Awaitable[bool]]

LOOPBACK = "127.0.0.1"
# A program that accepts and does not answer is not ready.
PATIENCE = 2.0


def context(authority: Pair, client: Pair) -> ssl.SSLContext:
    """Return what it takes to talk to programs of that authority as that client."""
    trusting = ssl.create_default_context(cafile=authority.certificate)
    trusting.load_cert_chain(client.certificate, client.key)
    return trusting


def question(port: int, path: str, trusting: ssl.SSLContext | None, *, containing: bytes = b"") -> Question:
    """Return a function that asks for a path, and says whether the answer was 200 and contains those words.

    Without `trusting` it asks in the clear.
    """

    async def ask() -> bool:
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await _answer(port, path, trusting)
        except (OSError, TimeoutError):
            return False
        status, _, rest = answer.partition(b"\r\n")
        return status.split()[1:2] == [b"200"] and containing in rest

    return ask


async def _answer(port: int, path: str, trusting: ssl.SSLContext | None) -> bytes:
    reader, writer = await asyncio.open_connection(
        LOOPBACK, port, ssl=trusting, server_hostname=LOOPBACK if trusting else None
    )
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {LOOPBACK}\r\nConnection: close\r\n\r\n".encode())
        return await reader.read()
    finally:
        writer.transport.abort()

"""Streams that are busy: their bytes come in many at once, and the last of them come too."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from stackwright.kube.gathering import Gathering

PIECE = b"x" * 100
PIECES = 400

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets bytes gather")


class Reader(asyncio.Protocol):
    """Counts what it is given, and how often it is woken for that."""

    def __init__(self, *, gathers: bool) -> None:
        self._gathers = gathers
        self.bytes = 0
        self.wakeups = 0
        self.all = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.gathering = Gathering(transport if self._gathers else None)

    def data_received(self, data: bytes) -> None:
        self.bytes += len(data)
        self.wakeups += 1
        self.gathering.read()
        if self.bytes == PIECES * len(PIECE):
            self.all.set()


@asynccontextmanager
async def connected(reader: Reader) -> AsyncIterator[tuple[asyncio.Transport, socket.socket]]:
    """Give the reader's end of a connection, and the other."""
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        transport, _ = await loop.create_connection(lambda: reader, *listening.getsockname())
        sender, _ = await loop.sock_accept(listening)
    try:
        with sender:
            yield transport, sender
    finally:
        reader.gathering.close()
        transport.close()


async def wakeups(*, gathers: bool) -> int:
    """Send many small pieces, one by one; return how often the reader was woken until it had all."""
    reader = Reader(gathers=gathers)
    loop = asyncio.get_running_loop()
    async with connected(reader) as (_, sender), asyncio.timeout(30):
        for _ in range(PIECES):
            await loop.sock_sendall(sender, PIECE)
            # The loop looks at its sockets between any two pieces.
            await asyncio.sleep(0)
        await reader.all.wait()
    return reader.wakeups


def mark(transport: asyncio.Transport) -> int:
    """Return how many bytes must be there before the transport's socket is readable."""
    found: int = transport.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT)
    return found


@linux
async def test_a_busy_stream_wakes_its_reader_for_many_pieces_at_once_and_keeps_none_back() -> None:
    assert await wakeups(gathers=True) * 4 < await wakeups(gathers=False)


@linux
async def test_bytes_gather_only_while_they_come_quickly_and_no_longer_than_the_stream_is_read() -> None:
    reader = Reader(gathers=True)
    async with connected(reader) as (transport, _):
        reader.gathering.read()
        after_one = mark(transport)
        reader.gathering.read()
        after_two = mark(transport)
        reader.gathering.close()
        assert (after_one, after_two > 1, mark(transport)) == (1, True, 1)


async def test_a_socket_that_was_closed_is_left_alone() -> None:
    reader = Reader(gathers=True)
    async with connected(reader) as (transport, _):
        reader.gathering.read()
        transport.abort()
        await asyncio.sleep(0)
        reader.gathering.read()
        reader.gathering.close()
    assert reader.bytes == 0

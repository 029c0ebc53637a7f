"""TLS connections that share a buffer: each gets what was sent to it, and costs little while it is silent."""

import asyncio
import ssl
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from stackwright.kube import clock, tls_buffers
from stackwright.kube.admission import certificates

# More than fits into the buffer, and no multiple of it, so that connections are at different places of it.
LENGTH = 3 * tls_buffers.SHARED + 12_345
CONNECTIONS = 24


@asynccontextmanager
async def serving(directory: Path) -> AsyncIterator[tuple[int, ssl.SSLContext]]:
    """A server that sends each caller the letter that it asked for, LENGTH times, and stays."""
    made = certificates.advance(None, clock.now(), names=("127.0.0.1",))
    directory.joinpath("both.pem").write_bytes(made.serving.certificate_pem + made.serving.key_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "both.pem")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        letter = await reader.read(1)
        writer.write(letter * LENGTH)
        await writer.drain()
        await reader.read(1)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1], ssl.create_default_context(cadata=made.bundle.decode())
    finally:
        server.close()


async def test_each_connection_gets_what_was_sent_to_it(tmp_path: Path) -> None:
    async def ask(port: int, trust: ssl.SSLContext, letter: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust)
        writer.write(letter)
        found = await reader.readexactly(LENGTH)
        writer.close()
        return found

    letters = [bytes([ord("a") + number]) for number in range(CONNECTIONS)]
    async with serving(tmp_path) as (port, trust):
        found = await asyncio.gather(*(ask(port, trust, letter) for letter in letters))
    assert [set(each) for each in found] == [set(letter) for letter in letters]


async def test_a_silent_connection_costs_little(tmp_path: Path) -> None:
    async with serving(tmp_path) as (port, trust):
        # What the first one needs, all have.
        _, first = await asyncio.open_connection("127.0.0.1", port, ssl=trust)
        tracemalloc.start()
        try:
            opened = [await asyncio.open_connection("127.0.0.1", port, ssl=trust) for _ in range(CONNECTIONS)]
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        for writer in (first, *(writer for _, writer in opened)):
            writer.close()
    # Both ends of a connection are here.
    assert held / CONNECTIONS < 2 * 4 * tls_buffers.OWN


def test_a_python_that_keeps_what_it_read_has_buffers_of_its_own() -> None:
    def updated(protocol: "Kept", count: int) -> None:
        protocol.pieces.append(count)

    class Kept:
        pieces: list[int]

    assert not tls_buffers.is_emptied_at_once(updated)

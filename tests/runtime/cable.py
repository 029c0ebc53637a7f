"""A cable between a client and a server that a test can cut."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit


class Cable:
    """Carries bytes both ways. What is cut off is kept and nobody is told; mended, it arrives."""

    def __init__(self, server: str) -> None:
        self._server = urlsplit(server)
        self._asking = asyncio.Event()
        self._answering = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.url = ""
        self.mend()

    def cut(self) -> None:
        """Let nothing through."""
        self._asking.clear()
        self._answering.clear()

    def cut_answers(self) -> None:
        """Let what the client says through, and not what the server says."""
        self._answering.clear()

    def mend(self) -> None:
        """Let everything through, also what was kept."""
        self._asking.set()
        self._answering.set()

    @asynccontextmanager
    async def plugged(self) -> AsyncIterator["Cable"]:
        """Listen on loopback; `url` is where."""
        listening = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        self.url = f"{self._server.scheme}://127.0.0.1:{port}"
        try:
            yield self
        finally:
            listening.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await listening.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(self._server.hostname, self._server.port)
        for source, sink, gate in ((reader, back, self._asking), (there, writer, self._answering)):
            self._tasks.add(asyncio.create_task(_carry(source, sink, gate)))


async def _carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter, gate: asyncio.Event) -> None:
    try:
        while data := await source.read(65536):
            await gate.wait()
            sink.write(data)
            await sink.drain()
    except ConnectionError:
        pass
    finally:
        sink.close()

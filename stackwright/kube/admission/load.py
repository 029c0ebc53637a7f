"""How much a webhook server takes on at once: every pod of a cluster can ask it, and it shares a process with others.

Nothing in a review proves that the API server has sent it, so that the server's own limits do not hold here.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from aiohttp import web

# An update carries the object twice, and etcd takes objects up to 1.5 MiB.
LARGEST = 4 * 2**20
# How many bytes of reviews are in memory at once.
MOST = 32 * 2**20
# The API server waits five seconds: an answer that comes later is of no use to anybody.
PATIENCE = 4.0
# After a review that took longer than this, as much time is left to everything else, but not more than the longest
# pause: what waits is not answered in it.
QUICK = 0.1
LONGEST_PAUSE = 0.25


class TooMuch(Exception):
    """A request that is not answered: `status` is that of HTTP."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Room:
    """What one request has taken of the server's memory, and by when it has to have its turn: loop time."""

    deadline: float
    taken: int = 0


class Load:
    """Reads the bodies of requests, and lets one after another be answered."""

    def __init__(self, *, largest: int = LARGEST, most: int = MOST, patience: float = PATIENCE) -> None:
        self._largest = largest
        self._most = most
        self._patience = patience
        self.held = 0
        """How many bytes of bodies are in memory."""
        self._turn = asyncio.Lock()

    @contextmanager
    def room(self) -> Iterator[Room]:
        """Give back at the end what a request has taken; its time begins now."""
        room = Room(asyncio.get_running_loop().time() + self._patience)
        try:
            yield room
        finally:
            self.held -= room.taken

    async def read(self, request: web.Request, room: Room) -> bytes:
        """Return the body of a request; raise TooMuch if it is too long or too slow, or there are too many."""
        body = bytearray()
        try:
            async with asyncio.timeout_at(room.deadline):
                async for piece in request.content.iter_any():
                    room.taken += len(piece)
                    self.held += len(piece)
                    if room.taken > self._largest:
                        raise TooMuch(413, f"A review has at most {self._largest >> 20} MiB.")
                    if self.held > self._most:
                        raise TooMuch(503, "There are too many reviews at once.")
                    body += piece
        except TimeoutError:
            raise TooMuch(408, f"The review did not arrive within {self._patience:g} s.") from None
        return bytes(body)

    @asynccontextmanager
    async def turn(self, room: Room) -> AsyncIterator[None]:
        """Wait until it is a request's turn to be answered; raise TooMuch if that takes too long."""
        try:
            async with asyncio.timeout_at(room.deadline):
                await self._turn.acquire()
        except TimeoutError:
            raise TooMuch(503, "There are too many reviews at once.") from None
        began = time.monotonic()
        try:
            yield
        finally:
            took = time.monotonic() - began
            if took > QUICK:
                asyncio.get_running_loop().call_later(min(took, LONGEST_PAUSE), self._turn.release)
            else:
                self._turn.release()

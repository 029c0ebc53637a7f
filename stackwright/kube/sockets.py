"""The sockets of a client: made so that a dead peer is noticed, and gone when the client is."""

import asyncio
import contextlib
import socket
import weakref

AddrInfo = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[object, ...]]

# For how many turns of the loop a socket that was cut off is waited for; it takes three or four.
TURNS = 100


class Sockets:
    """Makes sockets and remembers those that are open."""

    def __init__(self) -> None:
        self._made: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def make(self, address: AddrInfo) -> socket.socket:
        """Return a socket on which a peer that vanished is noticed within a minute, also by a silent watch."""
        made = socket.socket(address[0], address[1], address[2])
        self._made.add(made)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        times = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 60_000))
        for name, value in times:
            # Not every system has all of them.
            if (option := getattr(socket, name, None)) is not None:
                made.setsockopt(socket.IPPROTO_TCP, option, value)
        return made

    async def release(self) -> None:
        """Cut off what is open, and return when it is closed.

        A request that was cancelled leaves a connection behind that says farewell over TLS, and waits for the answer
        longer than the event loop may last.
        """
        for each in self._open():
            with contextlib.suppress(OSError):  # One that never was connected.
                each.shutdown(socket.SHUT_RDWR)
        for _ in range(TURNS):
            if not self._open():
                return
            await asyncio.sleep(0)

    def _open(self) -> list[socket.socket]:
        return [each for each in self._made if each.fileno() >= 0]

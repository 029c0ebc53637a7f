"""Sockets: they notice a dead peer, and are closed with their user."""

import asyncio
import contextlib
import socket
import weakref
from collections.abc import Iterable
from typing import Any

from stackwright.kube import tls_buffers

AddrInfo = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[object, ...]]

# For how many turns of the loop a socket that was cut off is waited for; it takes three or four.
TURNS = 100

tls_buffers.share()


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
        await cut_off(list(self._made))


class Listening(socket.socket):
    """A socket that listens, and remembers whom it has accepted."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        self._accepted: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self.bind((host, port))
        except OSError:
            self.close()
            raise

    def accept(self) -> tuple[socket.socket, Any]:
        """Return a connection and where it comes from."""
        accepted, address = super().accept()
        self._accepted.add(accepted)
        return accepted, address

    async def release(self) -> None:
        """Cut off the remaining connections, and return when all are closed; as above, a farewell may take too long."""
        await cut_off(list(self._accepted))


async def cut_off(sockets: Iterable[socket.socket]) -> None:
    """Cut off those that are open, and return when they are closed."""
    left = [each for each in sockets if each.fileno() >= 0]
    for each in left:
        with contextlib.suppress(OSError):  # It never was connected, or is not any more.
            each.shutdown(socket.SHUT_RDWR)
    for _ in range(TURNS):
        left = [each for each in left if each.fileno() >= 0]
        if not left:
            return
        await asyncio.sleep(0)

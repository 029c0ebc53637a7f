"""Lets the bytes of a busy stream gather in the kernel, so that they wake us once for many events.

A server that lists in a stream sends every object by itself. Whoever reads them as they come wakes up for each,
and pays more for the waking than for the object (measured: two thirds of the processor time of a list of ten
thousand). So while a stream is busy its socket counts as readable only when many bytes are there, or after a short
time. A stream that is not busy is read at once, as ever.
"""

import asyncio
import contextlib
import socket
import sys

# How many bytes are worth a wakeup: as many as asyncio reads at once.
ENOUGH = 2**18
# The most seconds for which bytes gather, and so the most by which an event of a busy stream is delayed.
LONGEST = 0.01
# A stream is busy if its bytes arrive no further apart than this.
BUSY = 2 * LONGEST


class Gathering:
    """Watches over one stream's socket; tell it of everything that was read."""

    def __init__(self, transport: asyncio.BaseTransport | None) -> None:
        self._loop = asyncio.get_running_loop()
        # Only Linux looks at its sockets again when the mark is lowered; elsewhere the last bytes would be stuck.
        found = transport.get_extra_info("socket") if transport is not None and sys.platform == "linux" else None
        self._socket: socket.socket | None = found
        self._last = -BUSY
        self._timer: asyncio.TimerHandle | None = None

    def read(self) -> None:
        """Record that bytes were read just now."""
        now = self._loop.time()
        if now - self._last < BUSY and self._timer is None:
            self._mark(ENOUGH)
            self._timer = self._loop.call_later(LONGEST, self._release)
        self._last = now

    def close(self) -> None:
        """Leave the socket as it was: another request may use it."""
        if self._timer is not None:
            self._timer.cancel()
            self._release()
        self._socket = None

    def _release(self) -> None:
        self._timer = None
        self._mark(1)

    def _mark(self, size: int) -> None:
        # If the socket was closed meanwhile, or the kernel does not support this, it simply has no effect.
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)

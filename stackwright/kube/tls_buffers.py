"""One buffer for all TLS connections of a thread.

asyncio gives each TLS connection a buffer of 256 KiB for as long as it lasts. An operator has a connection for each
kind that it watches, most of them silent: that was a tenth of its memory. A small buffer costs time instead, since a
large list then comes in many pieces. But asyncio empties a buffer as soon as it has filled it, before it reads from
another connection: one large buffer serves all.
"""

import threading
from asyncio import sslproto
from collections.abc import Callable

# What is read from a socket at once: asyncio's own size.
SHARED = 2**18
# What each connection keeps for itself, and decrypts at once: no TLS record is larger.
OWN = 2**14

# What asyncio calls the buffer that it empties. It is no part of its interface, so that it is looked for.
_EMPTIED = "_ssl_buffer_view"


class _OfThread(threading.local):
    """An event loop, and so a thread, fills one buffer at a time."""

    def __init__(self) -> None:
        self.view = memoryview(bytearray(SHARED))


_OF_THREAD = _OfThread()


def share() -> None:
    """Have the TLS connections of this process share a buffer, if this Python's asyncio empties it as described."""
    protocol = sslproto.SSLProtocol
    if is_emptied_at_once(protocol.buffer_updated):
        protocol.max_size = OWN
        # The class of each connection, which asyncio lets nobody choose.
        protocol.get_buffer = _get_buffer  # type: ignore[method-assign,assignment]  # no other way in, as said above


def is_emptied_at_once(updated: Callable[..., object]) -> bool:
    """Return whether what was read is copied from the buffer that we know, by the method that hears of it."""
    return _EMPTIED in updated.__code__.co_names


def _get_buffer(protocol: sslproto.SSLProtocol, _: int) -> memoryview:
    view = _OF_THREAD.view
    setattr(protocol, _EMPTIED, view)
    return view

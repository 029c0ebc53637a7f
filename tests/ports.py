"""Ports of this machine for servers that a test starts."""

import contextlib
import itertools
import random
import socket
from collections.abc import Iterator

# Until the server listens, nobody else is given one of these: the system takes ports for clients from 32768 on, and
# Kubernetes ports of nodes from 30000 on.
BAND = range(20000, 25000)


def free_ports(count: int) -> list[int]:
    """Return ports at which nobody listens, no two of them equal."""
    with contextlib.ExitStack() as taken:
        # They are held until all are found.
        return list(itertools.islice(_free(taken), count))


def free_port() -> int:
    """Return a port at which nobody listens."""
    return free_ports(1)[0]


def _free(taken: contextlib.ExitStack) -> Iterator[int]:
    for port in random.sample(BAND, len(BAND)):
        with contextlib.suppress(OSError):
            taken.enter_context(socket.create_server(("127.0.0.1", port)))
            yield port

"""Ports of this machine for servers that a test starts."""

import contextlib
import socket


def free_ports(count: int) -> list[int]:
    """Return ports at which nobody listens, no two of them equal."""
    with contextlib.ExitStack() as taken:
        sockets = [taken.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(found.getsockname()[1]) for found in sockets]


def free_port() -> int:
    """Return a port at which nobody listens."""
    return free_ports(1)[0]

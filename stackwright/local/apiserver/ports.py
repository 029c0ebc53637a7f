"""Ports on loopback that stay ours for as long as we live, whether or not a program listens on them."""

import socket
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from stackwright.local.apiserver.flags import LOOPBACK, Ports


class Reserved:
    """Free ports, each held by a socket that is bound but does not listen.

    The programs bind the same ports with SO_REUSEPORT. So nobody else can get a port between our choice and the
    program's start, or while a program is restarted; a client that connects meanwhile is refused, as it should be.
    """

    def __init__(self) -> None:
        with ExitStack() as stack:
            etcd, apiserver, controller_manager = (stack.enter_context(_bound()) for _ in range(3))
            self.ports = Ports(_port(etcd), _port(apiserver), _port(controller_manager))
            self._held = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._held.close()


def _bound() -> socket.socket:
    holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    # The kernel never chooses a port for us that another socket has, not even one of another SO_REUSEPORT.
    holder.bind((LOOPBACK, 0))
    return holder


def _port(holder: socket.socket) -> int:
    port: int = holder.getsockname()[1]
    return port

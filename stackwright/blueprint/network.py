"""How a service declares which connections its pods have, in addition to those of its needs and endpoints."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stackwright.blueprint.workloads import Protocol

# What connects to a port, if not the pods of services that need what it serves.
BY_OPERATORS, ANYBODY = "operators", "anybody"


def _never(_: Any) -> bool:
    return False


def _none(_: Any) -> tuple[int, ...]:
    return ()


@dataclass(frozen=True)
class Listen:
    """A port of a component that is not an API of OpenStack, and what connects to it; the operators always may.

    `by` is the word of the need that the port serves: pods with such a need may connect. Or it says who else may.
    """

    port: int
    by: str
    component: str = "server"
    protocol: Protocol = "TCP"


@dataclass(frozen=True)
class Network:
    """With whom the pods of a service talk.

    `peers` says that they are nodes of one cluster, which talk to each other on any port; `kubernetes` that they ask
    the cluster's own API. `exposed` says of a resource that the user leads others than pods to it: its ports are then
    open to anybody, except those for operators. `dials` are ports of hosts that the service's own users name, wherever
    they are; two numbers are the first and the last port of a range. `resolves` returns the ports of name servers that
    the user names: they are asked by UDP and by TCP.
    """

    listens: tuple[Listen, ...] = ()
    peers: bool = False
    kubernetes: bool = False
    exposed: Callable[[Any], bool] = _never
    dials: tuple[int | tuple[int, int], ...] = ()
    resolves: Callable[[Any], tuple[int, ...]] = _none

"""Which ports of nodes a cluster has for Services."""

import os
from collections.abc import Mapping

from stackwright.kube.errors import ConfigError

# If the API server has another range (--service-node-port-range), the operators must be given it too.
VARIABLE = "STACKWRIGHT_NODE_PORTS"
USUAL = "30000-32767"


def allowed(environment: Mapping[str, str] = os.environ) -> tuple[int, int]:
    """Return the first and the last node port of the cluster."""
    said = environment.get(VARIABLE) or USUAL
    first, _, last = said.partition("-")
    if not (first.isdigit() and last.isdigit() and 0 < int(first) <= int(last) <= 65535):
        raise ConfigError(f"{VARIABLE} is {said}, which is not a range of ports; write it as {USUAL}.")
    return int(first), int(last)


def problem(port: int) -> str:
    """Return why a port cannot be a node port; an empty text if it can."""
    first, last = allowed()
    if first <= port <= last:
        return ""
    return f"must be from {first} to {last}, the cluster's range of node ports, and is {port}"

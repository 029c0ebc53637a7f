"""Which ports of nodes a cluster has for Services."""

import os
from collections.abc import Mapping

from stackwright.blueprint.whole_numbers import read_number
from stackwright.kube.errors import ConfigError

# If the API server has another range (--service-node-port-range), the operators must be given it too.
VARIABLE = "STACKWRIGHT_NODE_PORTS"
USUAL = "30000-32767"


def allowed(environment: Mapping[str, str] = os.environ) -> tuple[int, int]:
    """Return the first and the last node port of the cluster."""
    said = environment.get(VARIABLE) or USUAL
    begin, _, end = said.partition("-")
    first, last = read_number(begin), read_number(end)
    if first is None or last is None or not 0 < first <= last <= 65535:
        raise ConfigError(f"{VARIABLE} is {said}, which is not a range of ports; write it as {USUAL}.")
    return first, last


def problem(port: int) -> str:
    """Return why a port cannot be a node port; an empty text if it can."""
    first, last = allowed()
    if first <= port <= last:
        return ""
    return f"must be from {first} to {last}, the cluster's range of node ports, and is {port}"

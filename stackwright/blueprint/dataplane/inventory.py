"""What Ansible reads of its hosts: one host for each machine, with all variables at the host. Pure."""

from collections.abc import Mapping
from typing import Any

import yaml

from stackwright.blueprint.dataplane.inheritance import Machine
from stackwright.kube import documents

# The key of ConfigMaps with an inventory, and the file in a run.
INVENTORY_KEY, INVENTORY_FILE = "inventory", "hosts.yaml"
# How the objects with a node's inventory are named.
NAME = "dataplanenode-{}"
SECRET_NAME = "dataplanenode-{}-secret"  # noqa: S105  the name of an object
# What says how a machine is reached, and what it is called: no variable of a user's.
_REACHED = ("ansible_host", "ansible_user", "ansible_port", "canonical_hostname")


def describe_host(machine: Machine, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the inventory says of a machine; how it is reached is not for variables to change."""
    return {
        **variables,
        "ansible_host": machine.address,
        "ansible_user": machine.user,
        "ansible_port": machine.port,
        "canonical_hostname": machine.host_name,
    }


def write_inventory(hosts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return an inventory in YAML, the same for the same hosts."""
    listed = {name: dict(hosts[name]) for name in sorted(hosts)}
    return yaml.dump(
        {"all": {"hosts": listed}},
        Dumper=documents.WithoutAliases,
        sort_keys=True,
        default_flow_style=False,
        width=4096,
    )


def read_host(inventory: str, host: str) -> dict[str, Any] | None:
    """Return the variables of a host in an inventory, but for how it is reached; None if it is not in there."""
    found = read_hosts(inventory).get(host)
    return None if found is None else without_way(found)


def read_hosts(inventory: str) -> dict[str, dict[str, Any]]:
    """Return the hosts of an inventory, each with all its variables; none if it cannot be read."""
    try:
        # Read quickly, because every pass of a service on a node does.
        (said,) = documents.read(inventory)
        return {str(name): dict(variables or {}) for name, variables in said["all"]["hosts"].items()}
    except (yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError):
        return {}


def without_way(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables of a host that do not say how it is reached."""
    return {name: value for name, value in variables.items() if name not in _REACHED}

"""What a node tells OVN of itself, and which bridges it has. Pure."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

# Marks the bridges that were made for a physical network or for a fake host, so that they go with it.
MARK = "stackwright-network"
FAKE = "stackwright-fake-host"
_NODES = uuid.UUID("7b0d9a0e-0d5c-5b0c-9d0a-5d1f2f1d7a51")
# For how many milliseconds a controller that starts keeps the flows that it finds, until it has computed its own.
KEEP_FLOWS = "8000"


@dataclass(frozen=True)
class Bridge:
    """A bridge of a physical network."""

    name: str
    network: str
    interface: str


def system_id(host: str) -> str:
    """Return the id of a host: always the same, so that a node that was installed anew is the same chassis."""
    return str(uuid.uuid5(_NODES, host))


def bridges(networks: dict[str, str]) -> list[Bridge]:
    """Return the bridges of the physical networks, by their names."""
    return [Bridge(f"br-{network}", network, interface) for network, interface in sorted(networks.items())]


def external_ids(settings: dict[str, Any], node: str, address: str, datapath: str) -> dict[str, str]:
    """Return what a node tells OVN of itself."""
    mappings = ",".join(f"{bridge.network}:{bridge.name}" for bridge in bridges(settings["networks"]))
    return {
        **{name: value for name, value in settings["externalIds"].items() if value},
        "system-id": system_id(node),
        "hostname": node,
        "ovn-encap-ip": address,
        "ovn-bridge-mappings": mappings,
        "ovn-bridge-datapath-type": datapath,
        "ovn-ofctrl-wait-before-clear": KEEP_FLOWS,
    }


def fake_bridge(host: str) -> str:
    """Return the bridge of a fake host; nothing is ever plugged into it."""
    return f"br-int-{system_id(host)[:8]}"


def fake_ids(hosts: Iterable[str]) -> dict[str, str]:
    """Return what fake hosts tell OVN of themselves, where they differ from their node: each entry has its owner's id.

    No packet is for them. So each is in a zone of its own, in which there is nobody to have a tunnel with, and has an
    address that leads nowhere: OVN knows an address once. None of them is a gateway.
    """
    found: dict[str, str] = {}
    for host in hosts:
        name = system_id(host)
        number = uuid.UUID(name).int
        found |= {
            f"hostname-{name}": host,
            f"ovn-bridge-{name}": fake_bridge(host),
            f"ovn-encap-ip-{name}": f"127.{number % 254 + 1}.{number // 254 % 256}.{number // 254 // 256 % 254 + 1}",
            f"ovn-transport-zones-{name}": name,
            f"ovn-cms-options-{name}": "fake-host",
        }
    return found


def changes(present: dict[str, str], wanted: dict[str, str]) -> dict[str, str]:
    """Return the entries to set; what others set beside ours stays."""
    return {name: value for name, value in wanted.items() if present.get(name, "") != value}


def left(present: dict[str, str], host: str) -> list[str]:
    """Return the entries that a fake host left behind."""
    return sorted(name for name in present if name.endswith(f"-{system_id(host)}"))


def surplus(marked: dict[str, str], networks: dict[str, str]) -> list[str]:
    """Return the bridges whose networks are gone; `marked` are those that were made for one, with its name."""
    return sorted(bridge for bridge, network in marked.items() if network not in networks)


def is_settled(daemon_set: dict[str, Any]) -> bool:
    """Return whether a DaemonSet has a ready pod on each node that it selects, and none elsewhere."""
    status = daemon_set.get("status") or {}
    wanted = status.get("desiredNumberScheduled", 0)
    return (
        status.get("observedGeneration", 0) >= daemon_set["metadata"].get("generation", 0)
        and wanted > 0
        and status.get("numberReady", 0) == wanted
        and status.get("updatedNumberScheduled", 0) == wanted
        and status.get("numberMisscheduled", 0) == 0
    )


def deselected(said: dict[str, str], nodes: set[str]) -> list[str]:
    """Return the nodes that have reported, and are not among those that have a pod."""
    return sorted(said.keys() - nodes)

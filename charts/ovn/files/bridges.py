"""The bridges of a node's switch, in the switch's own database."""

import json

from controller_process import SOCKET
from programs import run


def vsctl(*command: str) -> str:
    """Ask or change the database of the switch, without waiting for the daemon."""
    return run("ovs-vsctl", f"--db=unix:{SOCKET}", "--no-wait", *command)


def read_external_ids(*of: str) -> dict[str, str]:
    """Return the external ids of a record."""
    rows = json.loads(vsctl("--format=json", "--columns=external_ids", "list", *of))["data"]
    return dict(rows[0][0][1]) if rows else {}


def marked_bridges(mark: str) -> dict[str, str]:
    """Return the bridges that were made for something, such as a physical network, with its name."""
    rows = json.loads(vsctl("--format=json", "--columns=name,external_ids", "list", "Bridge"))["data"]
    found = {name: dict(ids[1]).get(mark, "") for name, ids in rows}
    return {name: network for name, network in found.items() if network}


def make_bridge(name: str, datapath: str, mark: str, owner: str) -> None:
    """Make a bridge, with a mark that says for what."""
    vsctl(
        *("--may-exist", "add-br", name),
        *("--", "set", "Bridge", name, f"datapath_type={datapath}", f"external_ids:{mark}={owner}"),
    )

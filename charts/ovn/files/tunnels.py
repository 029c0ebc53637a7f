"""Which address a node's tunnels have, and who has that address.

A switch that forwards packets itself sends tunnelled ones only through a bridge of its own that has the address. So the
node's interface for tunnels becomes a port of such a bridge, and its addresses are the bridge's. With each restart of
the switch the bridge's interface is new and has none; the database of the switch keeps them.
"""

import json
import time
from pathlib import Path

from bridges import make_bridge, marked_bridges, read_external_ids, vsctl
from programs import Failed, run, say

BRIDGE = "br-tunnel"
# Marks the bridge with the interface that is its port, and says which addresses it has.
MARK = "stackwright-tunnel"
KEPT = "stackwright-addresses"
INTERFACES = Path("/sys/class/net")
# How long the switch may take to make the bridge's interface, in seconds.
PATIENCE = 5.0


def choose(on_interface: list[str], kept: list[str]) -> list[str]:
    """Return the addresses of the tunnels: what the interface has now, else what it had. Pure.

    A node that was started anew has given its interface the address again, maybe another one.
    """
    return on_interface or kept


def keep(interface: str, datapath: str) -> tuple[str, str]:
    """Make the node's tunnels as they shall be; return their address, and why there is none.

    Without an interface, tunnels have the address of the node.
    """
    bridge = marked_bridges(MARK).get(BRIDGE, "")
    alone = datapath == "netdev" and interface
    if bridge and (not alone or bridge != interface):
        release()
        bridge = ""
    if not interface:
        return "", ""
    if not (INTERFACES / interface).exists():
        return "", f"there is no interface {interface} for tunnels"
    kept = read_external_ids("Bridge", BRIDGE).get(KEPT, "").split() if bridge else []
    addresses = choose(addresses_of(interface), kept)
    if not addresses:
        return "", f"the interface {interface} for tunnels has no address"
    if alone:
        _give(interface, addresses, kept, datapath)
    return addresses[0].partition("/")[0], ""


def _give(interface: str, addresses: list[str], kept: list[str], datapath: str) -> None:
    """Let the bridge have the interface and its addresses; they are written down before they are taken away."""
    if addresses != kept:
        say(f"gives {' and '.join(addresses)} of {interface} to the bridge {BRIDGE}")
        make_bridge(BRIDGE, datapath, MARK, interface)
        vsctl("set", "Bridge", BRIDGE, f"external_ids:{KEPT}={json.dumps(' '.join(addresses))}")
    if interface not in vsctl("list-ports", BRIDGE).split():
        vsctl("--may-exist", "add-port", BRIDGE, interface)
        run("ip", "link", "set", interface, "up")
    _await(BRIDGE)
    if addresses_of(interface):
        run("ip", "address", "flush", "dev", interface, "scope", "global")
    if missing := [address for address in addresses if address not in addresses_of(BRIDGE)]:
        for address in missing:
            run("ip", "address", "replace", address, "dev", BRIDGE)
        run("ip", "link", "set", BRIDGE, "up")


def release() -> None:
    """Remove the bridge, and give its addresses back to the interface."""
    interface = marked_bridges(MARK).get(BRIDGE, "")
    if not interface:
        return
    say(f"gives the addresses of the bridge {BRIDGE} back to {interface}")
    if (INTERFACES / interface).exists():
        for address in read_external_ids("Bridge", BRIDGE).get(KEPT, "").split():
            run("ip", "address", "replace", address, "dev", interface)
    # The bridge's own interface goes with it, and what that has.
    vsctl("--if-exists", "del-br", BRIDGE)


def _await(interface: str) -> None:
    end = time.monotonic() + PATIENCE
    while not (INTERFACES / interface).exists():
        if time.monotonic() > end:
            raise Failed(f"the switch has not made the interface {interface} yet")
        time.sleep(0.1)


def addresses_of(interface: str) -> list[str]:
    """Return the addresses of an interface that others may use, each with the length of its network."""
    said = json.loads(run("ip", "-json", "address", "show", "dev", interface))
    return [
        f"{entry['local']}/{entry['prefixlen']}"
        for link in said
        for entry in link.get("addr_info", ())
        if entry.get("scope") == "global"
    ]

"""Connects a node with the host: four cables, two routes, and nothing in the host's firewall.

Kubernetes uses the first cable. The second one is spare: its end in the node has no address, and nobody uses it until a
workload takes it for networks of its own. The third one is for tunnels between the node and machines beside it. By the
fourth one the node and its pods reach what is behind the spare one: a bridge of the host joins the two, so the host
need not forward packets, which it may not do.

While there are machines, a bridge of the host joins their cables with the node's. It then has what the node's cable has
otherwise: the host's address and the routes. Another bridge joins the cables for tunnels, and has no address.
"""

import array
import fcntl
import hashlib
import json
import socket
import struct
import subprocess
from collections.abc import Collection, Iterable, Sequence
from ipaddress import IPv4Network
from typing import Any

from stackwright.local.cluster import spare_network, tunnel_network
from stackwright.local.cluster.addresses import Taken, parse
from stackwright.local.cluster.layout import Settings
from stackwright.local.errors import ClusterFailed

# What the cable is called inside of the node.
INNER = "eth0"
# A port of the node at which nobody listens.
CLOSED = 9
# The kernel's numbers for settings of a network card, and among them for the checksums of packets that it sends.
_SIOCETHTOOL, _ETHTOOL_STXCSUM = 0x8946, 0x17


def own_addresses() -> list[str]:
    """Return this machine's addresses."""
    return [address["local"] for link in _json("-4", "address") for address in link.get("addr_info", [])]


def taken(own: Collection[str] = ()) -> list[Taken]:
    """Return the ranges that this machine uses, except those of some links."""
    addresses = [Taken(range_, f"this machine's link {link}") for link, range_ in _addresses() if link not in own]
    routes = [Taken(range_, f"a route on {link}") for link, range_ in _routes() if link not in own]
    return [*addresses, *routes]


def _addresses() -> Iterable[tuple[str, IPv4Network]]:
    for link in _json("-4", "address"):
        for address in link.get("addr_info", []):
            yield link["ifname"], IPv4Network(f"{address['local']}/{address['prefixlen']}", strict=False)


def _routes() -> Iterable[tuple[str, IPv4Network]]:
    for route in _json("-4", "route", "show", "table", "all"):
        range_ = parse(route["dst"])
        if range_ is not None:
            yield route.get("dev", "nothing"), range_


def attach(settings: Settings, first: int) -> None:
    """Connect the node of that first process; what is connected already stays as it is."""
    if not has_link(settings.link):
        _add_cable(settings.link, first)
    network = settings.network
    length = IPv4Network(network.nodes).prefixlen
    outer = settings.link
    if has_link(settings.bridge):
        _ip("link", "set", settings.link, "master", settings.bridge)
        outer = settings.bridge
    _give_host_address(settings, outer)
    _ip("link", "set", settings.link, "up")
    inner = ("nsenter", "--net", "--target", str(first), "ip")
    _run([*inner, "link", "set", "lo", "up"])
    _run([*inner, "address", "replace", f"{settings.address}/{length}", "dev", INNER])
    _run([*inner, "link", "set", INNER, "up"])
    _run([*inner, "route", "replace", "default", "via", network.host])
    _refuse_unknown(network.services, first)
    _route(settings, outer)
    _attach_spare(settings, first)
    _attach_tunnels(settings, first)


def _route(settings: Settings, outer: str) -> None:
    """Let the host reach Services and pods, through the node."""
    for range_ in (settings.network.services, settings.network.pods):
        _ip("route", "replace", range_, "via", settings.address, "dev", outer)


def share(settings: Settings) -> None:
    """Make the bridges that join the node with machines beside it; whatever of them is there stays as it is."""
    _add_bridge(settings.bridge)
    _give_host_address(settings, settings.bridge)
    if has_link(settings.link):
        _ip("link", "set", settings.link, "master", settings.bridge)
        _ip("address", "flush", "dev", settings.link)
        _route(settings, settings.bridge)
    _add_bridge(settings.tunnel_bridge)
    if has_link(settings.tunnel_link):
        _ip("link", "set", settings.tunnel_link, "master", settings.tunnel_bridge)


def _add_bridge(name: str) -> None:
    if not has_link(name):
        # Without an address of its own it takes one of its cables', and loses it with that cable.
        _ip("link", "add", name, "address", hardware_address(name), "type", "bridge")
    _ip("link", "set", name, "up")


def plug(settings: Settings, cable: str, tunnel_cable: str, first: int) -> None:
    """Connect the machine of that first process with the bridges."""
    for name, bridge, inner in (
        (cable, settings.bridge, INNER),
        (tunnel_cable, settings.tunnel_bridge, tunnel_network.INTERFACE),
    ):
        if not has_link(name):
            _add_cable(name, first, inner)
        _ip("link", "set", name, "master", bridge, "up")


def _add_cable(cable: str, first: int, inner: str = INNER) -> None:
    """Lay a cable to the machine of that first process, which calls its end `inner`.

    The machine's end has the same hardware address after every restart. Its neighbours remember the address for a
    minute or longer, and until then would send to one that nobody has any more.
    """
    peer = ("peer", "name", inner, "address", hardware_address(f"{cable} {inner}"), "netns", str(first))
    _ip("link", "add", cable, "type", "veth", *peer)


def hardware_address(name: str) -> str:
    """Return the hardware address of what has that name on this machine; pure.

    The first byte says that the address was given by hand, and is that of a single card.
    """
    digest = hashlib.sha256(name.encode()).hexdigest()
    return ":".join(("02", *(digest[place : place + 2] for place in range(0, 10, 2))))


def stop_sharing(settings: Settings) -> None:
    """Remove the bridges once no machine is connected to them; the node's cable gets back what it had."""
    if has_link(settings.tunnel_bridge) and not set(_ports(settings.tunnel_bridge)) - {settings.tunnel_link}:
        _ip("link", "delete", settings.tunnel_bridge)
    if not has_link(settings.bridge) or set(_ports(settings.bridge)) - {settings.link}:
        return
    _ip("link", "delete", settings.bridge)
    if has_link(settings.link):
        _give_host_address(settings, settings.link)
        _route(settings, settings.link)


def _give_host_address(settings: Settings, link: str) -> None:
    length = IPv4Network(settings.network.nodes).prefixlen
    _ip("address", "replace", f"{settings.network.host}/{length}", "dev", link)


def _ports(bridge: str) -> list[str]:
    return [link["ifname"] for link in _json("link", "show", "master", bridge)]


def _attach_spare(settings: Settings, first: int) -> None:
    """Connect the spare cable; a workload may have it already, so nothing is changed at the node's end of one."""
    link, bridge, spare = settings.spare_link, settings.spare_bridge, settings.network.spare
    if not has_link(link):
        _ip("link", "add", link, "type", "veth", "peer", "name", spare_network.INTERFACE, "netns", str(first))
        _run(["nsenter", "--net", "--target", str(first), "ip", "link", "set", spare_network.INTERFACE, "up"])
    _add_bridge(bridge)
    # A cluster of an earlier version has the host's address there.
    _ip("address", "flush", "dev", link)
    _ip("address", "replace", f"{spare.host}/{IPv4Network(spare.range).prefixlen}", "dev", bridge)
    compute_checksums(link)
    _ip("link", "set", link, "master", bridge, "up")
    _attach_way(settings, first)


def _attach_way(settings: Settings, first: int) -> None:
    """Let the node and its pods reach what is behind the spare cable. They ask; nobody there may ask them."""
    link, inner = settings.way_link, spare_network.WAY
    if not has_link(link):
        _add_cable(link, first, inner)
        inside = ("nsenter", "--net", "--target", str(first))
        _run([*inside, "ip", "link", "set", inner, "addrgenmode", "none"])
        # Before anything else looks at a packet: kube-proxy would send those for a NodePort to a pod.
        new = ("--in-interface", inner, "--match", "conntrack", "--ctstate", "NEW", "--jump", "DROP")
        _run([*inside, "iptables", "--wait", "--table", "mangle", "--append", "PREROUTING", *new])
        _run([*inside, "ip", "address", "replace", settings.network.spare.way, "dev", inner])
        _run([*inside, "ip", "link", "set", inner, "up"])
    _ip("link", "set", link, "master", settings.spare_bridge, "up")


def _attach_tunnels(settings: Settings, first: int) -> None:
    """Connect the cable for tunnels; a switch may have it and its address already, so these are given once."""
    link, inner = settings.tunnel_link, tunnel_network.INTERFACE
    if not has_link(link):
        _add_cable(link, first, inner)
        inside = ("nsenter", "--net", "--target", str(first), "ip")
        address = settings.network.tunnels.interface_of(settings.address)
        _run([*inside, "address", "replace", address, "dev", inner])
        _run([*inside, "link", "set", inner, "up"])
    if has_link(settings.tunnel_bridge):
        _ip("link", "set", link, "master", settings.tunnel_bridge)
    _ip("link", "set", link, "up")


def compute_checksums(link: str) -> None:
    """Let the kernel compute the checksums of what it sends on a virtual cable.

    Otherwise it leaves that to a card, which is not there. A switch in user space, which a workload may run behind the
    cable, would take such packets for damaged ones.
    """
    setting = array.array("B", struct.pack("II", _ETHTOOL_STXCSUM, 0))
    request = struct.pack("16sP", link.encode(), setting.buffer_info()[0]).ljust(40, b"\0")
    try:
        with socket.socket() as any_socket:
            fcntl.ioctl(any_socket, _SIOCETHTOOL, request)
    except OSError as error:
        raise ClusterFailed(f"The checksums of {link} cannot be set: {error.strerror}.") from error


def _refuse_unknown(services: str, first: int) -> None:
    """Refuse, in the node, connections to a Service's address that kube-proxy does not know yet.

    They would leave the node unchanged and be lost, and the kernel would send each further try of the same connection
    the same way: whoever is a moment too early would wait for minutes, where he should try again. The node itself
    answers them, at a port where nobody listens: kube-router may accept what is forwarded before any rule of ours.
    """
    tables = ("nsenter", "--net", "--target", str(first), "iptables", "--wait", "--table")
    answered = ("--jump", "REDIRECT", "--to-ports", str(CLOSED))
    rules: list[tuple[str, ...]] = [
        ("nat", "PREROUTING", "--destination", services, "--protocol", protocol, *answered)
        for protocol in ("tcp", "udp")
    ]
    # All else, such as a ping, has no port.
    rules.append(("filter", "FORWARD", "--destination", services, "--jump", "REJECT"))
    for table, *rule in rules:
        known = subprocess.run([*tables, table, "--check", *rule], check=False, capture_output=True)  # noqa: S603  no shell
        if known.returncode:
            _run([*tables, table, "--append", *rule])


def detach(settings: Settings) -> None:
    """Remove the node's cables and the bridge of the spare one, and with them their routes."""
    unplug(settings.link)
    unplug(settings.spare_link)
    unplug(settings.way_link)
    unplug(settings.spare_bridge)
    unplug(settings.tunnel_link)


def unplug(cable: str) -> None:
    """Remove a cable, or a bridge."""
    if not has_link(cable):
        return
    try:
        _ip("link", "delete", cable)
    except ClusterFailed:
        # The kernel takes it away by itself, a moment after the machine's end; that may be this moment.
        if has_link(cable):
            raise


def has_link(name: str) -> bool:
    """Return whether the host has a link of that name, such as its end of a cable."""
    return any(link["ifname"] == name for link in _json("link"))


def addresses_on(link: str) -> list[str]:
    """Return the addresses of a link, in the network namespace of this process."""
    return [address["local"] for found in _json("-4", "address", "show", "dev", link) for address in found["addr_info"]]


def add_address(address: str, link: str) -> None:
    """Give a link one more address, and no network with it; one that it has already stays as it is."""
    _ip("address", "replace", f"{address}/32", "dev", link)


def remove_address(address: str, link: str) -> None:
    """Take an address away from a link."""
    _ip("address", "delete", f"{address}/32", "dev", link)


def _json(*arguments: str) -> list[dict[str, Any]]:
    answer: list[dict[str, Any]] = json.loads(_run(["ip", "-json", *arguments]) or "[]")
    return answer


def _ip(*arguments: str) -> None:
    _run(["ip", *arguments])


def _run(command: Sequence[str]) -> str:
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603  no shell
    except OSError as error:
        raise ClusterFailed(f"{command[0]} cannot be run: {error.strerror}.") from error
    except subprocess.CalledProcessError as error:
        raise ClusterFailed(f"`{' '.join(command)}` failed: {error.stderr.strip()}") from error

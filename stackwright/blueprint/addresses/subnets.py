"""Networks and subnets as values to compute with. Pure."""

import contextlib
import re
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from stackwright.api.network import NetConfig, NetConfigSpec, Network, Subnet

Address = IPv4Address | IPv6Address
Prefix = IPv4Network | IPv6Network
_NUMBERS = re.compile(r"(?:0[xX][0-9a-fA-F]+|[0-9]+)(?:\.(?:0[xX][0-9a-fA-F]+|[0-9]+)){0,3}")


@dataclass(frozen=True)
class Place:
    """A subnet of a network, and its prefix."""

    network: Network
    subnet: Subnet
    prefix: Prefix

    @property
    def domain(self) -> str:
        """The domain of the names in the subnet."""
        return self.subnet.dnsDomain or self.network.dnsDomain

    def closed(self) -> frozenset[Address]:
        """Return the addresses that nobody gets: those excluded, the gateway, the prefix's own, and the broadcast's."""
        named = (parse_address(text) for text in (*self.subnet.excludeAddresses, self.subnet.gateway))
        return frozenset((*(address for address in named if address is not None), *self.own()))

    def own(self) -> Iterator[Address]:
        """Yield the addresses of the prefix itself, and of all machines in it."""
        # Prefixes for two machines or one (RFC 3021, RFC 6164) have neither an address of their own nor a broadcast.
        if self.prefix.num_addresses > 2:
            yield self.prefix.network_address
            # What looks like it in IPv6 is an address like any other.
            if self.prefix.version == 4:
                yield self.prefix.broadcast_address

    def ranges(self) -> Iterator[tuple[Address, Address]]:
        """Yield first and last address of each allocation range that can be read."""
        for each in self.subnet.allocationRanges:
            first, last = parse_address(each.start), parse_address(each.end)
            if first is not None and last is not None and first.version == last.version == self.prefix.version:
                yield first, last

    def candidates(self) -> Iterator[Address]:
        """Yield the addresses that may be given, in order.

        At the next hop of a route there is a router. It may be one of our machines: an IPSet may ask for the address.
        """
        hops = (parse_address(route.nexthop) for route in self.subnet.routes)
        closed = self.closed().union(address for address in hops if address is not None)
        for first, last in self.ranges():
            make = IPv4Address if first.version == 4 else IPv6Address
            for number in range(int(first), int(last) + 1):
                address = make(number)
                if address not in closed and address in self.prefix:
                    yield address

    def offers(self, address: Address) -> bool:
        """Return whether an address lies in an allocation range."""
        return any(int(first) <= int(address) <= int(last) for first, last in self.ranges()) and (
            address.version == self.prefix.version
        )


def parse_address(text: str) -> Address | None:
    """Return an address; None for what is none. That of one link, with its name behind a %, is none for others."""
    try:
        return None if "%" in text else ip_address(text)
    except ValueError:
        return None


def parse_prefix(text: str) -> Prefix | None:
    """Return a prefix; None for what is none. That of a machine (192.168.122.7/24) stands for that of its subnet."""
    try:
        return ip_network(text, strict=False) if "/" in text else None
    except ValueError:
        return None


def normalize(text: str) -> str:
    """Return an address, or a name, as it is written always. An address of IPv4 may be written as one of IPv6."""
    address = parse_address(text) if ":" in text else None
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or address)
    return complete(text)


def complete(text: str) -> str:
    """Return an address of IPv4 with its four numbers, or a name in lower case.

    All who connect take 10.1 and 0xa.1 for 10.0.0.1.
    """
    if _NUMBERS.fullmatch(text):
        with contextlib.suppress(OSError):
            return socket.inet_ntoa(socket.inet_aton(text))
    return text.lower()


def find_network(spec: NetConfigSpec, name: str) -> Network | None:
    """Return a network by its name, whatever the case of its letters."""
    wanted = name.lower()
    return next((network for network in spec.networks if network.name.lower() == wanted), None)


def find_place(spec: NetConfigSpec, network: str, subnet: str) -> Place | None:
    """Return a subnet by its names, whatever the case of their letters; None where there is none with a prefix."""
    found = find_network(spec, network)
    wanted = subnet.lower()
    for each in found.subnets if found is not None else ():
        prefix = parse_prefix(each.cidr)
        if found is not None and each.name.lower() == wanted and prefix is not None:
            return Place(found, each, prefix)
    return None


def find_eldest(found: Iterable[NetConfig]) -> NetConfig | None:
    """Return the NetConfig of a namespace that counts; None if there is none."""
    return next(iter(elder_first(found)), None)


def elder_first(found: Iterable[NetConfig]) -> list[NetConfig]:
    """Return the NetConfigs of a namespace, the one that counts first: it was there first."""
    return sorted(
        (each for each in found if not each.deleting),
        key=lambda each: (each.metadata.creationTimestamp, each.metadata.name),
    )

"""The network for tunnels between the node and the machines beside it; pure.

Switches that forward packets themselves, because the kernel has no Open vSwitch, tunnel only through an interface that
they have for themselves. So the node and each machine have one that nothing else uses, with an address.
"""

from ipaddress import IPv4Address, IPv4Network

import msgspec

# The interface in the node and in each machine.
INTERFACE = "tunnel0"


class TunnelNetwork(msgspec.Struct, frozen=True):
    """A network between the node and the machines; this machine only joins their cables, and has no address in it.

    Everybody has the same place in it as among the nodes' addresses.
    """

    range: str
    nodes: str

    def interface_of(self, address: str) -> str:
        """Return the address, with the length of the network, of who has that address among the nodes."""
        nodes, own = IPv4Network(self.nodes), IPv4Network(self.range)
        place = int(IPv4Address(address)) - int(nodes.network_address)
        return f"{own[place]}/{own.prefixlen}"

"""Chooses the addresses of a cluster so that they collide with nothing on this machine; pure."""

import ipaddress
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network

import msgspec

from stackwright.local.cluster.spare_network import SpareNetwork
from stackwright.local.cluster.tunnel_network import TunnelNetwork
from stackwright.local.errors import Collision

# How many machines may be beside the node, and where their addresses begin.
MACHINES, _FIRST_MACHINE = 64, 64
# A route that is wider than this leads to the internet, and is not a local network.
_WIDEST = 8


class Network(msgspec.Struct, frozen=True):
    """The address ranges of one cluster: for its nodes and the host, pods and Services, one to spare, and tunnels."""

    nodes: str
    pods: str
    services: str

    @property
    def host(self) -> str:
        """The host's own address among the nodes."""
        return str(IPv4Network(self.nodes)[1])

    @property
    def api_service(self) -> str:
        """The address of the API server's Service; Kubernetes always takes the first."""
        return str(IPv4Network(self.services)[1])

    @property
    def dns_service(self) -> str:
        """The address of the Service that answers for names."""
        return str(IPv4Network(self.services)[10])

    def node(self, index: int) -> str:
        """Return the address of a node, counted from zero."""
        return str(IPv4Network(self.nodes)[index + 2])

    def machine(self, index: int) -> str:
        """Return the address of a machine beside the cluster, counted from zero."""
        return str(IPv4Network(self.nodes)[_FIRST_MACHINE + index])

    def pods_of(self, index: int) -> str:
        """Return the range of the pods of a node, counted from zero."""
        first = IPv4Network(self.pods)[index * 256]
        return f"{first}/24"

    @property
    def load_balancers(self) -> str:
        """The addresses for Services of type LoadBalancer: among the nodes' own, so that nobody needs a route."""
        return f"{IPv4Network(self.nodes)[192]}/27"

    @property
    def spare(self) -> SpareNetwork:
        """The network behind the nodes' spare interface: the range after their own."""
        nodes = IPv4Network(self.nodes)
        return SpareNetwork(f"{nodes.broadcast_address + 1}/{nodes.prefixlen}")

    @property
    def tunnels(self) -> TunnelNetwork:
        """The network for tunnels between nodes and machines: the range after the spare one."""
        spare = IPv4Network(self.spare.range)
        return TunnelNetwork(f"{spare.broadcast_address + 1}/{spare.prefixlen}", self.nodes)

    @property
    def ranges(self) -> tuple[IPv4Network, ...]:
        """All five."""
        named = (self.nodes, self.pods, self.services, self.spare.range, self.tunnels.range)
        return tuple(IPv4Network(one) for one in named)


@dataclass(frozen=True)
class Taken:
    """A range that is in use, and by what."""

    range: IPv4Network
    by: str


def candidates() -> Iterator[Network]:
    """Return the networks that a cluster may get, in the order in which they are tried."""
    for slot in range(16):
        yield Network(f"10.{192 + slot}.0.0/24", f"10.{176 + slot}.0.0/16", f"10.{160 + slot}.0.0/16")
    for slot in range(5):
        second = 16 + 3 * slot
        yield Network(f"172.{second + 2}.0.0/24", f"172.{second + 1}.0.0/16", f"172.{second}.0.0/16")


def collisions(network: Network, taken: Iterable[Taken]) -> list[Taken]:
    """Return what of others a network would cover."""
    narrow = [one for one in taken if one.range.prefixlen >= _WIDEST]
    return [one for one in narrow if any(own.overlaps(one.range) for own in network.ranges)]


def choose(taken: Iterable[Taken]) -> Network:
    """Return the first network that collides with nothing."""
    taken = list(taken)
    for network in candidates():
        if not collisions(network, taken):
            return network
    first = next(candidates())
    raise Collision(
        "There are no addresses left for a cluster: each range that it could use is taken on this machine. "
        f"For one, {_described(collisions(first, taken))}. Remove one of these, or stop another cluster."
    )


def check(network: Network, taken: Iterable[Taken], *, name: str) -> None:
    """Raise when the addresses that an instance has had until now are somebody else's."""
    if found := collisions(network, taken):
        raise Collision(
            f"The cluster {name} cannot use its addresses again: {_described(found)}. "
            f"Remove that, or give up the cluster's data with `stackwright local down --name {name}`."
        )


def _described(found: list[Taken]) -> str:
    return " and ".join(dict.fromkeys(f"{one.range} belongs to {one.by}" for one in found[:3]))


def parse(text: str) -> IPv4Network | None:
    """Return the range that `ip` names, such as 10.0.0.1 or 10.0.0.0/8; nothing for a default route."""
    try:
        return ipaddress.IPv4Network(text, strict=False)
    except ValueError:
        return None

"""The names of a machine in the networks of its NetConfig, and the servers that it asks for names. Pure."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.network import DNS_DATA, DNSData, IPSetReservation, NetConfig, service_network
from stackwright.blueprint.addresses.subnets import find_place
from stackwright.blueprint.dataplane.addresses import find_addresses, is_ctlplane
from stackwright.blueprint.dataplane.inheritance import inherit
from stackwright.blueprint.look import Look
from stackwright.blueprint.providers import NameServer
from stackwright.kube.plan import Wait
from stackwright.kube.resource import JsonObject

# How many servers we name at most: a resolver reads three, and one of them has to be the machine's own, which knows
# all other names.
MOST_SERVERS = 2
# The most characters of a name in DNS.
_LONGEST = 253


def describe_dns_data(
    node: OpenStackDataPlaneNode, role: OpenStackDataPlaneRole, look: Look, taken: Container[str] = ()
) -> JsonObject | None:
    """Return the DNSData with the names of a node; None if it has no addresses, or does not have them yet.

    Names that are `taken` are left out.
    """
    machine = inherit(node, role)
    addresses = find_addresses(machine, look)
    if isinstance(addresses, Wait) or not addresses:
        return None
    named = {
        each.address: [name for name in list_names(machine.host_name, each) if name not in taken] for each in addresses
    }
    hosts = [{"ip": address, "hostnames": names} for address, names in named.items() if names]
    return {"metadata": {"name": machine.name}, "spec": {"hosts": hosts}} if hosts else None


def shorten(node: OpenStackDataPlaneNode) -> str:
    """Return the first part of a node's host name, which stands before the domains of its networks."""
    return (node.spec.hostName or node.metadata.name).partition(".")[0].lower()


@dataclass(frozen=True)
class Around:
    """What there is already: the addresses that a node was told, and the DNSData of others by the names of their nodes.

    Either may be from before the NetConfig was changed, and a node whose role is gone still has its names.
    """

    addresses: tuple[IPSetReservation, ...] = ()
    served: Mapping[str, DNSData] = field(default_factory=dict)

    def list_served(self, node: str) -> set[str]:
        """Return the names that lead to a node."""
        found = self.served.get(node)
        hosts = found.spec.hosts if found is not None else ()
        return {name.lower().rstrip(".") for host in hosts for name in host.hostnames}


def find_taken(
    node: OpenStackDataPlaneNode,
    others: Iterable[OpenStackDataPlaneNode],
    roles: Mapping[str, OpenStackDataPlaneRole],
    networks: NetConfig | None,
    around: Around | None = None,
) -> dict[str, str]:
    """Return the names of a node that an older one has, each with that one.

    They are called one.example.com and one.example.org, say, and both would be one.ctlplane.example.net. A name that
    leads to two machines is worse than none, and the older one keeps what it has.
    """
    around = around or Around()
    host_name = node.spec.hostName or node.metadata.name
    have = (name for address in around.addresses for name in list_names(host_name, address))
    mine = _expect_names(node, roles.get(node.spec.role), networks).union(have)
    found: dict[str, str] = {}
    alike = (other for other in others if other.metadata.name != node.metadata.name and shorten(other) == shorten(node))
    for other in sorted((other for other in alike if _age(other) < _age(node)), key=_age):
        theirs = _expect_names(other, roles.get(other.spec.role), networks) | around.list_served(other.metadata.name)
        found |= dict.fromkeys(sorted(mine & theirs - found.keys()), other.metadata.name)
    return found


def _age(node: OpenStackDataPlaneNode) -> tuple[bool, str, str]:
    """Return the order in which nodes came; one that is being created has no time yet."""
    created = node.metadata.creationTimestamp
    return not created, created, node.metadata.name


def _expect_names(
    node: OpenStackDataPlaneNode, role: OpenStackDataPlaneRole | None, networks: NetConfig | None
) -> set[str]:
    """Return the names that a node has, or will have as soon as it has its addresses."""
    if role is None or networks is None:
        return set()
    machine = inherit(node, role)
    places = (find_place(networks.spec, each.name, each.subnetName) for each in machine.networks)
    addresses = (
        IPSetReservation(
            network=place.network.name, dnsDomain=place.domain, serviceNetwork=service_network(place.network)
        )
        for place in places
        if place is not None
    )
    return {name for address in addresses for name in list_names(machine.host_name, address)}


def list_names(host_name: str, address: IPSetReservation) -> list[str]:
    """Return the names of an address: the host's in the domain of its network; in ctlplane the whole name first.

    What no name in DNS can be is left out: a node works without a name. The case of letters means nothing in DNS.
    """
    short, dot, _ = host_name.partition(".")
    own = [host_name.lower()] if dot and is_ctlplane(address.network, address.serviceNetwork) else []
    inside = f"{short}.{address.dnsDomain}".lower()
    return [name for name in dict.fromkeys((*own, inside)) if _is_name(name)]


def _is_name(text: str) -> bool:
    return len(text) <= _LONGEST and all(0 < len(label) <= 63 for label in text.split("."))


def choose_servers(offers: Iterable[NameServer]) -> tuple[str, ...]:
    """Return the addresses of the servers that know the names of nodes, as many as leave room for another one."""
    found = dict.fromkeys(address for offer in offers if offer.serves == DNS_DATA for address in offer.addresses)
    return tuple(found)[:MOST_SERVERS]

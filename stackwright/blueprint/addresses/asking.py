"""Which addresses are asked for by themselves, and so are not given to others. Pure.

Only what can come true is kept back. An address does not move, and is not exchanged for another one: whoever has one in
a network gets no other there, and what lies outside of the subnet is given to nobody who asks for it there.
"""

from collections.abc import Iterable, Iterator, Mapping

from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.api.network import IPSet, IPSetNetwork, NetConfigSpec
from stackwright.blueprint.addresses.subnets import find_place, normalize, parse_address

# The addresses that an IPSet was told to have, by the name of the network in lower case.
Told = Mapping[str, str]


def list_kept_back(asking: IPSet | OpenStackDataPlaneNode) -> set[str]:
    """Return the addresses that others do not get because of one who asks for them, or whose machine is there."""
    told = list_told(asking) if isinstance(asking, IPSet) else {}
    reached = [asking.spec.ansibleHost] if isinstance(asking, OpenStackDataPlaneNode) else ()
    return {*(normalize(network.fixedIP) for network in list_open(asking, told)), *reached}


def list_told(ip_set: IPSet) -> Told:
    """Return the addresses that an IPSet was told to have."""
    return {each.network.lower(): normalize(each.address) for each in ip_set.status.reservations}


def list_open(asking: IPSet | OpenStackDataPlaneNode, told: Told) -> Iterator[IPSetNetwork]:
    """Yield the networks in which an address is asked for, and none was told that is another one."""
    if asking.deleting:
        return
    networks = asking.spec.networks if isinstance(asking, IPSet) else asking.spec.node.networks
    for each in networks:
        if each.fixedIP and told.get(each.name.lower(), normalize(each.fixedIP)) == normalize(each.fixedIP):
            yield each


def list_asked(
    ip_sets: Iterable[IPSet], nodes: Iterable[OpenStackDataPlaneNode], networks: NetConfigSpec
) -> frozenset[str]:
    """Return the addresses that are asked for, and that those who ask may get; the IPSet of a node has its name.

    It may not be there yet.
    """
    found: list[IPSet | OpenStackDataPlaneNode] = [*ip_sets]
    # One that is being deleted makes room for what its node asks for now.
    told = {each.metadata.name: list_told(each) for each in found if isinstance(each, IPSet) and not each.deleting}
    found.extend(nodes)
    asked = (each for asking in found for each in list_open(asking, told.get(asking.metadata.name, {})))
    return frozenset(normalize(each.fixedIP) for each in asked if _lies_there(each, networks))


def _lies_there(asked: IPSetNetwork, networks: NetConfigSpec) -> bool:
    """Return whether an address lies in the subnet in which it is asked for."""
    place, address = find_place(networks, asked.name, asked.subnetName), parse_address(normalize(asked.fixedIP))
    return place is not None and address is not None and address in place.prefix

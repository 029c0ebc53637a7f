"""The addresses of a machine in the networks of its NetConfig: what it asks for, and what Ansible is told. Pure."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec

from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.network import CTLPLANE, INPUT_READY, IPSet, IPSetNetwork, IPSetReservation, NetConfig
from stackwright.blueprint.addresses.subnets import find_eldest, find_place, parse_address, parse_prefix
from stackwright.blueprint.dataplane.inheritance import Machine, inherit
from stackwright.blueprint.look import Look, Survey
from stackwright.kube import conditions
from stackwright.kube.plan import Ends, Wait
from stackwright.kube.resource import JsonObject, is_controlled

# The variable with the servers that a machine asks for names.
NAME_SERVERS = f"{CTLPLANE}_dns_nameservers"
# What the variables of a network are called, behind its name.
_ADDRESS, _PREFIX, _VLAN, _MTU, _GATEWAY, _ROUTES = "ip", "cidr", "vlan_id", "mtu", "gateway_ip", "host_routes"


def describe_ip_set(node: OpenStackDataPlaneNode, role: OpenStackDataPlaneRole, look: Look) -> JsonObject | None:
    """Return the IPSet that a node asks for; None if it names no networks.

    Before there is a NetConfig, nobody knows whether the machine has its address in ctlplane already: an IPSet that is
    created too early would take another one.
    """
    machine = inherit(node, role)
    networks = find_networks(look) if machine.networks else None
    if networks is None:
        return None
    asked = [_fix(each, node.spec.ansibleHost, networks) for each in machine.networks]
    spec = {"networks": [msgspec.to_builtins(each) for each in asked]}
    return {"metadata": {"name": machine.name}, "spec": spec}


def _fix(asked: IPSetNetwork, host: str, networks: NetConfig) -> IPSetNetwork:
    """Return what is asked for in a network; a machine that is reached in ctlplane has its address there already."""
    address = parse_address(host)
    place = find_place(networks.spec, asked.name, asked.subnetName)
    if (
        asked.fixedIP
        or address is None
        or place is None
        or not is_ctlplane(place.network.name, place.network.serviceNetwork)
    ):
        return asked
    lies = address.version == place.prefix.version and address in place.prefix
    return msgspec.structs.replace(asked, fixedIP=str(address)) if lies else asked


def is_ctlplane(name: str, service_network: str = "") -> bool:
    """Return whether a network is the one by which Ansible reaches machines, by its name or that of its variables."""
    return (service_network or name.lower()) == CTLPLANE


def find_networks(look: Look) -> NetConfig | None:
    """Return the NetConfig of the namespace that counts; None if there is none."""
    found = look.of_kind(NetConfig) if isinstance(look, Survey) else ()
    return find_eldest(found)


def find_addresses(machine: Machine, look: Look) -> tuple[IPSetReservation, ...] | Wait:
    """Return the addresses of a machine, or a wait for them; none if it names no networks."""
    if not machine.networks:
        return ()
    if find_networks(look) is None:
        message = "There is no NetConfig yet, and the node names networks; create one, or remove networks"
        return Wait("NetConfigMissing", message, INPUT_READY, ends=Ends.BY_AUTHOR)
    ip_set = look(IPSet, machine.name)
    if ip_set is None:
        return Wait("AddressesRequested", f"IPSet {machine.name} is being created", INPUT_READY)
    current = ip_set.status.observedGeneration >= ip_set.metadata.generation
    if not current or not conditions.is_true(ip_set.status.conditions):
        ready = conditions.find(ip_set.status.conditions, conditions.READY)
        why = f": {ready.message}" if current and ready is not None else " has no addresses yet"
        return Wait("AddressesNotReady", f"IPSet {machine.name}{why}", INPUT_READY)
    told = {each.network.lower() for each in ip_set.status.reservations}
    if missing := [each.name for each in machine.networks if each.name.lower() not in told]:
        return Wait("AddressesNotReady", f"IPSet {machine.name} has no address in {missing[0]} yet", INPUT_READY)
    return ip_set.status.reservations


def find_unasked(node: OpenStackDataPlaneNode, machine: Machine, look: Look) -> Wait | None:
    """Return why a node waits that names no networks any more: its machine may still use the addresses that it has.

    They would be given to other machines as soon as its IPSet is gone, so only the user lets that go.
    """
    ip_set = look(IPSet, machine.name) if not machine.networks else None
    if ip_set is None or ip_set.deleting or not is_controlled(ip_set, node):
        return None
    message = (
        f"networks was removed from the node or its role, and IPSet {machine.name} still has its addresses; add the "
        "networks again, or delete the IPSet to release them"
    )
    return Wait("NetworksRemoved", message, INPUT_READY, ends=Ends.BY_USER)


def reach_by(machine: Machine, node: OpenStackDataPlaneNode, addresses: Iterable[IPSetReservation]) -> Machine:
    """Return a machine that is reached at its address in ctlplane, unless the node says where it is reached.

    What it asks for there counts before it has it. One that has to be provisioned first stays without an address.
    """
    if node.spec.ansibleHost or not machine.address:
        return machine
    asked = (each.fixedIP for each in machine.networks if is_ctlplane(each.name))
    own = next((each.address for each in addresses if is_ctlplane(each.network, each.serviceNetwork)), "")
    return replace(machine, address=own or next(asked, "") or machine.address)


def describe_networks(addresses: Iterable[IPSetReservation], name_servers: Iterable[str] = ()) -> dict[str, Any]:
    """Return the variables of a machine's networks, by the names that upstream's roles read."""
    addresses = tuple(addresses)
    if not addresses:
        return {}
    found: dict[str, Any] = {}
    for each in addresses:
        network = each.serviceNetwork.replace("-", "_")
        found |= {f"{network}_{word}": value for word, value in _describe(each).items() if value is not None}
    if servers := list(name_servers):
        found[NAME_SERVERS] = servers
    others = [each for each in addresses if not is_ctlplane(each.network, each.serviceNetwork)]
    return {
        **found,
        "dns_search_domains": list(dict.fromkeys(each.dnsDomain for each in addresses)),
        "nodeset_networks": [each.network for each in others],
        "networks_lower": {each.network: each.network.lower() for each in addresses},
        "network_servicenet_map": {each.network: each.serviceNetwork for each in addresses},
    }


def _describe(address: IPSetReservation) -> dict[str, Any]:
    prefix = parse_prefix(address.cidr)
    return {
        _ADDRESS: address.address,
        _PREFIX: prefix.prefixlen if prefix is not None else None,
        _VLAN: address.vlan,
        _MTU: address.mtu,
        _GATEWAY: address.gateway or None,
        _ROUTES: [{"destination": each.destination, "nexthop": each.nexthop} for each in address.routes],
    }

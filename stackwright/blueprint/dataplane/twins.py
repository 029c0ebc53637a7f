"""Nodes that stand for the same machine: by its host name, by where it is reached, or by its own keys. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.network import IPSet
from stackwright.blueprint.addresses.subnets import normalize
from stackwright.blueprint.dataplane.addresses import is_ctlplane, reach_by
from stackwright.blueprint.dataplane.host_keys import keys_of, lines_for
from stackwright.blueprint.dataplane.inheritance import Machine, inherit

# A node whose role is not there says itself where its machine is, or nobody knows.
_NO_ROLE = OpenStackDataPlaneRole()


def words_of(node: OpenStackDataPlaneNode) -> set[str]:
    """Return by what a node may be known as another one's twin, whatever its role says."""
    names = {normalize(node.spec.hostName or node.metadata.name), normalize(node.spec.ansibleHost)} - {""}
    return names | keys_of(node.status.hostKeys)


def find_given(ip_set: IPSet | None) -> Iterator[str]:
    """Yield the address at which an IPSet lets its node be reached, if that does not say where itself."""
    reserved = ip_set.status.reservations if ip_set is not None else ()
    yield from (each.address for each in reserved if is_ctlplane(each.network, each.serviceNetwork))


def locate(node: OpenStackDataPlaneNode, role: OpenStackDataPlaneRole | None, ip_set: IPSet | None) -> Machine:
    """Return the machine of a node, with the address at which it is reached as far as that is known."""
    machine = inherit(node, role or _NO_ROLE)
    return reach_by(machine, node, ip_set.status.reservations if ip_set is not None else ())


def find_twins(
    nodes: Iterable[OpenStackDataPlaneNode],
    roles: Mapping[str, OpenStackDataPlaneRole],
    ip_sets: Mapping[str, IPSet],
) -> dict[str, str]:
    """Return the nodes whose machine, by its host name, address or keys, is another node's, each with that one.

    Two nodes for one machine would be configured at the same time. The machine is that of the node that was there
    first: whose services were applied to it, or else the older one. That holds also for one that is being deleted, as
    long as it is there: its services are being removed from the machine.
    """
    nodes = list(nodes)
    said = {node.metadata.name: words_of(node).union(find_given(ip_sets.get(node.metadata.name))) for node in nodes}
    # Mostly there are none, and there may be many nodes: only those are compared that have a word in common.
    words = Counter(word for own in said.values() for word in own)
    nodes = [node for node in nodes if any(words[word] > 1 for word in said[node.metadata.name])]
    elders: dict[tuple[str, int], str] = {}
    twins: dict[str, str] = {}
    for node in sorted(nodes, key=_rank):
        machine = locate(node, roles.get(node.spec.role), ip_sets.get(node.metadata.name))
        # A host name has no port, and so is never taken for an address.
        places = [
            (normalize(machine.host_name), 0),
            *([(normalize(machine.address), machine.port)] if machine.address else []),
            # Names may lead to one machine in any number; those that were met elsewhere were another machine's.
            *((key, 0) for key in keys_of(lines_for(machine, "\n".join(node.status.hostKeys)))),
        ]
        elder = next((elders[place] for place in places if place in elders), "")
        if elder:
            twins[machine.name] = elder
        else:
            elders.update(dict.fromkeys(places, machine.name))
    return twins


def _rank(node: OpenStackDataPlaneNode) -> tuple[bool, str, str]:
    """Return the order in which nodes have a machine: an address from a NetConfig may have come late."""
    is_applied = any(record.appliedHash for record in node.status.services)
    return not is_applied, node.metadata.creationTimestamp, node.metadata.name

"""What is wrong with a NetConfig or an IPSet, and with a change of one: the path of the field, and why. Pure.

Admission asks this when a resource is written, and each reconcile asks it again.
"""

from collections.abc import Iterable, Iterator, Mapping

from stackwright.api.network import (
    IPSet,
    IPSetNetwork,
    IPSetSpec,
    NetConfigSpec,
    ReservationSpec,
    Subnet,
    service_network,
)
from stackwright.blueprint.addresses.allocation import Held
from stackwright.blueprint.addresses.subnets import (
    Address,
    Place,
    Prefix,
    find_network,
    find_place,
    normalize,
    parse_address,
    parse_prefix,
)
from stackwright.blueprint.refusal import Problem

# How many IPSets are named that have addresses in a subnet.
_NAMED = 3


def of_net_config(spec: NetConfigSpec, held: Iterable[Held], ip_sets: Iterable[IPSet]) -> Iterator[Problem]:
    """Yield what is wrong with a NetConfig, by itself and with what IPSets have and tell of it."""
    there = tuple(ip_sets)
    yield from of_networks(spec)
    yield from of_use(spec, held, fixed_by(there))
    yield from of_vlans(spec, there)


# A NetConfig by itself.


def of_networks(spec: NetConfigSpec) -> Iterator[Problem]:
    """Yield what cannot be in a NetConfig."""
    yield from _find_twins("spec.networks", "name", [network.name for network in spec.networks])
    yield from _find_twins("spec.networks", "dnsDomain", [network.dnsDomain for network in spec.networks])
    # Dashes become underscores in the names of variables.
    variables = [service_network(network).replace("-", "_") for network in spec.networks]
    yield from _find_twins("spec.networks", "serviceNetwork", variables)
    seen: list[tuple[str, Prefix]] = []
    for position, network in enumerate(spec.networks):
        path = f"spec.networks[{position}].subnets"
        yield from _find_twins(path, "name", [subnet.name for subnet in network.subnets])
        yield from _find_twins(path, "dnsDomain", [subnet.dnsDomain for subnet in network.subnets])
        for index, subnet in enumerate(network.subnets):
            place = f"{path}[{index}]"
            prefix = parse_prefix(subnet.cidr)
            if prefix is None:
                yield f"{place}.cidr", f"{subnet.cidr} is not a prefix; write it as 192.168.122.0/24"
                continue
            for other, theirs in seen:
                if prefix.version == theirs.version and prefix.overlaps(theirs):
                    yield f"{place}.cidr", f"{subnet.cidr} overlaps {theirs} of subnet {other}"
            seen.append((f"{network.name}/{subnet.name}", prefix))
            yield from _of_subnet(place, subnet, prefix)


def _find_twins(path: str, field: str, values: Iterable[str]) -> Iterator[Problem]:
    """Yield the values that stand there before, whatever the case of their letters."""
    first: dict[str, int] = {}
    for position, value in enumerate(values):
        if value and value.lower() in first:
            yield f"{path}[{position}].{field}", f"{value} is already in use at {path}[{first[value.lower()]}]"
        first.setdefault(value.lower(), position)


def _of_subnet(place: str, subnet: Subnet, prefix: Prefix) -> Iterator[Problem]:
    for index, text in enumerate(subnet.excludeAddresses):
        yield from _of_address(f"{place}.excludeAddresses[{index}]", text, prefix)
    if subnet.gateway:
        yield from _of_address(f"{place}.gateway", subnet.gateway, prefix)
    for index, each in enumerate(subnet.allocationRanges):
        path = f"{place}.allocationRanges[{index}]"
        wrong = [*_of_address(f"{path}.start", each.start, prefix), *_of_address(f"{path}.end", each.end, prefix)]
        yield from wrong
        first, last = parse_address(each.start), parse_address(each.end)
        if not wrong and first is not None and last is not None and int(first) > int(last):
            yield path, f"start {each.start} comes after end {each.end}"
    for index, route in enumerate(subnet.routes):
        path = f"{place}.routes[{index}]"
        destination = parse_prefix(route.destination)
        if destination is None:
            yield f"{path}.destination", f"{route.destination} is not a prefix; write it as 10.0.0.0/8"
        elif destination.version != prefix.version:
            yield f"{path}.destination", "cannot mix IPv4 and IPv6"
        yield from _of_address(f"{path}.nexthop", route.nexthop, prefix)


def _of_address(path: str, text: str, prefix: Prefix) -> Iterator[Problem]:
    address = parse_address(text)
    if address is None:
        yield path, f"{text} is not an IP address"
    elif address.version != prefix.version:
        yield path, "cannot mix IPv4 and IPv6"
    elif address not in prefix:
        yield path, f"{text} is not in {prefix}"


# A NetConfig with what IPSets have in it.


def of_use(spec: NetConfigSpec, held: Iterable[Held], fixed: Mapping[str, frozenset[str]]) -> Iterator[Problem]:
    """Yield where a NetConfig has no room any more for addresses that IPSets have.

    `fixed` are the addresses that each IPSet asks for by itself: they need not lie in an allocation range.
    """
    users: dict[Problem, list[str]] = {}
    for each in held:
        place = find_place(spec, each.network, each.subnet)
        address = parse_address(each.address)
        if address is None:
            continue
        free = each.address in fixed.get(each.ip_set, ())
        problem = _missing(spec, each) if place is None else _too_small(spec, place, address, free=free)
        if problem is not None:
            users.setdefault(problem, []).append(f"{each.ip_set} ({each.address})")
    for (path, sentence), names in users.items():
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        listed = f"{', '.join(names[:_NAMED])}{more}"
        yield path, f"{sentence} IPSet {listed}; delete the IPSet first"


def _missing(spec: NetConfigSpec, held: Held) -> Problem:
    network = find_network(spec, held.network)
    if network is None:
        return "spec.networks", f"network {held.network} cannot be removed: it is in use by"
    path = f"spec.networks[{spec.networks.index(network)}].subnets"
    return path, f"subnet {held.subnet} of network {network.name} cannot be removed: it is in use by"


def _too_small(spec: NetConfigSpec, place: Place, address: Address, *, free: bool) -> Problem | None:
    path = path_of(spec, place)
    if address.version != place.prefix.version or address not in place.prefix:
        return f"{path}.cidr", f"{place.subnet.cidr} leaves out the address of"
    if address in place.own():
        return f"{path}.cidr", f"{address} is the first or last address of {place.prefix}, and that of"
    if address == parse_address(place.subnet.gateway):
        return f"{path}.gateway", f"{address} is the address of"
    if address in {parse_address(text) for text in place.subnet.excludeAddresses}:
        return f"{path}.excludeAddresses", f"{address} is the address of"
    if not free and not place.offers(address):
        return f"{path}.allocationRanges", "leave out the address of"
    return None


def path_of(spec: NetConfigSpec, place: Place) -> str:
    """Return where a subnet stands in a NetConfig."""
    first = spec.networks.index(place.network)
    return f"spec.networks[{first}].subnets[{place.network.subnets.index(place.subnet)}]"


def of_vlans(spec: NetConfigSpec, ip_sets: Iterable[IPSet]) -> Iterator[Problem]:
    """Yield the subnets that have another VLAN than IPSets tell their machines: these cannot follow at once."""
    for (network, subnet), told in sorted(_list_vlans(ip_sets).items()):
        place = find_place(spec, network, subnet)
        if place is not None and place.subnet.vlan not in told:
            yield _keep_vlan(spec, place, next(iter(told)))


def of_networks_changed(
    old: NetConfigSpec, new: NetConfigSpec, held: Iterable[Held], ip_sets: Iterable[IPSet]
) -> Iterator[Problem]:
    """Yield the VLANs that change under addresses of which no IPSet tells yet; of the others, `of_vlans` knows.

    What IPSets tell counts more than the former NetConfig: that may have been changed while nobody was asked.
    """
    used = {(each.network.lower(), each.subnet.lower()) for each in held}
    for network, subnet in sorted(used - _list_vlans(ip_sets).keys()):
        before, after = find_place(old, network, subnet), find_place(new, network, subnet)
        if before is not None and after is not None and before.subnet.vlan != after.subnet.vlan:
            yield _keep_vlan(new, after, before.subnet.vlan)


def _list_vlans(ip_sets: Iterable[IPSet]) -> dict[tuple[str, str], dict[int | None, None]]:
    """Return the VLANs that IPSets tell their machines, in order, by network and subnet. It should be one for each."""
    found: dict[tuple[str, str], dict[int | None, None]] = {}
    for ip_set in ip_sets:
        for each in ip_set.status.reservations:
            found.setdefault((each.network.lower(), each.subnet.lower()), {})[each.vlan] = None
    return found


def _keep_vlan(spec: NetConfigSpec, place: Place, vlan: int | None) -> Problem:
    stays = "absent" if vlan is None else vlan
    return f"{path_of(spec, place)}.vlan", f"must stay {stays}: IPSets have addresses in the subnet"


# An IPSet.


def of_ip_set(spec: IPSetSpec, networks: NetConfigSpec) -> Iterator[Problem]:
    """Yield what cannot be in an IPSet, with the networks that there are."""
    yield from _find_twins("spec.networks", "name", [each.name for each in spec.networks])
    defaults: dict[int, int] = {}
    for position, each in enumerate(spec.networks):
        path = f"spec.networks[{position}]"
        network = find_network(networks, each.name)
        place = find_place(networks, each.name, each.subnetName)
        if network is None:
            yield f"{path}.name", f"network {each.name} is not in the NetConfig"
        elif place is None:
            yield f"{path}.subnetName", f"subnet {each.subnetName} is not in network {network.name} of the NetConfig"
        else:
            yield from _of_fixed(path, each, place)
            yield from _of_default(path, position, each, place, defaults)


def _of_fixed(path: str, asked: IPSetNetwork, place: Place) -> Iterator[Problem]:
    if not asked.fixedIP:
        return
    wrong = [*_of_address(f"{path}.fixedIP", asked.fixedIP, place.prefix)]
    yield from wrong
    if not wrong and parse_address(asked.fixedIP) in place.closed():
        sentence = f"{asked.fixedIP} is excluded, or the address of the gateway or of subnet {place.subnet.name} itself"
        yield f"{path}.fixedIP", sentence


def _of_default(
    path: str, position: int, asked: IPSetNetwork, place: Place, defaults: dict[int, int]
) -> Iterator[Problem]:
    if not asked.defaultRoute:
        return
    version = place.prefix.version
    if not place.subnet.gateway:
        yield f"{path}.defaultRoute", f"subnet {place.subnet.name} has no gateway"
    if version in defaults:
        sentence = f"IPv{version} has a default route already, at spec.networks[{defaults[version]}]"
        yield f"{path}.defaultRoute", sentence
    defaults.setdefault(version, position)


_IMMUTABLE = ("spec.networks", "must stay as it is, because immutable is set")


def of_immutable(ip_set: IPSet) -> Iterator[Problem]:
    """Yield that an immutable IPSet asks for something else than its status notes.

    Whoever takes `immutable` away may change the networks; in which order that was written cannot be told any more.
    """
    if ip_set.spec.immutable and ip_set.status.networks not in ((), ip_set.spec.networks):
        yield _IMMUTABLE


def of_ip_set_changed(old: IPSet, new: IPSet, held: Iterable[Held] = ()) -> Iterator[Problem]:
    """Yield what of an IPSet stays as it is: a machine has the addresses.

    What was changed while nobody was asked may be set back to what the status tells. `held` are the addresses that it
    has, whether or not the status tells of them yet. In a network in which it has none, it may ask for another one.
    """
    if old.spec.immutable:
        if new.spec.networks not in (old.spec.networks, old.status.networks):
            yield _IMMUTABLE
        return
    had = {each.network.lower(): (each.subnet, each.address) for each in held if each.address}
    had |= {each.network.lower(): (each.subnet, each.address) for each in old.status.reservations}
    after = {each.name.lower(): (position, each) for position, each in enumerate(new.spec.networks)}
    for before in old.spec.networks:
        if before.name.lower() not in after:
            yield "spec.networks", f"network {before.name} was removed; delete the IPSet to release its addresses"
            continue
        position, now = after[before.name.lower()]
        path = f"spec.networks[{position}]"
        if before.name.lower() not in had:
            continue
        subnet, address = had[before.name.lower()]
        if now.subnetName.lower() != subnet.lower():
            yield f"{path}.subnetName", f"must stay {subnet}: an address does not move to another subnet"
        if now.fixedIP and parse_address(now.fixedIP) != parse_address(address):
            yield f"{path}.fixedIP", f"must stay {address}: an address is not exchanged for another one"


def is_fixed_elsewhere(ip_set: IPSet, taken: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the fixed addresses of an IPSet that another one has."""
    for position, each in enumerate(ip_set.spec.networks):
        address = parse_address(each.fixedIP)
        holder = taken.get(str(address), "") if address is not None else ""
        if holder:
            yield f"spec.networks[{position}].fixedIP", f"{address} is already reserved by IPSet {holder}"


def of_reservation(spec: ReservationSpec, taken: Mapping[str, Held]) -> Iterator[Problem]:
    """Yield the addresses of a Reservation that are none, or that another one has."""
    for network, entry in spec.reservation.items():
        path, address = f"spec.reservation[{network}].address", normalize(entry.address)
        if address and parse_address(address) is None:
            yield path, f"{entry.address} is not an IP address; write it without a prefix, as 192.168.122.60"
        elif address in taken:
            yield path, f"{address} is already reserved by IPSet {taken[address].ip_set}"


def fixed_by(ip_sets: Iterable[IPSet]) -> dict[str, frozenset[str]]:
    """Return the addresses that IPSets ask for by themselves."""
    return {
        each.metadata.name: frozenset(
            str(address) for network in each.spec.networks if (address := parse_address(network.fixedIP)) is not None
        )
        for each in ip_sets
    }

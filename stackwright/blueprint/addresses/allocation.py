"""Which addresses an IPSet has, and which it takes next. Pure.

An IPSet keeps what it has, whatever happens around it. An address is taken by creating a Reservation that is called
like it: of two that want the same, the API server lets one have it, and the other one decides again.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from stackwright.api.base import JsonObject
from stackwright.api.network import (
    CTLPLANE,
    LABEL,
    RESERVATION_READY,
    IPSet,
    IPSetNetwork,
    IPSetReservation,
    NetConfigSpec,
    Reservation,
    Route,
    service_network,
)
from stackwright.blueprint.addresses.subnets import Address, Place, find_place, normalize, parse_address
from stackwright.kube.plan import Caution, Ends, Wait
from stackwright.kube.resource import owner_reference

# How many seconds later the cache has a status that a pass wrote at its end.
_NEXT_PASS = 1.0
_EVERYWHERE = {4: "0.0.0.0/0", 6: "::/0"}


@dataclass(frozen=True)
class Held:
    """An address that an IPSet has, by the name of its Reservation."""

    ip_set: str
    network: str
    subnet: str
    address: str
    reservation: str


@dataclass(frozen=True)
class Wanted:
    """An address that an IPSet takes next."""

    place: Place
    address: str

    @property
    def name(self) -> str:
        """The name of its Reservation; the prefixes of subnets do not overlap, so each address has its own."""
        address = parse_address(self.address)
        number = address.exploded if address is not None else self.address
        network = self.place.network.name.lower().replace("_", "-")
        return f"{network}-{number.replace('.', '-').replace(':', '-')}"


@dataclass(frozen=True)
class Allocation:
    """What an IPSet has, what it takes next, and why it does not get what is missing.

    `surplus` are Reservations that it has beside another one in the same network: an operator that took over before its
    caches were complete did not know of the first. They are released once `is_settled`. `adopted` are those without an
    owner that count for good: people wrote them, as after a restore. What has no owner is never released. `cautions`
    name those that do not count.
    """

    kept: tuple[tuple[IPSetNetwork, Place, Held], ...] = ()
    wanted: tuple[Wanted, ...] = ()
    waits: tuple[Wait, ...] = ()
    surplus: tuple[Reservation, ...] = ()
    adopted: tuple[Reservation, ...] = ()
    cautions: tuple[Caution, ...] = ()


@dataclass(frozen=True)
class Around:
    """What an IPSet finds: the networks, its own Reservations, and who has which address.

    `reached` are addresses at which machines of others are reached, whether or not they are reserved; `asked` are those
    that others ask for by themselves, and may not have yet.
    `rivals` are those of its own addresses that an older Reservation has as well, each with the IPSet of that one.
    """

    networks: NetConfigSpec
    mine: tuple[Reservation, ...] = ()
    taken: Mapping[str, str] = field(default_factory=dict)
    reached: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    rivals: Mapping[str, str] = field(default_factory=dict)


def holder_of(reservation: Reservation) -> str:
    """Return the name of the IPSet that a Reservation is for; upstream's are named after it and name none."""
    return reservation.spec.ipSetRef.name or reservation.metadata.name


def is_mine(reservation: Reservation, ip_set: IPSet) -> bool:
    """Return whether a Reservation is an IPSet's own: it owns it, or it is for it and nobody owns it.

    One of an IPSet of the same name that was deleted is not: the garbage collector is about to take it.
    """
    owner = reservation.metadata.controller
    if owner is not None:
        return owner.uid == ip_set.metadata.uid
    return holder_of(reservation) == ip_set.metadata.name


def list_held(reservations: Iterable[Reservation]) -> Iterator[Held]:
    """Yield the addresses that Reservations have."""
    for each in reservations:
        for network, entry in each.spec.reservation.items():
            address = normalize(entry.address)
            yield Held(holder_of(each), entry.network or network, entry.subnet, address, each.metadata.name)


def allocate(ip_set: IPSet, around: Around) -> Allocation:
    """Return what an IPSet has, and what it takes next."""
    mine = _elect(ip_set, around.mine)
    kept: list[tuple[IPSetNetwork, Place, Held]] = []
    wanted: list[Wanted] = []
    orphans = {each.metadata.name: each for each in around.mine if each.metadata.controller is None}
    waits: list[Wait] = [*_find_removed(ip_set, mine, orphans)]
    for asked in ip_set.spec.networks:
        place = find_place(around.networks, asked.name, asked.subnetName)
        held = mine.get(asked.name.lower())
        if held is not None and not _is_outvoted(ip_set, asked, held, around):
            waits += _find_moved(asked, held)
            place = find_place(around.networks, held.network, held.subnet)
            if place is not None:
                waits += (*_find_displaced(place, held), *_find_rival(held, around.rivals))
                kept.append((asked, place, held))
        elif place is not None:
            found = _choose(ip_set, asked, place, around)
            (waits if isinstance(found, Wait) else wanted).append(found)  # type: ignore[arg-type]  # one of the two
    elected = {held.reservation for held in mine.values()}
    single = (each for each in around.mine if len(each.spec.reservation) == 1 and each.metadata.name not in orphans)
    surplus = tuple(each for each in single if each.metadata.name not in elected)
    counted = {held.reservation: orphans[held.reservation] for _, _, held in kept if held.reservation in orphans}
    waits += (_await_telling(each) for each in counted.values() if not is_told(each, ip_set))
    adopted = tuple(each for each in counted.values() if is_told(each, ip_set))
    cautions = tuple(_find_beside(orphans.values(), mine))
    return Allocation(tuple(kept), tuple(wanted), tuple(waits), surplus, adopted, cautions)


def _find_beside(orphans: Iterable[Reservation], mine: Mapping[str, Held]) -> Iterator[Caution]:
    """Yield the Reservations without an owner beside one that counts: which the machine has, only a person knows."""
    for held in sorted(list_held(orphans), key=lambda each: each.reservation):
        counts = mine[held.network.lower()]
        if counts.reservation != held.reservation:
            message = (
                f"{counts.address} is the address in network {held.network}, and Reservation {held.reservation}, which "
                f"has no owner, keeps {held.address} for this IPSet; delete the one that the machine does not have: "
                "that Reservation, or the IPSet, so that the next one of its name takes the other address"
            )
            yield Caution("AddressBeside", message, RESERVATION_READY)


def _await_telling(orphan: Reservation) -> Wait:
    """Return the wait for the status to tell an address: the end of this pass writes it, and the next one goes on."""
    message = f"Reservation {orphan.metadata.name} gets its owner once the status tells its address"
    return Wait("Adopting", message, RESERVATION_READY, after=_NEXT_PASS)


def _elect(ip_set: IPSet, mine: Iterable[Reservation]) -> dict[str, Held]:
    """Return the address that counts in each network: the one that was told to the user, else the oldest.

    One without an owner goes before those that the IPSet took: somebody restored it, because the machine has it.
    """
    told = _list_told(ip_set)
    found: dict[str, Held] = {}
    for held in list_held(sorted(mine, key=lambda each: (each.metadata.controller is not None, _age(each)))):
        network = held.network.lower()
        if network not in found or (network, held.address) in told:
            found[network] = held
    return found


def _list_told(ip_set: IPSet) -> set[tuple[str, str]]:
    """Return the addresses that the status of an IPSet tells, each after its network."""
    return {(each.network.lower(), each.address) for each in ip_set.status.reservations}


def _age(reservation: Reservation) -> tuple[str, str]:
    return reservation.metadata.creationTimestamp, reservation.metadata.name


def _is_outvoted(ip_set: IPSet, asked: IPSetNetwork, held: Held, around: Around) -> bool:
    """Return whether the status tells another address than the one that is known.

    Another operator may have taken and told it, and the caches have the status, but not the Reservation yet. It is
    asked for: if it is there, it counts, and nothing is told in its place.
    """
    place = find_place(around.networks, held.network, held.subnet)
    last = _remember(ip_set, place) if place is not None and not asked.fixedIP else None
    moved = asked.subnetName.lower() != held.subnet.lower()
    return last is not None and not moved and str(last) not in {held.address, *around.taken}


def is_told(reservation: Reservation, ip_set: IPSet) -> bool:
    """Return whether an IPSet tells an address of a Reservation, so that this one counts, whatever others there are.

    With an owner, a Reservation is like all others: it would be released if another one counted.
    """
    held = {(each.network.lower(), each.address) for each in list_held((reservation,))}
    return bool(held & _list_told(ip_set))


def is_settled(surplus: Reservation, ip_set: IPSet) -> bool:
    """Return whether an IPSet tells another address in the network of a surplus one, so that nobody relies on this one.

    Caches may be behind: another operator may have told the user of the very address that this one would release. What
    the server has decides. Of two operators that tell different addresses the server refuses the second, so what was
    told once stays told.
    """
    told = _list_told(ip_set)
    held = {(each.network.lower(), each.address) for each in list_held((surplus,))}
    return not held & told and {network for network, _ in held} <= {network for network, _ in told}


def _find_removed(ip_set: IPSet, mine: Mapping[str, Held], orphans: Container[str]) -> Iterator[Wait]:
    """Yield the networks that an IPSet asks for no more: a machine may still use the address."""
    asked = {network.name.lower() for network in ip_set.spec.networks}
    for name, held in mine.items():
        if name not in asked:
            # What has no owner does not go with the IPSet.
            which = f"Reservation {held.reservation}" if held.reservation in orphans else "the IPSet"
            message = (
                f"spec.networks: network {held.network} was removed, and {held.address} in it is still reserved; "
                f"add the network again, or delete {which}"
            )
            yield _refuse("NetworkRemoved", message)


def _find_moved(asked: IPSetNetwork, held: Held) -> Iterator[Wait]:
    """Yield what an IPSet asks for that differs from what it has."""
    if asked.subnetName.lower() != held.subnet.lower():
        message = (
            f"spec.networks: {asked.name} has {held.address} in subnet {held.subnet}, and an address does not move to "
            f"another subnet; set subnetName back, or delete the IPSet"
        )
        yield _refuse("SubnetChanged", message)
    if asked.fixedIP and normalize(asked.fixedIP) != held.address:
        message = (
            f"spec.networks: {asked.name} has {held.address}, and an address is not exchanged for another one "
            f"({asked.fixedIP}); set fixedIP back, or delete the IPSet"
        )
        yield _refuse("AddressChanged", message)


def _find_displaced(place: Place, held: Held) -> Iterator[Wait]:
    """Yield why an address does not fit its subnet any more: a machine must not be told of such a network."""
    address, subnet = parse_address(held.address), place.subnet
    if address is None:
        message = f"{held.address} in Reservation {held.reservation} is not an IP address; correct the Reservation"
        yield _refuse("AddressInvalid", message)
        return
    if address.version != place.prefix.version or address not in place.prefix:
        why = f"does not lie in {subnet.cidr}"
    elif address in place.closed():
        why = "is excluded, or the address of the gateway or of the subnet itself"
    else:
        return
    message = (
        f"{held.address} {why}, which subnet {subnet.name} of network {held.network} says now; correct the NetConfig, "
        "or delete the IPSet"
    )
    yield _refuse("SubnetChanged", message)


def _find_rival(held: Held, rivals: Mapping[str, str]) -> Iterator[Wait]:
    """Yield who else has an address, and had it first: people write Reservations when they restore a backup."""
    if held.address in rivals:
        message = (
            f"{held.address} in network {held.network} is also reserved by IPSet {rivals[held.address]}, which had it "
            "first; delete the IPSet whose machine does not have the address"
        )
        yield _refuse("AddressInUse", message)


def find_elder(reservation: Reservation, others: Iterable[Reservation]) -> Reservation | None:
    """Return the first of some Reservations of the same address, if it is older than this one."""
    first = min((reservation, *others), key=_age)
    return None if first is reservation else first


def _choose(ip_set: IPSet, asked: IPSetNetwork, place: Place, around: Around) -> Wanted | Wait:
    """Return the address that an IPSet takes in a subnet, or why there is none."""
    taken = around.taken
    if asked.fixedIP:
        fixed = normalize(asked.fixedIP)
        if taken.get(fixed) == ip_set.metadata.name:
            message = f"{fixed} belonged to an IPSet of the same name, which is being removed"
            return Wait("AddressReleasing", message, RESERVATION_READY)
        if fixed in taken:
            message = f"spec.networks: {fixed} is already reserved by IPSet {taken[fixed]}; {_advise(ip_set)}"
            return _refuse("AddressInUse", message)
        return Wanted(place, fixed)
    # A Reservation that somebody deleted is made again: the machine has that address.
    last = _remember(ip_set, place)
    if last is not None and str(last) not in taken:
        return Wanted(place, str(last))
    for address in place.candidates():
        # A machine that a user put at an address of the ranges would lose it to another one.
        if not any(str(address) in kept for kept in (taken, around.reached, around.asked)):
            return Wanted(place, str(address))
    message = (
        f"no address is left for IPSet {ip_set.metadata.name} in subnet {place.subnet.name} of network "
        f"{place.network.name}; extend its allocationRanges, or delete IPSets that are not needed; addresses "
        "which are the ansibleHost of a node, the fixedIP of another IPSet or the nexthop of a route are not given"
    )
    return _refuse("NoAddressLeft", message)


def _advise(ip_set: IPSet) -> str:
    """Return what to do if another one has the address that an IPSet asks for; it has none yet, so it may ask anew."""
    if ip_set.spec.immutable:
        return "set immutable to false and then choose another fixedIP, or delete the IPSet"
    return "choose another fixedIP"


def _remember(ip_set: IPSet, place: Place) -> Address | None:
    """Return the address that an IPSet was told to have in a subnet, if it may have it still."""
    for each in ip_set.status.reservations:
        if (each.network, each.subnet) == (place.network.name, place.subnet.name):
            address = parse_address(each.address)
            if address is not None and address in place.prefix and address not in place.closed():
                return address
    return None


def _refuse(reason: str, message: str) -> Wait:
    return Wait(reason, message, RESERVATION_READY, ends=Ends.BY_USER)


def describe_reservation(ip_set: IPSet, wanted: Wanted) -> JsonObject:
    """Return the Reservation by which an IPSet takes an address."""
    network, subnet = wanted.place.network.name, wanted.place.subnet.name
    return {
        "metadata": {
            "name": wanted.name,
            "namespace": ip_set.metadata.namespace,
            "labels": {LABEL.format(network): subnet},
            "ownerReferences": [owner_reference(ip_set)],
        },
        "spec": {
            "ipSetRef": {"name": ip_set.metadata.name},
            "reservation": {network: {"network": network, "subnet": subnet, "address": wanted.address}},
        },
    }


def describe_addresses(allocation: Allocation) -> tuple[IPSetReservation, ...]:
    """Return the addresses that an IPSet has, with what a machine has to know; ctlplane's first."""
    told = [_tell(asked, place, held) for asked, place, held in allocation.kept]
    return tuple(sorted(told, key=lambda each: each.serviceNetwork != CTLPLANE))


def _tell(asked: IPSetNetwork, place: Place, held: Held) -> IPSetReservation:
    network, subnet = place.network, place.subnet
    default = asked.defaultRoute and subnet.gateway
    route = Route(destination=_EVERYWHERE[place.prefix.version], nexthop=subnet.gateway)
    return IPSetReservation(
        network=network.name,
        subnet=subnet.name,
        address=held.address,
        cidr=subnet.cidr,
        mtu=network.mtu,
        vlan=subnet.vlan,
        gateway=subnet.gateway,
        routes=(*subnet.routes, *((route,) if default else ())),
        dnsDomain=place.domain,
        serviceNetwork=service_network(network),
    )

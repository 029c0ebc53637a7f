"""IPSet: takes one address in each of its networks, and keeps it until it is deleted.

An address is taken by creating a Reservation that is named after it. Creating fails where there is one, so no address
is given twice, however stale the caches are and however many operators run.
"""

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import msgspec

from stackwright.api.annotations import PAUSED
from stackwright.api.base import JsonObject
from stackwright.api.dataplane import OpenStackDataPlane, OpenStackDataPlaneNode
from stackwright.api.network import (
    INPUT_READY,
    RESERVATION_READY,
    IPSet,
    IPSetStatus,
    NetConfig,
    Reservation,
)
from stackwright.blueprint.addresses import refusals
from stackwright.blueprint.addresses.allocation import (
    Allocation,
    Around,
    Wanted,
    allocate,
    describe_addresses,
    describe_reservation,
    find_elder,
    holder_of,
    is_mine,
    is_settled,
    is_told,
    list_held,
)
from stackwright.blueprint.addresses.asking import list_asked, list_kept_back
from stackwright.blueprint.addresses.owners import OWNERS, find_missing
from stackwright.blueprint.addresses.subnets import find_eldest, normalize
from stackwright.blueprint.refusal import Problem
from stackwright.controllers.addresses.net_configs import describe
from stackwright.controllers.looks import Interests, Looker, forgetting
from stackwright.kube.controller import Context, Controller, Watch
from stackwright.kube.errors import AlreadyExists, Conflict, NotFound, Retry
from stackwright.kube.informer import Change
from stackwright.kube.plan import Ends, Plan, Step, Wait
from stackwright.kube.predicates import asked_differently
from stackwright.kube.resource import CustomResource, Key, owner_reference
from stackwright.kube.shapes.belonging import refuse_stale
from stackwright.kube.shapes.external import External

# The indexes of Reservations by their addresses, and of those without an owner by whom they are for.
_ADDRESSES, _HOLDERS = "addresses", "holders"


@dataclass(frozen=True)
class Claims:
    """What this process has just taken, by the name of the Reservation: the caches may not have it yet.

    They save requests that would fail. That no address is given twice does not depend on them.
    """

    taken: dict[Key, Reservation] = field(default_factory=dict)

    def forget(self, context: Context) -> None:
        """Forget what the caches have, and what an IPSet took that is gone."""
        reservations, ip_sets = context.store(Reservation), context.store(IPSet)
        for key, each in list(self.taken.items()):
            owner = each.metadata.controller
            holder = ip_sets.get(Key(key.namespace, each.spec.ipSetRef.name))
            gone = owner is not None and (holder is None or holder.metadata.uid != owner.uid)
            if gone or reservations.get(key) is not None:
                del self.taken[key]


@dataclass(frozen=True)
class World:
    """What a pass works with. `met` are Reservations that it made, or found in its way; `released` are gone."""

    context: Context
    interests: Interests
    claims: Claims
    met: dict[str, Reservation] = field(default_factory=dict)
    released: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Seen:
    """What an IPSet finds. `around` is what it can work with; without it, `waits` say why."""

    around: Around | None = None
    waits: tuple[Wait, ...] = ()

    def allocate(self, ip_set: IPSet) -> Allocation:
        """Return what the IPSet has, and what it takes next."""
        return allocate(ip_set, self.around) if self.around is not None else Allocation()


@dataclass(frozen=True)
class Reserve(Step):
    """Create a Reservation."""

    name: str
    body: JsonObject
    ip_set: IPSet


@dataclass(frozen=True)
class Adopt(Step):
    """Become the owner of a Reservation that has none, as after a restore."""

    orphan: Reservation
    ip_set: IPSet


@dataclass(frozen=True)
class Release(Step):
    """Delete a Reservation that an IPSet has beside another one in the same network."""

    surplus: Reservation
    ip_set: IPSet


async def observe(ip_set: IPSet, world: World) -> Seen:
    """Look at the networks, and at the addresses that are taken."""
    look = world.interests.begin(ip_set, world.context)
    net_config = find_eldest(look.all(NetConfig))
    if net_config is None:
        message = f"NetConfig missing in namespace {ip_set.metadata.namespace}; create one"
        return Seen(waits=(Wait("NetConfigMissing", message, INPUT_READY, ends=Ends.BY_AUTHOR),))
    if wrong := (*refusals.of_networks(net_config.spec), *refusals.of_vlans(net_config.spec, (ip_set,))):
        return _refuse_networks(net_config, wrong)
    if wrong := (*refusals.of_immutable(ip_set), *refusals.of_ip_set(ip_set.spec, net_config.spec)):
        return Seen(waits=(Wait("Invalid", describe(wrong), INPUT_READY, ends=Ends.BY_USER),))
    mine = _find_mine(ip_set, world)
    around = Around(net_config.spec, mine, rivals=_find_rivals(ip_set, mine, look, world))
    if len(allocate(ip_set, around).kept) < len(ip_set.spec.networks):
        # An address that is new gets the VLAN that the other machines of its subnet were told.
        if wrong := tuple(refusals.of_vlans(net_config.spec, look.all(IPSet))):
            return _refuse_networks(net_config, wrong)
        taken, nodes = _find_taken(ip_set, look, world), _find_other_nodes(ip_set, look)
        reached = frozenset(normalize(node.spec.ansibleHost) for node in nodes)
        others = (each for each in look.all(IPSet) if each.key != ip_set.key)
        around = replace(around, taken=taken, reached=reached, asked=list_asked(others, nodes, net_config.spec))
    return Seen(around)


def _refuse_networks(net_config: NetConfig, wrong: tuple[Problem, ...]) -> Seen:
    message = f"NetConfig {net_config.metadata.name} has to be corrected first: {describe(wrong)}"
    return Seen(waits=(Wait("NetConfigInvalid", message, INPUT_READY, ends=Ends.BY_USER),))


def _find_mine(ip_set: IPSet, world: World) -> tuple[Reservation, ...]:
    """Return the Reservations of an IPSet, those that this pass made included."""
    world.claims.forget(world.context)
    store, key = world.context.store(Reservation), ip_set.key
    # It may have been reserved for before, as after a restore: those without an owner are found by whom they name.
    store.index(_HOLDERS, lambda each: () if each.metadata.controller is not None else (holder_of(each),))
    named = (each for each in store.by(_HOLDERS, key.name) if each.key.namespace == key.namespace)
    found = {each.metadata.name: each for each in (*store.owned_by(ip_set.metadata.uid), *named)}
    # What was made just now may not be in the cache yet.
    found |= {claim.name: each for claim, each in world.claims.taken.items() if claim.namespace == key.namespace}
    found |= world.met
    there = (each for name, each in found.items() if name not in world.released and not each.deleting)
    return tuple(each for each in there if is_mine(each, ip_set))


def _find_rivals(ip_set: IPSet, mine: tuple[Reservation, ...], look: Looker, world: World) -> dict[str, str]:
    """Return who has an address of an IPSet as well, and had it first; by an index, because all are asked.

    The webhook refuses such a Reservation, but may have been down.
    """
    store = world.context.store(Reservation)
    store.index(_ADDRESSES, lambda each: {held.address for held in list_held((each,))} - {""})
    found: dict[str, str] = {}
    for each in mine:
        for held in list_held((each,)):
            there = (other for other in store.by(_ADDRESSES, held.address) if _is_rival(other, ip_set))
            elder = find_elder(each, there)
            # When it goes, this one has the address alone.
            if elder is not None and look(Reservation, elder.metadata.name) is not None:
                found[held.address] = holder_of(elder)
    return found


def _is_rival(other: Reservation, ip_set: IPSet) -> bool:
    return other.key.namespace == ip_set.key.namespace and not other.deleting and not is_mine(other, ip_set)


def _find_taken(ip_set: IPSet, look: Looker, world: World) -> dict[str, str]:
    """Return who has which address. One that is released may be the one that is missing: that wakes the IPSet.

    What another IPSet was told to have is its own as long as that is there, even if somebody deleted the Reservation.
    """
    claimed = [each for key, each in world.claims.taken.items() if key.namespace == ip_set.metadata.namespace]
    others = (each for each in (*look.all(Reservation), *claimed, *world.met.values()) if not is_mine(each, ip_set))
    neighbours = (each for each in look.all(IPSet) if each.key != ip_set.key)
    told = {held.address: each.metadata.name for each in neighbours for held in each.status.reservations}
    return told | {held.address: held.ip_set for held in list_held(others)}


def _find_other_nodes(ip_set: IPSet, look: Looker) -> list[OpenStackDataPlaneNode]:
    """Return the nodes that an IPSet is not of. An IPSet is named after its node."""
    return [node for node in look.all(OpenStackDataPlaneNode) if node.metadata.name != ip_set.metadata.name]


def decide(ip_set: IPSet, seen: Seen) -> Plan:
    """Return which addresses to take, and why one is missing."""
    allocation = seen.allocate(ip_set)
    steps = (
        *(Adopt(each, ip_set, reason="Adopting", condition=RESERVATION_READY) for each in allocation.adopted),
        *(_reserve(ip_set, wanted) for wanted in allocation.wanted),
        *(Release(each, ip_set, reason="Releasing", condition=RESERVATION_READY) for each in allocation.surplus),
    )
    waits = (*seen.waits, *allocation.waits)
    # What the condition said before of a Reservation that is gone is not true any more.
    done = () if steps or waits else (RESERVATION_READY,)
    return Plan(steps, waits, done, allocation.cautions)


def _reserve(ip_set: IPSet, wanted: Wanted) -> Reserve:
    body = describe_reservation(ip_set, wanted)
    return Reserve(wanted.name, body, ip_set, reason="Reserving", condition=RESERVATION_READY)


def tell(ip_set: IPSet, seen: Seen) -> IPSetStatus:
    """Return the addresses that an IPSet has; while the networks are not known, those that it had."""
    if seen.around is None:
        return ip_set.status
    stay = ip_set.spec.networks if ip_set.spec.immutable else ()
    told = describe_addresses(seen.allocate(ip_set))
    return msgspec.structs.replace(ip_set.status, reservations=told, networks=stay)


async def act(step: Reserve | Adopt | Release, world: World) -> None:
    """Carry out one step."""
    match step:
        case Reserve(name, body, ip_set):
            await _take(name, body, ip_set, world)
        case Adopt(orphan, ip_set):
            await _adopt(orphan, ip_set, world)
        case Release(surplus, ip_set):
            await _release(surplus, ip_set, world)


async def _take(name: str, body: JsonObject, ip_set: IPSet, world: World) -> None:
    key, claims = Key(ip_set.metadata.namespace, name), world.claims.taken
    # Nothing is awaited between the question and the claim.
    if key in claims:
        world.met[name] = claims[key]
        return
    claims[key] = msgspec.convert(body, Reservation)
    try:
        world.met[name] = claims[key] = await world.context.client.create(Reservation, body)
    except AlreadyExists:
        # Somebody was faster, or an answer was lost. The next round knows who has it. Another pass may have forgotten
        # the claim meanwhile, because the caches have theirs.
        claims.pop(key, None)
        there = await world.context.client.find(Reservation, name, key.namespace)
        if there is not None:
            world.met[name] = there
    except BaseException:
        claims.pop(key, None)
        raise


async def _adopt(orphan: Reservation, ip_set: IPSet, world: World) -> None:
    client = world.context.client
    name, namespace = orphan.metadata.name, orphan.metadata.namespace
    now = await client.find(IPSet, ip_set.metadata.name, namespace)
    # A machine may have the address, which would be free again.
    refuse_stale(f"Reservation {name}", ip_set, now)
    assert now is not None  # noqa: S101  it would have been refused
    owners = await _find_owners(now, world)
    missing = find_missing(now, lambda kind: (each for each in owners if type(each) is kind))
    if missing is not None:
        message = (
            f"Reservation {name} is left alone: {missing.kind} {missing.name}, to which IPSet {ip_set.metadata.name} "
            "belongs, is gone, or another one by now, so Kubernetes deletes the IPSet; the next one takes the "
            "Reservation over"
        )
        raise Retry(message, reason="Replacing")
    if not is_told(orphan, now):
        # The cache is behind: somebody else told another address.
        raise Retry(f"Reservation {name} is left alone: the status tells another address by now", reason="Adopting")
    metadata = {"resourceVersion": orphan.metadata.resourceVersion, "ownerReferences": [owner_reference(ip_set)]}
    try:
        world.met[name] = await client.patch(Reservation, name, namespace, {"metadata": metadata})
    except (Conflict, NotFound):
        there = await client.find(Reservation, name, namespace)
        if there is not None:
            world.met[name] = there


async def _find_owners(resource: CustomResource, world: World) -> tuple[CustomResource, ...]:
    """Return what the server has under the names of the owners of a resource, and of their owners."""
    kind, client = OWNERS.get(type(resource)), world.context.client
    if kind is None:
        return ()
    names = [owner.name for owner in resource.metadata.ownerReferences if owner.kind == kind.kind.name]
    found = [await client.find(kind, name, resource.metadata.namespace) for name in names]
    there = [each for each in found if each is not None]
    return (*there, *[above for each in there for above in await _find_owners(each, world)])


async def _release(surplus: Reservation, ip_set: IPSet, world: World) -> None:
    name, namespace = surplus.metadata.name, ip_set.metadata.namespace
    there = await world.context.client.find(IPSet, ip_set.metadata.name, namespace)
    if there is None or not is_settled(surplus, there):
        # This pass tells which address counts, unless somebody else does first; the next one knows.
        raise Retry(f"Reservation {name} is released once the status tells the address that stays", reason="Releasing")
    # It may be somebody else's by now.
    with contextlib.suppress(Conflict):
        await world.context.client.delete(Reservation, name, namespace, uid=surplus.metadata.uid)
    world.claims.taken.pop(Key(namespace, name), None)
    world.met.pop(name, None)
    world.released.add(name)


def _went(change: Change[Reservation]) -> bool:
    return change.new is None


def _find_holder(reservation: Reservation) -> Iterable[Key]:
    """Return the IPSet that a Reservation without an owner is for: somebody restored it, or takes it away."""
    orphaned = reservation.metadata.controller is None
    return (Key(reservation.metadata.namespace, holder_of(reservation)),) if orphaned else ()


def _freed(change: Change[IPSet | OpenStackDataPlaneNode]) -> bool:
    """Return whether somebody went, or lets go of an address: it may be the one that is missing.

    A node does so if its machine is somewhere else by now, and whoever asks for another fixedIP or got another address.
    """
    if change.old is None or change.new is None:
        return change.new is None
    before, after = map(list_kept_back, (change.old, change.new))
    return not before <= after


def controller() -> Controller:
    """Return the controller of IPSets."""
    interests, claims = Interests(), Claims()
    shape: External[IPSet, Seen, World] = External(
        of=IPSet, read=observe, decide=decide, act=act, tell=tell, pause=PAUSED
    )
    found = shape.controller(
        lambda context: World(context, interests, claims),
        owns=(Reservation,),
        watches=(
            interests.watch(NetConfig, asked_differently),
            interests.watch(Reservation, _went),
            Watch(Reservation, to=_find_holder),
            *(interests.watch(kind, _freed) for kind in (IPSet, OpenStackDataPlaneNode)),
        ),
    )
    # Who owns the nodes that own IPSets.
    return forgetting(replace(found, reads=(OpenStackDataPlane,)), interests.forget)

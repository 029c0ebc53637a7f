"""No address is given twice or taken away, in whatever order operators work, and however old their caches are."""

from collections.abc import Generator
from typing import Any

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stackwright.api.network import IPSet, Reservation
from stackwright.blueprint.addresses.allocation import (
    Allocation,
    Around,
    allocate,
    describe_addresses,
    describe_reservation,
    is_mine,
    is_settled,
    is_told,
    list_held,
)
from stackwright.kube.resource import OwnerReference, owner_reference
from tests.unit.blueprint.addresses.networks import CTLPLANE, INTERNAL, changed, ip_set, net_config, reservation

SMALL = net_config(
    changed(
        CTLPLANE,
        allocationRanges=[{"start": "192.168.122.100", "end": "192.168.122.103"}],
        excludeAddresses=[],
    ),
    changed(INTERNAL, allocationRanges=[{"start": "fd00:bbbb::10", "end": "fd00:bbbb::14"}]),
).spec
NETWORKS = ({"name": "ctlplane"}, {"name": "InternalApi"})


class Server:
    """Keeps Reservations and IPSets as the API server does, and all states that a cache may have of them."""

    def __init__(self) -> None:
        self.reservations: dict[str, Reservation] = {}
        self.ip_sets: dict[str, IPSet] = {}
        self.history: list[tuple[dict[str, Reservation], dict[str, IPSet]]] = [({}, {})]

    def _changed(self) -> None:
        self.history.append((dict(self.reservations), dict(self.ip_sets)))

    @property
    def version(self) -> str:
        return str(len(self.history))

    def cache(self, age: int) -> tuple[dict[str, Reservation], dict[str, IPSet]]:
        """Return what a cache of that age has."""
        return self.history[max(0, len(self.history) - 1 - age)]

    def bear(self, name: str) -> None:
        """Create an IPSet."""
        self.ip_sets[name] = ip_set(*NETWORKS, name=name, uid=f"{name}-{self.version}")
        self._changed()

    def delete(self, name: str) -> None:
        """Delete an IPSet."""
        self.ip_sets.pop(name, None)
        self._changed()

    def create(self, body: dict[str, Any]) -> Reservation | None:
        """Create a Reservation; None where there is one of that name."""
        name = body["metadata"]["name"]
        if name in self.reservations:
            return None
        body["metadata"]["uid"] = f"{name}-{self.version}"
        self.reservations[name] = msgspec.convert(body, Reservation)
        self._changed()
        return self.reservations[name]

    def restore(self, name: str, number: int) -> None:
        """Create a Reservation without an owner for an IPSet, as somebody does who restores a backup."""
        address = f"192.168.122.{100 + number % 4}"
        if not any(held.address == address for held in list_held(self.reservations.values())):
            made = reservation(name, address, owned=False)
            metadata = msgspec.structs.replace(made.metadata, uid=f"restored-{self.version}")
            self.reservations[made.metadata.name] = msgspec.structs.replace(made, metadata=metadata)
            self._changed()

    def adopt(self, orphan: Reservation, me: IPSet) -> Reservation | None:
        """Give a Reservation an owner, unless the IPSet is another one by now, or has another address."""
        name, now = orphan.metadata.name, self.ip_sets.get(me.metadata.name)
        if now is None or now.metadata.uid != me.metadata.uid or not is_told(orphan, now):
            return None
        if self.reservations.get(name) is orphan:
            owner = msgspec.convert(owner_reference(me), OwnerReference)
            metadata = msgspec.structs.replace(orphan.metadata, ownerReferences=(owner,))
            self.reservations[name] = msgspec.structs.replace(orphan, metadata=metadata)
            self._changed()
        return self.reservations[name]

    def release(self, reservation: Reservation) -> None:
        """Delete that very Reservation."""
        there = self.reservations.get(reservation.metadata.name)
        if there is not None and there.metadata.uid == reservation.metadata.uid:
            del self.reservations[reservation.metadata.name]
            self._changed()

    def tell(self, me: IPSet, allocation: Allocation) -> None:
        """Write the status of an IPSet, unless somebody has changed it since."""
        if self.ip_sets.get(me.metadata.name) is me:
            status = msgspec.structs.replace(me.status, reservations=describe_addresses(allocation))
            # What is told already is not written, and so it lets others write.
            if status != me.status:
                self.ip_sets[me.metadata.name] = msgspec.structs.replace(me, status=status)
                self._changed()

    def collect(self) -> None:
        """Delete the Reservations whose owner is gone."""
        uids = {each.metadata.uid for each in self.ip_sets.values()}
        kept = {
            name: each
            for name, each in self.reservations.items()
            if each.metadata.controller is None or each.metadata.controller.uid in uids
        }
        if kept != self.reservations:
            self.reservations = kept
            self._changed()

    def check(self) -> None:
        """Fail if an address is there twice, or if an IPSet does not have what it tells."""
        held = list(list_held(self.reservations.values()))
        assert len({each.address for each in held}) == len(held)
        for me in self.ip_sets.values():
            mine = {each.address for each in list_held(one for one in self.reservations.values() if is_mine(one, me))}
            assert {each.address for each in me.status.reservations} <= mine


def one_pass(server: Server, name: str, age: int) -> Generator[None]:
    """Do what a pass of the controller does, from a cache of some age; others may go on at each yield."""
    # Both caches go their own way.
    me = server.cache(age // 2)[1].get(name)
    met: dict[str, Reservation] = {}
    released: set[str] = set()
    if me is None:
        return
    for _ in range(4):
        # The IPSet stays as the pass found it; the Reservations are looked at anew in each round.
        seen = {key: each for key, each in {**server.cache(age)[0], **met}.items() if key not in released}
        mine = tuple(each for each in seen.values() if is_mine(each, me))
        others = (each for each in seen.values() if not is_mine(each, me))
        taken = {held.address: held.ip_set for held in list_held(others)}
        allocation = allocate(me, Around(SMALL, mine, taken))
        if not allocation.wanted and not allocation.surplus and not allocation.adopted:
            break
        failed = False
        for orphan in allocation.adopted:
            yield
            taken_over = server.adopt(orphan, me)
            failed |= taken_over is None
            met |= {taken_over.metadata.name: taken_over} if taken_over is not None else {}
        for each in allocation.wanted:
            yield
            made = server.create(describe_reservation(me, each))
            met[each.name] = made if made is not None else server.reservations[each.name]
        yield
        there = server.ip_sets.get(name)
        if failed or not all(there is not None and is_settled(each, there) for each in allocation.surplus):
            break
        for surplus in allocation.surplus:
            yield
            server.release(surplus)
            met.pop(surplus.metadata.name, None)
            released.add(surplus.metadata.name)
    yield
    server.tell(me, allocation)


NODES = st.sampled_from(["a", "b", "c", "d", "e"])
DEEDS = st.sampled_from(["pass", "step", "step", "step", "delete", "collect"])
OPERATORS = st.integers(1, 2)


@settings(max_examples=120)
@given(events=st.lists(st.tuples(DEEDS, NODES, OPERATORS, st.integers(0, 6)), max_size=60))
# Two operators take different addresses for a, because b goes meanwhile. The second one finishes when the first one has
# told its own.
@example(
    [
        *[("pass", "b", 1, 0), *[("step", "b", 1, 0)] * 8],
        *[("pass", "a", 1, 0), ("pass", "a", 2, 0), ("step", "a", 1, 0)],
        *[("delete", "b", 1, 0), ("collect", "b", 1, 0), ("step", "a", 2, 0)],
        *[*[("step", "a", 1, 0)] * 8, *[("step", "a", 2, 0)] * 20],
    ]
)
# The second one has told its own, and the cache of a third one has that, but of the addresses only the first one's.
@example(
    [
        *[("pass", "b", 1, 0), *[("step", "b", 1, 0)] * 8],
        *[("pass", "a", 1, 0), ("pass", "a", 2, 0), ("step", "a", 1, 0)],
        *[("delete", "b", 1, 0), ("collect", "b", 1, 0), ("step", "a", 2, 0)],
        *[*[("step", "a", 1, 0)] * 2, *[("step", "a", 2, 0)] * 20],
        *[("pass", "c", 1, 0), *[("step", "c", 1, 0)] * 8],
        *[("pass", "a", 3, 7), ("step", "a", 3, 7)],
        *[("pass", "a", 2, 0), *[("step", "a", 2, 0)] * 20, *[("step", "a", 3, 7)] * 20],
    ]
)
def test_no_address_is_given_twice_or_taken_away(events: list[tuple[str, str, int, int]]) -> None:
    server = Server()
    passes: dict[tuple[str, int], Generator[None]] = {}
    for deed, name, operator, age in events:
        if deed == "delete":
            server.delete(name)
        elif deed == "collect":
            server.collect()
        elif deed == "pass" and (name, operator) not in passes:
            if name not in server.ip_sets:
                server.bear(name)
            passes[name, operator] = one_pass(server, name, age)
        elif (name, operator) in passes and next(passes[name, operator], "over") == "over":
            del passes[name, operator]
        server.check()
    for running in passes.values():
        for _ in running:
            server.check()
    server.collect()
    # With caches that have everything, each living IPSet gets what there is, and nobody has more.
    for name in [*server.ip_sets] * 3:
        list(one_pass(server, name, 0))
    server.check()
    held = list(list_held(server.reservations.values()))
    for network, room in (("ctlplane", 4), ("InternalApi", 5)):
        assert sum(1 for each in held if each.network == network) == min(room, len(server.ip_sets))


@settings(max_examples=120)
@given(
    events=st.lists(
        st.tuples(st.sampled_from(["pass", "step", "step", "restore", "crash"]), NODES, st.integers(0, 6)), max_size=60
    )
)
# An address is restored while a pass takes another one, which was created before.
@example([("pass", "a", 0), ("step", "a", 0), ("restore", "a", 2), *[("step", "a", 0)] * 20])
# It is restored after the operator took another one and died; the next one works from caches that know neither.
@example([("pass", "a", 0), *[("step", "a", 0)] * 3, ("crash", "a", 0), ("restore", "a", 2), ("pass", "a", 0)])
def test_what_was_restored_is_never_released(events: list[tuple[str, str, int]]) -> None:
    """One operator leads; it may die in the middle of a pass, and its caches may be behind."""
    server = Server()
    passes: dict[str, Generator[None]] = {}
    restored: set[str] = set()
    for deed, name, number in events:
        if deed == "restore":
            server.restore(name, number)
            restored |= {each.metadata.uid for each in server.reservations.values() if each.metadata.controller is None}
        elif deed == "crash":
            passes.pop(name, None)
        elif deed == "pass" and name not in passes:
            if name not in server.ip_sets:
                server.bear(name)
            passes[name] = one_pass(server, name, number)
        elif name in passes and next(passes[name], "over") == "over":
            del passes[name]
        server.check()
    for running in passes.values():
        list(running)
    for name in [*server.ip_sets] * 3:
        list(one_pass(server, name, 0))
    server.check()
    assert restored <= {each.metadata.uid for each in server.reservations.values()}
    # And nobody has two that the operator took.
    for me in server.ip_sets.values():
        mine = (each for each in server.reservations.values() if each.metadata.controller is not None)
        own = [held.network for held in list_held(each for each in mine if is_mine(each, me))]
        assert len(own) == len(set(own))

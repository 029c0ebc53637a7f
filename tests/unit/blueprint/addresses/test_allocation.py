"""Which address an IPSet takes, and what it keeps."""

from typing import Any

import msgspec
import pytest

from stackwright.api.network import Reservation
from stackwright.blueprint.addresses.allocation import (
    Allocation,
    Around,
    allocate,
    describe_addresses,
    find_elder,
    is_mine,
    is_settled,
    list_held,
)
from tests.unit.blueprint.addresses.networks import CTLPLANE, INTERNAL, changed, ip_set, net_config, reservation

SPEC = net_config().spec


def around(*mine: Reservation, **taken: str) -> Around:
    return Around(SPEC, mine, {f"192.168.122.{key.removeprefix('n')}": name for key, name in taken.items()})


def addresses(allocation: Allocation) -> list[str]:
    return [wanted.address for wanted in allocation.wanted]


@pytest.mark.parametrize(
    ("taken", "address"),
    [
        pytest.param({}, "192.168.122.100", id="the-first"),
        pytest.param({"n100": "other"}, "192.168.122.102", id="not-the-excluded-one"),
        pytest.param({"n100": "other", "n102": "third"}, "192.168.122.200", id="the-next-range"),
    ],
)
def test_the_next_free_address_is_taken(taken: dict[str, str], address: str) -> None:
    assert addresses(allocate(ip_set(), around(**taken))) == [address]


def test_the_address_of_another_nodes_machine_is_not_given() -> None:
    reached = frozenset({"192.168.122.100", "one.example.com", ""})
    assert addresses(allocate(ip_set(), Around(SPEC, reached=reached))) == ["192.168.122.102"]
    # What an IPSet has, it keeps; so is one made again that was deleted. A fixedIP is the user's own word.
    held = reservation("node", "192.168.122.100")
    assert not allocate(ip_set(), Around(SPEC, (held,), reached=reached)).wanted
    status = {"reservations": [{"network": "ctlplane", "subnet": "subnet1", "address": "192.168.122.100"}]}
    fixed = ip_set({"name": "ctlplane", "fixedIP": "192.168.122.100"})
    for asked in (ip_set(status=status), fixed):
        assert addresses(allocate(asked, Around(SPEC, reached=reached))) == ["192.168.122.100"]


def test_the_fixed_address_of_another_ip_set_is_not_given() -> None:
    asked = Around(SPEC, asked=frozenset({"192.168.122.100"}))
    assert addresses(allocate(ip_set(), asked)) == ["192.168.122.102"]
    # Whoever asks for it as well may have it: the first one does.
    fixed = ip_set({"name": "ctlplane", "fixedIP": "192.168.122.100"})
    assert addresses(allocate(fixed, asked)) == ["192.168.122.100"]
    everything = frozenset({"192.168.122.100", "192.168.122.102", "192.168.122.200"})
    (wait,) = allocate(ip_set(), Around(SPEC, asked=everything)).waits
    assert "the fixedIP of another IPSet" in wait.message


def test_the_next_hop_of_a_route_and_the_gateway_are_not_given() -> None:
    routes = [{"destination": "10.0.0.0/8", "nexthop": "192.168.122.100"}]
    routed = net_config(changed(CTLPLANE, gateway="192.168.122.102", routes=routes)).spec
    assert addresses(allocate(ip_set(), Around(routed))) == ["192.168.122.200"]
    # A machine of ours may be the router: it says so, or has the address already.
    fixed = ip_set({"name": "ctlplane", "fixedIP": "192.168.122.100"})
    assert addresses(allocate(fixed, Around(routed))) == ["192.168.122.100"]
    allocation = allocate(ip_set(), Around(routed, (reservation("node", "192.168.122.100"),)))
    assert (allocation.wanted, allocation.waits) == ((), ())


def test_each_network_has_an_address_of_its_own() -> None:
    asked = ip_set({"name": "internalapi"}, {"name": "ctlplane"})
    assert addresses(allocate(asked, around())) == ["fd00:bbbb::10", "192.168.122.100"]
    names = [wanted.name for wanted in allocate(asked, around()).wanted]
    assert names == ["internalapi-fd00-bbbb-0000-0000-0000-0000-0000-0010", "ctlplane-192-168-122-100"]


def test_the_last_address_is_followed_by_a_reason() -> None:
    allocation = allocate(ip_set(), around(n100="a", n102="b", n200="c"))
    (wait,) = allocation.waits
    assert not allocation.wanted
    assert "no address is left for IPSet node in subnet subnet1 of network ctlplane" in wait.message


@pytest.mark.parametrize(
    ("cidr", "first", "last", "given"),
    [
        pytest.param("10.0.0.0/29", "10.0.0.0", "10.0.0.7", [1, 2, 3, 4, 5, 6], id="not-the-ends"),
        pytest.param("10.0.0.0/31", "10.0.0.0", "10.0.0.1", [0, 1], id="both-of-a-pair"),
        pytest.param("10.0.0.4/32", "10.0.0.4", "10.0.0.4", [4], id="one"),
    ],
)
def test_the_ends_of_a_prefix_are_not_given(cidr: str, first: str, last: str, given: list[int]) -> None:
    ranges = [{"start": first, "end": last}]
    network = changed(CTLPLANE, cidr=cidr, gateway="", excludeAddresses=[], allocationRanges=ranges, routes=[])
    spec, taken = net_config(network).spec, dict[str, str]()
    for number in given:
        (wanted,) = allocate(ip_set(), Around(spec, (), taken)).wanted
        assert wanted.address == f"10.0.0.{number}"
        taken[wanted.address] = "other"
    assert not allocate(ip_set(), Around(spec, (), taken)).wanted


def test_a_fixed_address_need_not_lie_in_a_range() -> None:
    asked = ip_set({"name": "ctlplane", "fixedIP": "192.168.122.50"})
    assert addresses(allocate(asked, around())) == ["192.168.122.50"]
    (wait,) = allocate(asked, around(n50="other")).waits
    assert wait.message == ("spec.networks: 192.168.122.50 is already reserved by IPSet other; choose another fixedIP")
    # Where that is refused, it says what else to do.
    immutable = msgspec.structs.replace(asked, spec=msgspec.structs.replace(asked.spec, immutable=True))
    (wait,) = allocate(immutable, around(n50="other")).waits
    assert "set immutable to false and then choose another fixedIP" in wait.message
    # An IPSet of the same name that is being removed will release it: nobody has to act.
    (wait,) = allocate(asked, around(n50="node")).waits
    assert wait.reason == "AddressReleasing"


def test_what_an_ip_set_has_it_keeps() -> None:
    held = reservation("node", "192.168.122.77")
    allocation = allocate(ip_set(), around(held, n100="other"))
    assert (allocation.wanted, allocation.waits) == ((), ())
    (told,) = describe_addresses(allocation)
    assert msgspec.to_builtins(told) == {
        "network": "ctlplane",
        "subnet": "subnet1",
        "address": "192.168.122.77",
        "cidr": "192.168.122.0/24",
        "mtu": 1500,
        "gateway": "192.168.122.1",
        "routes": ({"destination": "10.0.0.0/8", "nexthop": "192.168.122.2"},),
        "dnsDomain": "ctlplane.example.com",
        "serviceNetwork": "ctlplane",
    }


def test_an_address_that_another_one_had_first_is_told_to_nobody_else() -> None:
    held = reservation("node", "192.168.122.77")
    allocation = allocate(ip_set(), Around(SPEC, (held,), rivals={"192.168.122.77": "other"}))
    (wait,) = allocation.waits
    assert (wait.reason, "is also reserved by IPSet other, which had it first" in wait.message) == (
        "AddressInUse",
        True,
    )
    assert len(allocation.kept) == 1
    twin = reservation("other", "192.168.122.77", name="a")
    # Of two that were created in the same second, both choose the same one.
    assert find_elder(held, (twin,)) is twin
    assert find_elder(twin, (held,)) is None
    assert find_elder(held, ()) is None


def test_what_is_no_address_is_corrected_in_the_reservation() -> None:
    allocation = allocate(ip_set(), around(reservation("node", "192.168.122.77/24", name="wrong")))
    (wait,) = allocation.waits
    assert wait.message == ("192.168.122.77/24 in Reservation wrong is not an IP address; correct the Reservation")


def test_a_reservation_that_was_deleted_is_made_again_for_the_same_address() -> None:
    status = {"reservations": [{"network": "ctlplane", "subnet": "subnet1", "address": "192.168.122.200"}]}
    assert addresses(allocate(ip_set(status=status), around())) == ["192.168.122.200"]
    # Unless somebody else has it by now.
    assert addresses(allocate(ip_set(status=status), around(n200="other"))) == ["192.168.122.100"]


def test_of_two_addresses_in_a_network_the_one_that_was_told_stays() -> None:
    mine = reservation("node", "192.168.122.100"), reservation("node", "192.168.122.102")
    assert allocate(ip_set(), around(*mine)).surplus == mine[1:]
    status = {"reservations": [{"network": "ctlplane", "subnet": "subnet1", "address": "192.168.122.102"}]}
    assert allocate(ip_set(status=status), around(*mine)).surplus == mine[:1]


@pytest.mark.parametrize(
    ("told", "settled"),
    [
        pytest.param([], False, id="nothing-is-told-yet"),
        pytest.param([("InternalApi", "fd00:bbbb::10")], False, id="of-another-network-alone"),
        pytest.param([("ctlplane", "192.168.122.100")], True, id="another-one-is-told"),
        pytest.param([("ctlplane", "192.168.122.102")], False, id="this-one-is-told"),
    ],
)
def test_an_address_is_released_once_another_one_is_told(told: list[tuple[str, str]], settled: bool) -> None:
    status = {"reservations": [{"network": network, "subnet": "s", "address": address} for network, address in told]}
    assert is_settled(reservation("node", "192.168.122.102"), ip_set(status=status)) is settled


@pytest.mark.parametrize(
    ("told", "kept", "adopted", "surplus"),
    [
        pytest.param("", "192.168.122.102", False, ["192.168.122.100"], id="before-what-the-operator-took"),
        pytest.param("192.168.122.102", "192.168.122.102", True, ["192.168.122.100"], id="it-was-told"),
        pytest.param("192.168.122.100", "192.168.122.100", False, [], id="another-one-was-told-and-it-is-left-alone"),
    ],
)
def test_a_restored_address_counts_and_is_not_released(told: str, kept: str, adopted: bool, surplus: list[str]) -> None:
    taken = reservation("node", "192.168.122.100")
    restored = reservation("node", "192.168.122.102", owned=False)
    status = {"reservations": [{"network": "ctlplane", "subnet": "subnet1", "address": told}]} if told else None
    for mine in ((taken, restored), (restored, taken)):
        found = allocate(ip_set(status=status), around(*mine))
        assert [each.address for each in describe_addresses(found)] == [kept]
        assert found.adopted == ((restored,) if adopted else ())
        assert [held.address for held in list_held(found.surplus)] == surplus
        assert found.wanted == ()
        # It gets its owner once nothing can count in its place.
        assert [wait.reason for wait in found.waits] == ([] if told else ["Adopting"])


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        pytest.param([(100, True)], "", id="one-that-it-took"),
        pytest.param([(100, True), (102, True)], "", id="two-that-it-took"),
        pytest.param([(100, False)], "", id="one-that-was-restored"),
        pytest.param([(100, True), (102, False)], "restored-102, which has no owner, keeps 192.168.122.102", id="both"),
        pytest.param([(100, False), (102, False)], "restored-102, which has no owner", id="two-that-were-restored"),
    ],
)
def test_a_restored_address_that_does_not_count_is_told(mine: list[tuple[int, bool]], words: str) -> None:
    there = [
        reservation("node", f"192.168.122.{number}", owned=owned, name=f"restored-{number}") for number, owned in mine
    ]
    status = {"reservations": [{"network": "ctlplane", "subnet": "subnet1", "address": "192.168.122.100"}]}
    found = allocate(ip_set(status=status), around(*there))
    assert [(each.reason, words in each.message) for each in found.cautions] == (
        [("AddressBeside", True)] if words else []
    )
    # The machine goes on with the address that it was told.
    assert ([each.address for each in describe_addresses(found)], found.waits) == (["192.168.122.100"], ())


def test_of_two_restored_addresses_none_is_released() -> None:
    mine = [reservation("node", f"192.168.122.{number}", owned=False) for number in (100, 102)]
    found = allocate(ip_set(), around(*mine))
    assert ([each.address for each in describe_addresses(found)], found.surplus) == (["192.168.122.100"], ())
    # With an owner, the first one would go if the second one counted.
    status = {"reservations": [{"network": "ctlplane", "subnet": "subnet1", "address": "192.168.122.100"}]}
    adopted = reservation("node", "192.168.122.100")
    found = allocate(ip_set(status=status), around(adopted, mine[1]))
    assert ([each.address for each in describe_addresses(found)], found.surplus) == (["192.168.122.100"], ())


def test_all_addresses_of_a_reservation_of_upstreams_get_one_owner() -> None:
    entries = {
        network: {"network": network, "subnet": "subnet1", "address": address}
        for network, address in (("ctlplane", "192.168.122.77"), ("InternalApi", "fd00:bbbb::77"))
    }
    body = {"metadata": {"name": "node", "namespace": "openstack"}, "spec": {"reservation": entries}}
    upstreams = msgspec.convert(body, Reservation)
    asked = ({"name": "ctlplane"}, {"name": "internalapi"})
    found = allocate(ip_set(*asked), around(upstreams))
    assert ([wait.reason for wait in found.waits], found.adopted) == (["Adopting"], ())
    status = {"reservations": [{"network": "ctlplane", "subnet": "subnet1", "address": "192.168.122.77"}]}
    found = allocate(ip_set(*asked, status=status), around(upstreams))
    assert (found.waits, found.adopted) == ((), (upstreams,))


def test_what_is_restored_in_a_network_that_is_not_asked_for_is_deleted_by_hand() -> None:
    restored = reservation("node", "fd00:bbbb::10", "InternalApi", owned=False, name="restored")
    for there, which in ((restored, "Reservation restored"), (reservation("node", "fd00:bbbb::10", "b"), "the IPSet")):
        allocation = allocate(ip_set(), around(there))
        assert [wait.message.endswith(f"or delete {which}") for wait in allocation.waits] == [True]
        assert allocation.adopted == ()


def test_what_was_told_is_asked_for_before_another_address_counts() -> None:
    status = {"reservations": [{"network": "ctlplane", "subnet": "subnet1", "address": "192.168.122.102"}]}
    held = reservation("node", "192.168.122.100")
    # Another operator told it, and its Reservation is in no cache yet.
    asked = allocate(ip_set(status=status), around(held))
    assert (addresses(asked), asked.kept, asked.surplus) == (["192.168.122.102"], (), ())
    # If another IPSet has it, there is nothing to go back to.
    lost = allocate(ip_set(status=status), around(held, n102="other"))
    assert ([each.address for each in describe_addresses(lost)], lost.wanted) == (["192.168.122.100"], ())


def test_ctlplane_comes_first_and_has_the_default_route() -> None:
    mine = [reservation("node", "fd00:bbbb::10", "InternalApi"), reservation("node", "192.168.122.100")]
    asked = ip_set({"name": "internalapi"}, {"name": "ctlplane", "defaultRoute": True})
    first, second = describe_addresses(allocate(asked, around(*mine)))
    assert (first.serviceNetwork, second.serviceNetwork) == ("ctlplane", "internalapi")
    assert [(route.destination, route.nexthop) for route in first.routes] == [
        ("10.0.0.0/8", "192.168.122.2"),
        ("0.0.0.0/0", "192.168.122.1"),
    ]
    assert (second.vlan, second.mtu, second.network) == (20, 9000, "InternalApi")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        pytest.param({"name": "internalapi"}, "network ctlplane was removed", id="a-network-that-is-gone"),
        pytest.param({"name": "ctlplane", "subnetName": "other"}, "does not move to another subnet", id="a-subnet"),
        pytest.param({"name": "ctlplane", "fixedIP": "192.168.122.9"}, "is not exchanged", id="another-address"),
    ],
)
def test_nothing_moves_when_the_webhook_was_not_there(asked: dict[str, str], words: str) -> None:
    allocation = allocate(ip_set(asked), around(reservation("node", "192.168.122.100")))
    assert any(words in wait.message for wait in allocation.waits)
    assert "192.168.122" not in str(addresses(allocation))


@pytest.mark.parametrize(
    ("there", "mine"),
    [
        pytest.param(reservation("node", "192.168.122.9"), True, id="owned"),
        pytest.param(reservation("node", "192.168.122.9", uid="former"), False, id="of-a-former-one"),
        pytest.param(reservation("node", "192.168.122.9", owned=False), True, id="restored"),
        pytest.param(reservation("", "192.168.122.9", owned=False, name="node"), True, id="upstreams"),
        pytest.param(reservation("other", "192.168.122.9", owned=False), False, id="of-another"),
    ],
)
def test_whose_a_reservation_is(there: Reservation, *, mine: bool) -> None:
    assert is_mine(there, ip_set()) is mine


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        pytest.param({"cidr": "10.0.0.0/24", "gateway": "10.0.0.1"}, "does not lie in 10.0.0.0/24", id="moved"),
        pytest.param({"cidr": "fd00:cccc::/64", "gateway": ""}, "does not lie in fd00:cccc::/64", id="another-family"),
        pytest.param({"gateway": "192.168.122.100"}, "is excluded, or the address of the gateway", id="its-gateway"),
        pytest.param({"excludeAddresses": ["192.168.122.100"]}, "is excluded", id="excluded"),
        pytest.param({"vlan": 7}, "", id="what-concerns-no-address"),
    ],
)
def test_no_machine_is_told_of_a_subnet_in_which_its_address_is_not(fields: dict[str, Any], words: str) -> None:
    mine = reservation("node", "192.168.122.100")
    allocation = allocate(ip_set(), Around(net_config(changed(CTLPLANE, **fields), INTERNAL).spec, (mine,)))
    # It is not exchanged for another one either: the machine has it.
    assert not allocation.wanted
    assert [wait.reason for wait in allocation.waits] == (["SubnetChanged"] if words else [])
    assert words in "".join(wait.message for wait in allocation.waits)

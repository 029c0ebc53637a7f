"""Which addresses a cluster gets, and what it says when there are none."""

from ipaddress import IPv4Network

import pytest

from stackwright.local.cluster import addresses, spare_network
from stackwright.local.cluster.addresses import Network, Taken
from stackwright.local.errors import Collision

FIRST, SECOND = list(addresses.candidates())[:2]
BEYOND_TEN = list(addresses.candidates())[16]


def taken(*ranges: str) -> list[Taken]:
    return [Taken(IPv4Network(one), "somebody") for one in ranges]


@pytest.mark.parametrize(
    ("used", "chosen"),
    [
        pytest.param([], FIRST, id="an-empty-machine-gives-the-first"),
        pytest.param(["192.168.1.0/24", "172.17.0.0/16"], FIRST, id="a-network-elsewhere-is-no-matter"),
        pytest.param([FIRST.nodes], SECOND, id="a-second-cluster-goes-beside"),
        pytest.param(["10.176.3.7/32"], SECOND, id="one-address-in-the-range-of-pods-is-enough"),
        pytest.param(["10.160.0.0/12"], BEYOND_TEN, id="a-wide-network-moves-it-elsewhere"),
        pytest.param(["10.0.0.0/8"], BEYOND_TEN, id="a-company-that-has-all-of-ten-is-left-alone"),
        pytest.param(["0.0.0.0/1", "128.0.0.0/1"], FIRST, id="a-tunnel-to-everywhere-is-a-default-route"),
    ],
)
def test_the_first_free_network_is_chosen(used: list[str], chosen: Network) -> None:
    assert addresses.choose(taken(*used)) == chosen


def test_without_a_free_network_it_says_who_has_them() -> None:
    with pytest.raises(Collision, match=r"no addresses left.*10\.0\.0\.0/8 belongs to somebody"):
        addresses.choose(taken("10.0.0.0/8", "172.16.0.0/12"))


def test_a_cluster_with_data_says_who_took_its_addresses() -> None:
    addresses.check(FIRST, taken(SECOND.nodes), name="trial")
    with pytest.raises(Collision, match=r"trial cannot use its addresses again: 10\.192\.0\.0/24 belongs to somebody"):
        addresses.check(FIRST, taken(FIRST.nodes), name="trial")


def test_no_two_candidates_overlap() -> None:
    ranges = [one for network in addresses.candidates() for one in network.ranges]
    assert all(not a.overlaps(b) for index, a in enumerate(ranges) for b in ranges[:index])


def test_each_has_its_place_in_the_network() -> None:
    assert FIRST.host == "10.192.0.1"
    assert [FIRST.node(0), FIRST.node(1)] == ["10.192.0.2", "10.192.0.3"]
    assert [FIRST.pods_of(0), FIRST.pods_of(2)] == ["10.176.0.0/24", "10.176.2.0/24"]
    assert (FIRST.api_service, FIRST.dns_service) == ("10.160.0.1", "10.160.0.10")


def test_everybody_has_the_same_place_among_tunnels_as_among_nodes() -> None:
    tunnels = FIRST.tunnels
    assert tunnels.range == "10.192.2.0/24"
    assert tunnels.interface_of(FIRST.node(0)) == "10.192.2.2/24"
    assert tunnels.interface_of(FIRST.machine(63)) == "10.192.2.127/24"


def test_the_spare_network_is_beside_the_nodes_and_the_host_is_in_it() -> None:
    spare = FIRST.spare
    assert (spare.range, spare.host, spare.free) == ("10.192.1.0/24", "10.192.1.1", ("10.192.1.32", "10.192.1.254"))
    assert addresses.choose(taken("10.192.1.7/32")) == SECOND
    assert spare_network.shell_lines(spare) == [
        "export SPARE_INTERFACE=spare0",
        "export SPARE_RANGE=10.192.1.0/24",
        "export SPARE_HOST=10.192.1.1",
        "export SPARE_FIRST=10.192.1.32",
        "export SPARE_LAST=10.192.1.254",
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("default", None, id="a-default-route-is-no-range"),
        pytest.param("10.0.0.1", "10.0.0.1/32", id="an-address"),
        pytest.param("10.0.0.0/8", "10.0.0.0/8", id="a-range"),
    ],
)
def test_ranges_are_read_as_ip_writes_them(text: str, found: str | None) -> None:
    assert addresses.parse(text) == (IPv4Network(found) if found else None)

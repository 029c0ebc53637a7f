"""What is refused of networks and IPSets, each with the path of the field."""

from typing import Any

import msgspec
import pytest

from stackwright.api.base import JsonObject
from stackwright.api.network import IPSet
from stackwright.blueprint.addresses import refusals
from stackwright.blueprint.addresses.allocation import list_held
from tests.unit.blueprint.addresses.networks import CTLPLANE, INTERNAL, changed, ip_set, net_config, reservation

SUBNET = "spec.networks[0].subnets[0]"


def ranges(start: str, end: str) -> list[dict[str, str]]:
    return [{"start": start, "end": end}]


def test_networks_as_people_have_them_are_taken() -> None:
    assert list(refusals.of_networks(net_config().spec)) == []


@pytest.mark.parametrize(
    ("fields", "path", "words"),
    [
        pytest.param({"cidr": "192.168.122"}, "cidr", "is not a prefix", id="no-prefix"),
        pytest.param({"gateway": "192.168.1.1"}, "gateway", "is not in 192.168.122.0/24", id="a-gateway-elsewhere"),
        pytest.param({"gateway": "fd00::1"}, "gateway", "cannot mix IPv4 and IPv6", id="two-families"),
        pytest.param({"excludeAddresses": ["x"]}, "excludeAddresses[0]", "is not an IP address", id="no-address"),
        pytest.param(
            {"allocationRanges": ranges("192.168.122.9", "192.168.123.9")},
            "allocationRanges[0].end",
            "is not in 192.168.122.0/24",
            id="a-range-that-leaves-the-prefix",
        ),
        pytest.param(
            {"allocationRanges": ranges("192.168.122.9", "192.168.122.8")},
            "allocationRanges[0]",
            "start 192.168.122.9 comes after end 192.168.122.8",
            id="a-range-backwards",
        ),
        pytest.param(
            {"routes": [{"destination": "10/8", "nexthop": "192.168.122.1"}]},
            "routes[0].destination",
            "is not a prefix",
            id="a-route-to-nowhere",
        ),
        pytest.param(
            {"routes": [{"destination": "10.0.0.0/8", "nexthop": "10.0.0.1"}]},
            "routes[0].nexthop",
            "is not in 192.168.122.0/24",
            id="a-route-over-another-subnet",
        ),
    ],
)
def test_a_subnet_that_cannot_be_is_refused(fields: dict[str, Any], path: str, words: str) -> None:
    ((found, sentence),) = refusals.of_networks(net_config(changed(CTLPLANE, **fields)).spec)
    assert found == f"{SUBNET}.{path}"
    assert words in sentence


@pytest.mark.parametrize(
    ("second", "path", "words"),
    [
        pytest.param({"name": "CtlPlane"}, "name", "CtlPlane is already in use at spec.networks[0]", id="the-name"),
        pytest.param({"dnsDomain": CTLPLANE["dnsDomain"]}, "dnsDomain", "already in use", id="the-domain"),
        pytest.param({"serviceNetwork": "ctlplane"}, "serviceNetwork", "already in use", id="the-variables"),
        pytest.param(
            {"subnets": changed(INTERNAL, cidr="192.168.122.128/25", allocationRanges=[])["subnets"]},
            "subnets[0].cidr",
            "192.168.122.128/25 overlaps 192.168.122.0/24 of subnet ctlplane/subnet1",
            id="a-part-of-its-prefix",
        ),
    ],
)
def test_two_networks_do_not_share(second: JsonObject, path: str, words: str) -> None:
    found = dict(refusals.of_networks(net_config(CTLPLANE, {**INTERNAL, **second}).spec))
    assert words in found[f"spec.networks[1].{path}"]


def test_two_networks_do_not_share_variables_in_which_dashes_are_underscores() -> None:
    first, second = {**CTLPLANE, "serviceNetwork": "storage-mgmt"}, {**INTERNAL, "serviceNetwork": "storage_mgmt"}
    ((path, _),) = refusals.of_networks(net_config(first, second).spec)
    assert path == "spec.networks[1].serviceNetwork"


@pytest.mark.parametrize(
    ("networks", "path", "words"),
    [
        pytest.param([INTERNAL], "spec.networks", "network ctlplane cannot be removed", id="the-network-goes"),
        pytest.param(
            [changed(CTLPLANE, name="other")], "spec.networks[0].subnets", "subnet subnet1 of network", id="the-subnet"
        ),
        pytest.param([changed(CTLPLANE, cidr="192.168.122.0/26")], f"{SUBNET}.cidr", "leaves out", id="the-prefix"),
        pytest.param(
            [changed(CTLPLANE, cidr="192.168.122.96/30", gateway="")],
            f"{SUBNET}.cidr",
            "leaves out the address of",
            id="the-prefix-ends-before-it",
        ),
        pytest.param(
            [changed(CTLPLANE, cidr="192.168.122.100/30", gateway="")],
            f"{SUBNET}.cidr",
            "192.168.122.100 is the first or last address of 192.168.122.100/30, and that of IPSet node",
            id="the-prefix-begins-with-it",
        ),
        pytest.param(
            [changed(CTLPLANE, gateway="192.168.122.100")], f"{SUBNET}.gateway", "is the address of", id="the-gateway"
        ),
        pytest.param(
            [changed(CTLPLANE, excludeAddresses=["192.168.122.100"])],
            f"{SUBNET}.excludeAddresses",
            "192.168.122.100 is the address of",
            id="an-exclusion",
        ),
        pytest.param(
            [changed(CTLPLANE, allocationRanges=ranges("192.168.122.110", "192.168.122.120"))],
            f"{SUBNET}.allocationRanges",
            "leave out the address of",
            id="the-ranges",
        ),
    ],
)
def test_networks_do_not_shrink_below_what_is_reserved(networks: list[JsonObject], path: str, words: str) -> None:
    held = list(list_held([reservation("node", "192.168.122.100")]))
    ((found, sentence),) = refusals.of_use(net_config(*networks).spec, held, {})
    assert found == path
    assert words in sentence
    assert "IPSet node (192.168.122.100); delete the IPSet first" in sentence


def test_no_address_in_use_becomes_that_of_all_machines() -> None:
    held = list(list_held([reservation("node", "192.168.122.127")]))
    fixed = {"node": frozenset({"192.168.122.127"})}
    smaller = changed(CTLPLANE, cidr="192.168.122.64/26", allocationRanges=ranges("192.168.122.100", "192.168.122.127"))
    for asked in ({}, fixed):
        ((path, sentence),) = refusals.of_use(net_config(smaller).spec, held, asked)
        assert path == f"{SUBNET}.cidr"
        assert sentence.startswith("192.168.122.127 is the first or last address of 192.168.122.64/26, and that of")
    # Prefixes for two machines have no such address.
    pair = changed(CTLPLANE, cidr="192.168.122.126/31", allocationRanges=ranges("192.168.122.126", "192.168.122.127"))
    assert list(refusals.of_use(net_config(pair).spec, held, {})) == []


def test_a_fixed_address_needs_no_range_and_a_vlan_in_use_stays() -> None:
    held = list(list_held([reservation("node", "192.168.122.50")]))
    spec = net_config().spec
    fixed = refusals.fixed_by([ip_set({"name": "ctlplane", "fixedIP": "192.168.122.50"})])
    assert list(refusals.of_use(spec, held, fixed)) == []
    assert list(refusals.of_use(spec, held, {})) != []
    tagged = net_config(changed(CTLPLANE, vlan=7), INTERNAL).spec
    assert list(refusals.of_networks_changed(spec, tagged, held, ())) == [
        (f"{SUBNET}.vlan", "must stay absent: IPSets have addresses in the subnet")
    ]
    assert list(refusals.of_networks_changed(spec, tagged, [], ())) == []


def test_what_machines_were_told_of_a_vlan_counts() -> None:
    tagged, spec = net_config(changed(CTLPLANE, vlan=7), INTERNAL).spec, net_config().spec
    told = ip_set(status=STATUS)
    assert list(refusals.of_vlans(tagged, [told])) == [
        (f"{SUBNET}.vlan", "must stay absent: IPSets have addresses in the subnet")
    ]
    assert list(refusals.of_vlans(spec, [told])) == []
    assert list(refusals.of_vlans(tagged, [ip_set()])) == []
    # A VLAN that was changed while the webhook was down can be set back.
    held = list(list_held([reservation("node", "192.168.122.100")]))
    assert list(refusals.of_networks_changed(tagged, spec, held, [told])) == []


@pytest.mark.parametrize(
    ("networks", "path", "words"),
    [
        pytest.param([{"name": "storage"}], "[0].name", "network storage is not in the NetConfig", id="a-network"),
        pytest.param([{"name": "ctlplane", "subnetName": "s2"}], "[0].subnetName", "subnet s2 is not in", id="subnet"),
        pytest.param([{"name": "ctlplane"}, {"name": "CTLPLANE"}], "[1].name", "already in use at", id="twice"),
        pytest.param(
            [{"name": "ctlplane", "fixedIP": "192.168.1.5"}], "[0].fixedIP", "is not in 192.168", id="elsewhere"
        ),
        pytest.param(
            [{"name": "ctlplane", "fixedIP": "192.168.122.101"}], "[0].fixedIP", "is excluded", id="an-excluded-address"
        ),
        pytest.param([{"name": "ctlplane", "fixedIP": "192.168.122.1"}], "[0].fixedIP", "gateway", id="the-gateway"),
        pytest.param(
            [{"name": "internalapi", "defaultRoute": True}], "[0].defaultRoute", "has no gateway", id="no-gateway"
        ),
    ],
)
def test_an_ip_set_that_cannot_be_is_refused(networks: list[JsonObject], path: str, words: str) -> None:
    ((found, sentence),) = refusals.of_ip_set(ip_set(*networks).spec, net_config().spec)
    assert found == f"spec.networks{path}"
    assert words in sentence


def test_one_network_has_the_default_route() -> None:
    other = changed(CTLPLANE, cidr="10.0.0.0/24", gateway="10.0.0.1", allocationRanges=[], excludeAddresses=[])
    other = {**changed(other, routes=[]), "name": "external", "dnsDomain": "external.example.com"}
    asked = ip_set({"name": "ctlplane", "defaultRoute": True}, {"name": "external", "defaultRoute": True})
    ((path, sentence),) = refusals.of_ip_set(asked.spec, net_config(CTLPLANE, other).spec)
    assert path == "spec.networks[1].defaultRoute"
    assert sentence == "IPv4 has a default route already, at spec.networks[0]"


STATUS = {"reservations": [{"network": "ctlplane", "subnet": "subnet1", "address": "192.168.122.100"}]}


@pytest.mark.parametrize(
    ("networks", "path"),
    [
        pytest.param([{"name": "internalapi"}], "spec.networks", id="a-network-is-removed"),
        pytest.param([{"name": "ctlplane", "subnetName": "s2"}], "spec.networks[0].subnetName", id="another-subnet"),
        pytest.param([{"name": "ctlplane", "fixedIP": "192.168.122.9"}], "spec.networks[0].fixedIP", id="an-address"),
        pytest.param([{"name": "ctlplane", "fixedIP": "192.168.122.100"}], "", id="the-address-that-it-has"),
        pytest.param([{"name": "internalapi"}, {"name": "ctlplane"}], "", id="a-network-is-added"),
    ],
)
def test_what_a_machine_has_stays(networks: list[JsonObject], path: str) -> None:
    found = [where for where, _ in refusals.of_ip_set_changed(ip_set(status=STATUS), ip_set(*networks))]
    assert found == ([path] if path else [])


def test_an_ip_set_without_an_address_may_ask_for_another_one() -> None:
    old = ip_set({"name": "ctlplane", "fixedIP": "192.168.122.50"})
    other = ip_set({"name": "ctlplane", "fixedIP": "192.168.122.51", "subnetName": "s2"})
    assert list(refusals.of_ip_set_changed(old, other)) == []
    # It has one as soon as that is reserved, even if the status does not tell it yet.
    held = list(list_held([reservation("node", "192.168.122.50")]))
    assert [path for path, _ in refusals.of_ip_set_changed(old, other, held)] == [
        "spec.networks[0].subnetName",
        "spec.networks[0].fixedIP",
    ]


@pytest.mark.parametrize(
    ("address", "words"),
    [
        pytest.param("192.0.2.5/24", "192.0.2.5/24 is not an IP address", id="with-a-prefix"),
        pytest.param("one.example.com", "is not an IP address", id="a-name"),
        pytest.param("192.168.122.100", "192.168.122.100 is already reserved by IPSet other", id="anothers"),
        pytest.param("192.0.2.5", "", id="an-address"),
        pytest.param("2001:DB8::5", "", id="of-ipv6"),
        pytest.param("", "", id="none"),
    ],
)
def test_a_reservation_has_an_address(address: str, words: str) -> None:
    taken = {held.address: held for held in list_held([reservation("other", "192.168.122.100")])}
    found = list(refusals.of_reservation(reservation("node", address, "storage").spec, taken))
    assert [path for path, _ in found] == (["spec.reservation[storage].address"] if words else [])
    assert words in "".join(sentence for _, sentence in found)


def test_an_immutable_ip_set_keeps_its_networks() -> None:
    old = msgspec.structs.replace(ip_set(), spec=msgspec.structs.replace(ip_set().spec, immutable=True))
    assert [where for where, _ in refusals.of_ip_set_changed(old, ip_set({"name": "ctlplane"}, {"name": "other"}))] == [
        "spec.networks"
    ]


def immutable(*networks: JsonObject, status: JsonObject | None = None) -> IPSet:
    found = ip_set(*networks, status=status)
    return msgspec.structs.replace(found, spec=msgspec.structs.replace(found.spec, immutable=True))


def test_an_immutable_ip_set_that_was_changed_without_the_webhook_is_refused_and_can_be_set_back() -> None:
    status = {"networks": [{"name": "ctlplane", "subnetName": "subnet1"}]}
    both = ({"name": "ctlplane"}, {"name": "internalapi"})
    wrong = immutable(*both, status=status)
    refused = ("spec.networks", "must stay as it is, because immutable is set")
    assert list(refusals.of_immutable(wrong)) == [refused]
    assert list(refusals.of_ip_set_changed(wrong, immutable(status=status))) == []
    assert list(refusals.of_ip_set_changed(wrong, wrong)) == []
    assert list(refusals.of_immutable(immutable(status=status))) == []
    # Nothing was told yet; and who takes immutable away may change what was.
    assert list(refusals.of_immutable(immutable(*both))) == []
    assert list(refusals.of_immutable(ip_set(*both, status=status))) == []


def test_a_subnet_that_was_changed_without_the_webhook_can_be_set_back() -> None:
    wrong = ip_set({"name": "ctlplane", "subnetName": "s2"}, status=STATUS)
    assert list(refusals.of_ip_set_changed(wrong, ip_set(status=STATUS))) == []

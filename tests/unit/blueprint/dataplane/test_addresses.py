"""The addresses of a machine: what its node asks for, what it waits for, and what Ansible is told."""

import msgspec

from stackwright.api.dataplane import OpenStackDataPlaneRole
from stackwright.blueprint.dataplane.addresses import (
    describe_ip_set,
    describe_networks,
    find_addresses,
    find_unasked,
    reach_by,
)
from stackwright.blueprint.dataplane.inheritance import inherit
from stackwright.kube.plan import Wait
from tests.unit.blueprint.addresses.networks import net_config
from tests.unit.blueprint.dataplane.addressed import NETWORKS, ROLE, Caches, node, told
from tests.unit.controllers.dataplane.run_parts import MIDNIGHT, owner


def test_a_node_without_networks_asks_for_nothing() -> None:
    nobody = OpenStackDataPlaneRole()
    assert describe_ip_set(node(), nobody, Caches()) is None
    assert find_addresses(inherit(node(), nobody), Caches()) == ()
    assert describe_networks(()) == {}


def test_each_node_fixes_its_own_address_in_ctlplane_and_no_other() -> None:
    look = Caches(net_config())
    for host in ("192.168.122.30", "192.168.122.31"):
        asked = describe_ip_set(node(ansibleHost=host), ROLE, look)
        assert asked is not None
        assert asked["spec"]["networks"] == [{**NETWORKS[0], "fixedIP": host}, NETWORKS[1]]
    # The role's own list is as it was, and what is no address of the subnet is left alone.
    for host in ("", "node.example.com", "10.9.8.7", "fd00:bbbb::99"):
        asked = describe_ip_set(node(ansibleHost=host), ROLE, look)
        assert asked is not None
        assert asked["spec"]["networks"] == NETWORKS


def test_nothing_is_asked_for_before_the_networks_are_known() -> None:
    assert describe_ip_set(node(ansibleHost="192.168.122.30"), ROLE, Caches()) is None


def test_addresses_that_a_node_asks_for_no_more_are_kept_until_the_user_releases_them() -> None:
    mine = msgspec.structs.replace(node(), metadata=msgspec.structs.replace(node().metadata, uid="n"))
    bare = inherit(mine, OpenStackDataPlaneRole())
    metadata = msgspec.structs.replace(told().metadata, ownerReferences=(owner("OpenStackDataPlaneNode", "n"),))
    left = msgspec.structs.replace(told(), metadata=metadata)
    wait = find_unasked(mine, bare, Caches(left))
    assert wait is not None
    assert "IPSet node still has its addresses" in wait.message
    # What it asks for is there to stay; one that a user made, or that goes, is not the node's.
    going = msgspec.structs.replace(left, metadata=msgspec.structs.replace(metadata, deletionTimestamp=MIDNIGHT))
    for there in ((), (told(),), (going,)):
        assert find_unasked(mine, bare, Caches(*there)) is None
    assert find_unasked(mine, inherit(mine, ROLE), Caches(left)) is None


def test_a_node_waits_for_its_addresses() -> None:
    machine = inherit(node(), ROLE)
    for look, words in (
        (Caches(), "There is no NetConfig yet"),
        (Caches(net_config()), "IPSet node is being created"),
        (Caches(net_config(), told(ready=False)), "IPSet node: no address is left"),
        # The IPSet was changed, and what its status says is outdated.
        (Caches(net_config(), told(generation=2)), "IPSet node has no addresses yet"),
    ):
        found = find_addresses(machine, look)
        assert isinstance(found, Wait)
        assert words in found.message


def test_ansible_gets_the_networks_of_a_machine() -> None:
    found = find_addresses(inherit(node(), ROLE), Caches(net_config(), told()))
    assert not isinstance(found, Wait)
    assert describe_networks(found, ("192.0.2.53",))["ctlplane_dns_nameservers"] == ["192.0.2.53"]
    assert describe_networks(found) == {
        "ctlplane_ip": "192.168.122.100",
        "ctlplane_cidr": 24,
        "ctlplane_mtu": 1500,
        "ctlplane_gateway_ip": "192.168.122.1",
        "ctlplane_host_routes": [
            {"destination": "10.0.0.0/8", "nexthop": "192.168.122.2"},
            {"destination": "0.0.0.0/0", "nexthop": "192.168.122.1"},
        ],
        "internalapi_ip": "fd00:bbbb::10",
        "internalapi_cidr": 64,
        "internalapi_vlan_id": 20,
        "internalapi_mtu": 9000,
        "internalapi_host_routes": [],
        "dns_search_domains": ["ctlplane.example.com", "internalapi.example.com"],
        "nodeset_networks": ["InternalApi"],
        "networks_lower": {"ctlplane": "ctlplane", "InternalApi": "internalapi"},
        "network_servicenet_map": {"ctlplane": "ctlplane", "InternalApi": "internalapi"},
    }


def test_a_machine_is_reached_in_ctlplane_unless_the_node_says_where() -> None:
    found = find_addresses(inherit(node(), ROLE), Caches(net_config(), told()))
    assert not isinstance(found, Wait)
    assert reach_by(inherit(node(), ROLE), node(), found).address == "192.168.122.100"
    there = node(ansibleHost="jump.example.com")
    assert reach_by(inherit(there, ROLE), there, found).address == "jump.example.com"
    # A machine that is not provisioned has no address, whatever is reserved for it.
    bare = msgspec.structs.replace(ROLE, spec=msgspec.structs.replace(ROLE.spec, preProvisioned=False))
    assert reach_by(inherit(node(), bare), node(), found).address == ""

"""What Neutron says of physical networks, ranges and sizes of packets in a user's configuration."""

from typing import Any

import msgspec
import pytest

from stackwright.api.base import ObjectMeta
from stackwright.controllers import admission
from stackwright.controllers.needs import sight
from stackwright.foresight.checks import advice
from stackwright.foresight.checks.results import Level
from stackwright.foresight.objects import Objects
from stackwright.kube.resource import R
from stackwright.services.neutron import physical
from stackwright.services.neutron.kinds import NeutronAPI, NeutronAPISpec
from stackwright.services.neutron.service import SERVICE
from stackwright.services.ovn.kinds import OVNController
from tests.unit.foresight.checks.samples import cloud, state


def neutron(text: str, **spec: Any) -> NeutronAPI:
    said = {"databaseInstance": "openstack", "secret": "osp-secret", "customServiceConfig": text, **spec}
    return NeutronAPI(metadata=ObjectMeta(name="neutron"), spec=msgspec.convert(said, NeutronAPISpec))


def gateways(**mtus: int) -> OVNController:
    chassis = {node: {"mtu": size} for node, size in mtus.items()}
    body = {
        "metadata": {"name": "ovncontroller", "namespace": "openstack"},
        "spec": {"nicMappings": {"datacentre": "eth1"}},
        "status": {"chassis": chassis},
    }
    return msgspec.convert(body, OVNController)


def nothing(kind: type[R], namespace: str | None) -> list[R]:
    return []


def advised(text: str, *around: Any, **spec: Any) -> list[str]:
    return [sentence for _, sentence in SERVICE.advice(neutron(text, **spec), sight(Objects(around)))]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("[ml2_type_vlan]\nnetwork_vlan_ranges = a:0:10\n", "between 1 and 4094", id="vlan-0"),
        pytest.param("[ml2_type_vlan]\nnetwork_vlan_ranges = b,a:1:4095\n", "between 1 and 4094", id="vlan-4095"),
        pytest.param("[ml2_type_vlan]\nnetwork_vlan_ranges = a:20:10\n", "begins after its end", id="reversed"),
        pytest.param("[ml2_type_vlan]\nnetwork_vlan_ranges = a:10\n", "is no range", id="one-end"),
        pytest.param("[ml2_type_vlan]\nnetwork_vlan_ranges = :1:10\n", "names no physical network", id="no-network"),
        pytest.param("[ml2_type_geneve]\nvni_ranges = 1:16777216\n", "between 1 and 16777215", id="geneve"),
        pytest.param("[ml2_type_vxlan]\nvni_ranges = one:two\n", "is no range", id="vxlan"),
        pytest.param("[ml2]\nphysical_network_mtus = a\n", "is not a network:bytes", id="no-size"),
    ],
)
def test_ranges_that_neutron_cannot_read_are_refused(text: str, words: str) -> None:
    found = [sentence for _, sentence in physical.problems(neutron(text))]
    assert len(found) == 1
    assert words in found[0]
    ((field, told),) = [
        (error.field, error.message)
        for check in admission.CHECKS
        for error in check(None, neutron(text), nothing).errors
    ]
    assert (field, told) == ("spec.customServiceConfig", found[0])


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing-said"),
        pytest.param("[ml2_type_vlan]\nnetwork_vlan_ranges = datacentre:100:199,datacentre:1:1\n", id="ranges"),
        pytest.param("[ml2_type_flat]\nflat_networks = *\n", id="any-flat-network"),
        pytest.param("[DEFAULT]\nglobal_physnet_mtu = 9000\n[ml2]\nphysical_network_mtus = a:9000\n", id="jumbo"),
    ],
)
def test_what_works_is_not_spoken_of(text: str) -> None:
    assert list(physical.problems(neutron(text))) == []
    assert advised(text, gateways(one=9000)) == []


def test_a_physical_network_that_nothing_maps() -> None:
    text = (
        "[ml2_type_vlan]\nnetwork_vlan_ranges = datacentre:1:10,storage:20:30\n[ml2_type_flat]\nflat_networks = out\n"
    )
    first, second = advised(text, gateways())
    assert "[ml2_type_flat] flat_networks names the physical network out" in first
    assert "names the physical network storage, and OVNController ovncontroller does not map it" in second
    assert "add storage to its nicMappings" in second
    # Nobody is a gateway here: then datacentre is the network of machines outside of the cluster.
    assert ["there is no OVNController ovncontroller" in one for one in advised(text)] == [True, True]
    assert advised(text, gateways(), ml2MechanismDrivers=["linuxbridge"]) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", "set [ml2] path_mtu = 1450, and virtual networks have 1392", id="usual"),
        pytest.param("[DEFAULT]\nglobal_physnet_mtu = 1400\n", "", id="smaller-below"),
        pytest.param("[ml2]\npath_mtu = 1450\n", "", id="smaller-tunnel"),
    ],
)
def test_packets_that_do_not_fit_between_the_nodes(text: str, words: str) -> None:
    found = advised(text, gateways(one=1500, two=1450))
    assert len(found) == bool(words)
    assert all(words in one and "node two" in one for one in found)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("[ml2]\npath_mtu = 9000\n", "path_mtu is 9000, and no packet is larger than", id="tunnels"),
        pytest.param("[ml2]\nphysical_network_mtus = a:9000\n", "physical_network_mtus of a is 9000", id="networks"),
        pytest.param("[ml2]\nproject_network_types = vxlan\n", "names vxlan, which is not among", id="types"),
        pytest.param("[ml2_type_geneve]\nmax_header_size = 30\n", "OVN's tunnels need 38", id="header"),
    ],
)
def test_what_has_no_effect_or_loses_packets(text: str, words: str) -> None:
    (found,) = advised(text, gateways())
    assert words in found


def test_check_tells_it_of_a_whole_cloud() -> None:
    asked = neutron("[ml2_type_vlan]\nnetwork_vlan_ranges = storage:1:10\n")
    (offline,) = advice.advice(cloud(given=(asked,)), None)
    assert offline.level is Level.WARNING
    assert offline.message.startswith("NeutronAPI neutron: spec.customServiceConfig: [ml2_type_vlan]")
    there = gateways(one=1400)
    unmapped, narrow = advice.advice(cloud(given=(asked,)), state(resources=(there,)))
    assert "does not map it" in unmapped.message
    assert "path_mtu = 1400" in narrow.message

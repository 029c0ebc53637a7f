"""OVN: what follows from its resources, as plain functions."""

import json
from typing import Any

import msgspec
import pytest

from stackwright import services
from stackwright.blueprint.needs.network_database import NetworkDatabaseFacts
from stackwright.blueprint.policies import Surroundings, rules
from stackwright.controllers.controlplane.resolution import resolve
from stackwright.kube import builtin
from stackwright.kube.builtin import ConfigMap, StatefulSet
from stackwright.kube.resource import ObjectMeta
from stackwright.services.ovn import controller, database, northd
from stackwright.services.ovn.kinds import OVNController, OVNDBCluster, OVNNorthd
from stackwright.services.ovn.section import role_of

FACTS = database.DatabaseFacts(name="sb", namespace="cloud", image="i")
SOUTH = NetworkDatabaseFacts("tcp:10.96.0.2:6642", "", "ovndbcluster-sb", "ovn-database")
NORTH = NetworkDatabaseFacts("tcp:10.96.0.1:6641", "", "ovndbcluster-nb", "ovn-database")


def made(kind: Any, name: str, **spec: Any) -> Any:
    return msgspec.convert({"metadata": {"name": name, "namespace": "cloud"}, "spec": spec}, kind)


def cluster(role: str = "SB", **spec: Any) -> OVNDBCluster:
    found: OVNDBCluster = made(OVNDBCluster, f"ovndbcluster-{role.lower()}", dbType=role, storageRequest="1G", **spec)
    return found


def look_at(*there: Any) -> Any:
    def look(kind: type[Any], name: str, **_: str) -> Any:
        return next((item for item in there if isinstance(item, kind) and item.metadata.name == name), None)

    return look


def service(name: str, address: str) -> builtin.Service:
    return builtin.Service(metadata=ObjectMeta(name=name), spec={"clusterIP": address})


MEMBERS = tuple(service(f"ovsdbserver-sb-{number}", f"10.96.0.{number + 2}") for number in range(3))
FORMED = StatefulSet(metadata=ObjectMeta(name="ovsdbserver-sb"), status={"readyReplicas": 1})


def test_the_address_lists_every_member_by_its_number() -> None:
    told: Any = database.tell(cluster(replicas=3), FACTS, look_at(*MEMBERS, FORMED)).status
    assert told.internalDbAddress == "tcp:10.96.0.2:6642,tcp:10.96.0.3:6642,tcp:10.96.0.4:6642"
    six: Any = database.tell(cluster(), FACTS, look_at(service("ovsdbserver-sb-0", "fd00::2"), FORMED)).status
    assert six.internalDbAddress == "tcp:[fd00::2]:6642"


def test_there_is_no_address_before_a_member_is_ready_or_has_one() -> None:
    assert database.tell(cluster(), FACTS, look_at(*MEMBERS)).status.internalDbAddress == ""  # type: ignore[attr-defined]  # of this kind
    assert database.tell(cluster(replicas=3), FACTS, look_at(*MEMBERS[:2], FORMED)).status.internalDbAddress == ""  # type: ignore[attr-defined]  # of this kind


def test_an_address_stays_while_all_members_are_away() -> None:
    before = cluster()
    known = msgspec.structs.replace(before, status=msgspec.structs.replace(before.status, internalDbAddress="tcp:x"))
    told: Any = database.tell(known, FACTS, look_at(*MEMBERS)).status
    assert told.internalDbAddress == "tcp:10.96.0.2:6642"


@pytest.mark.parametrize(("replicas", "address"), [(1, "tcp:x"), (0, "")])
def test_an_address_stays_while_the_service_of_a_member_is_away(replicas: int, address: str) -> None:
    before = cluster(replicas=replicas)
    known = msgspec.structs.replace(before, status=msgspec.structs.replace(before.status, internalDbAddress="tcp:x"))
    told: Any = database.tell(known, FACTS, look_at(FORMED)).status
    assert told.internalDbAddress == address


@pytest.mark.parametrize(
    ("place", "address"),
    [
        ("192.0.2.7:30642", "tcp:192.0.2.7:30642"),
        ("[fd00::7]:6642", "tcp:[fd00::7]:6642"),
        ("lb.example:6642", ""),
        ("", ""),
    ],
)
def test_machines_outside_are_told_numbers_alone(place: str, address: str) -> None:
    assert database.outside_address(place) == address


def test_machines_outside_read_where_sb_is_and_how_to_tunnel() -> None:
    known = database.DatabaseFacts(
        name="sb", namespace="cloud", image="i", outside="192.0.2.7:30642", tunnels={"ovn-encap-type": "geneve"}
    )
    (found,) = database.resources(cluster(), known)
    assert isinstance(found, ConfigMap)
    assert found.data == {"ovsdb-config": "ovn-encap-type: geneve\novn-remote: tcp:192.0.2.7:30642\n"}
    assert list(database.resources(cluster("NB"), known)) == []
    assert list(database.resources(cluster(), FACTS)) == []


def test_a_lost_majority_says_who_has_the_most_and_what_to_do() -> None:
    said = {
        f"ovsdbserver-sb-{number}": json.dumps({"state": "has no majority", "index": index})
        for number, index in ((1, 7), (2, 9))
    }
    (finding,) = database.findings(cluster(replicas=3), said, said)
    assert (finding.reason, finding.status) == ("MajorityLost", "False")
    assert """'{"data":{"force":"ovsdbserver-sb-2"}}'""" in finding.message
    # Its pod has gone, and what it said last stands there still.
    (finding,) = database.findings(cluster(replicas=3), said, {"ovsdbserver-sb-1"})
    assert """'{"data":{"force":"ovsdbserver-sb-1"}}'""" in finding.message
    assert "ovsdbserver-sb-2" not in finding.message
    assert next(database.findings(cluster(replicas=3), said, ())).reason == "MajorityLost"


def test_one_that_is_cut_off_is_no_lost_majority() -> None:
    said = {f"ovsdbserver-sb-{number}": json.dumps({"state": "serves"}) for number in range(2)}
    said["ovsdbserver-sb-2"] = json.dumps({"state": "has no majority", "index": 9})

    def pod(name: str, ready: str) -> builtin.Pod:
        conditions = [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": ready}]
        return builtin.Pod(metadata=ObjectMeta(name=name), status={"phase": "Running", "conditions": conditions})

    def reason(ready: str) -> str:
        state = ConfigMap(metadata=ObjectMeta(name="ovsdbserver-sb-state"), data=said)
        pods = [pod(name, "True" if name.endswith("2") else ready) for name in said]
        (finding,) = database.tell(cluster(replicas=3), FACTS, look_at(state, *pods)).findings
        return finding.reason

    # A new cluster of its data would take from the others what they have more.
    assert reason("True") == "MemberNotReady"
    # The nodes of the others are gone, and what they said last stands there still.
    assert reason("False") == "MajorityLost"


def test_a_member_that_waits_says_for_what() -> None:
    said = {"ovsdbserver-sb-0": json.dumps({"state": "waits: for others"}), "ovsdbserver-sb-1": "rubbish"}
    (finding,) = database.findings(cluster(replicas=3), said, said)
    assert finding.message == "ovsdbserver-sb-0 waits: for others"
    assert list(database.findings(cluster(), {"ovsdbserver-sb-0": json.dumps({"state": "serves"})}, ())) == []


def test_two_of_a_type_collide_and_the_types_do_not() -> None:
    north, south = set(database.claims(cluster("NB"))), set(database.claims(cluster("SB")))
    assert north.isdisjoint(south)
    assert {claim.name for claim in south} == {
        "ovsdbserver-sb",
        "ovsdbserver-sb-state",
        "ovsdbserver-sb-outside",
        "ovsdbserver-sb-0",
        "ovncontroller-config",
    }


def test_sb_is_open_to_nodes_and_nb_to_those_that_need_it() -> None:
    around = Surroundings("stackwright")
    south = rules(database.SERVICE, cluster(), FACTS, around)["ingress"]["sb"]
    assert {"ports": [{"port": 6642, "protocol": "TCP"}]} in south
    north = rules(database.SERVICE, cluster("NB"), FACTS, around)["ingress"]["nb"]
    (heard,) = [rule for rule in north if rule.get("ports") == [{"port": 6641, "protocol": "TCP"}]]
    labels = heard["from"][0]["podSelector"]["matchLabels"]
    assert labels == {"network-database.needs.openstack.org/ovndbcluster-nb": "true"}


def test_the_daemon_is_told_where_both_databases_are() -> None:
    facts = northd.NorthdFacts(name="n", namespace="cloud", image="i", north=NORTH, south=SOUTH)
    assert northd.values(made(OVNNorthd, "ovnnorthd", nThreads=4), facts) == {
        "northbound": "tcp:10.96.0.1:6641",
        "southbound": "tcp:10.96.0.2:6642",
        "logLevel": "info",
        "threads": 4,
    }


def gateway(**spec: Any) -> OVNController:
    found: OVNController = made(OVNController, "ovncontroller", **spec)
    return found


def test_a_node_is_told_what_upstream_tells_it() -> None:
    facts = controller.ControllerFacts(name="c", namespace="cloud", image="i", south=SOUTH)
    resource = gateway(**{"external-ids": {"availability-zones": ["a", "b"]}, "nicMappings": {"datacentre": "eth1"}})
    assert controller.settings(resource, facts) == {
        "externalIds": {
            "ovn-bridge": "br-int",
            "ovn-remote": "tcp:10.96.0.2:6642",
            "ovn-encap-type": "geneve",
            "ovn-encap-tos": "0",
            "ovn-remote-probe-interval": "60000",
            "ovn-cms-options": "enable-chassis-as-gw,availability-zones=a:b",
        },
        "networks": {"datacentre": "eth1"},
        "tunnelInterface": "",
        "fakeHosts": {},
        "ovnLogLevel": "info",
    }
    assert controller.switch_values(resource, facts) == {"settings": {"ovsLogLevel": "info"}}
    assert controller.cms_options(()) == "enable-chassis-as-gw"


def nothing(*_: Any, **__: Any) -> Any:
    """What is seen of a cluster that has nothing yet."""


def test_a_fake_host_is_on_one_node() -> None:
    facts = controller.ControllerFacts(name="c", namespace="cloud", image="i", south=SOUTH)
    good = gateway(fakeHosts={"node-1": ["one", "two"], "node-2": ["three"]})
    assert controller.settings(good, facts)["fakeHosts"] == {"node-1": ["one", "two"], "node-2": ["three"]}
    assert list(controller.problems(good, nothing)) == []
    for bad in ({"node-1": ["one"], "node-2": ["one"]}, {"node-1": ["node-1"]}):
        found = list(controller.problems(gateway(fakeHosts=bad), nothing))
        assert found[0][0] == "spec.fakeHosts[node-1]"


def test_the_interface_for_tunnels_has_no_other_purpose() -> None:
    facts = controller.ControllerFacts(name="c", namespace="cloud", image="i", south=SOUTH)
    good = gateway(nicMappings={"datacentre": "eth1"}, tunnelInterface="eth2")
    assert controller.settings(good, facts)["tunnelInterface"] == "eth2"
    assert list(controller.problems(good, nothing)) == []
    for networks in ({"datacentre": "eth2"}, {"tunnel": "eth1"}):
        (found,) = controller.problems(gateway(nicMappings=networks, tunnelInterface="eth2"), nothing)
        assert found[0] == f"spec.nicMappings[{next(iter(networks))}]"


@pytest.mark.parametrize(
    ("name", "fits"),
    [("bond0.100", True), ("br-ex", True), ("a;reboot", False), ("$(reboot)", False), ("-f", False), ("a&b", False)],
)
def test_an_interface_has_a_name_that_is_one(name: str, fits: bool) -> None:
    for path, resource in (
        ("spec.nicMappings[a]", gateway(nicMappings={"a": name})),
        ("spec.tunnelInterface", gateway(tunnelInterface=name)),
    ):
        found = [at for at, _ in controller.problems(resource, nothing)]
        assert found == ([] if fits else [path])


def test_what_nodes_report_is_in_the_status_and_their_problems_in_a_condition() -> None:
    said = {
        "node-1": json.dumps({"datapath": "netdev", "systemId": "x", "problem": ""}),
        "node-2": json.dumps({"datapath": "system", "problem": "there is no interface eth1"}),
        "rubbish": "{",
    }
    state = ConfigMap(metadata=ObjectMeta(name="ovncontroller-chassis"), data=said)
    told = controller.tell(gateway(), None, look_at(state))
    status: Any = told.status
    assert {node: one.datapath for node, one in status.chassis.items()} == {"node-1": "netdev", "node-2": "system"}
    (finding,) = told.findings
    assert finding.message == "node node-2: there is no interface eth1"


def test_each_of_a_nodes_pods_has_its_own_image() -> None:
    resource = gateway(ovnContainerImage="a/ovn:1", ovsContainerImage="a/ovs:1")
    images = {one.name: one.template(resource).containerImage for one in controller.SERVICE.components_of(resource)}
    assert images == {"ovs": "a/ovs:1", "controller": "a/ovn:1"}


@pytest.mark.parametrize(("key", "role"), [("ovndbcluster-nb", "NB"), ("ovndbcluster-sb", "SB"), ("south-SB", "SB")])
def test_the_umbrella_knows_the_database_by_its_key(key: str, role: str) -> None:
    assert role_of(key) == role


def asked(ovn: Any) -> set[str]:
    kind = services.control_plane()
    spec = {"secret": "s", "storageClass": "local", "ovn": ovn}
    umbrella: Any = msgspec.convert({"metadata": {"name": "openstack"}, "spec": spec}, kind)
    return {str(instance) for instance in resolve(umbrella.spec, services.sections(), ())}


def test_a_section_that_says_nothing_is_all_but_gateways() -> None:
    assert asked({}) == {"OVNDBCluster ovndbcluster-nb", "OVNDBCluster ovndbcluster-sb", "OVNNorthd ovnnorthd"}
    mapped = {"template": {"ovnController": {"nicMappings": {"datacentre": "eth1"}}}}
    assert "OVNController ovncontroller" in asked(mapped)


def test_databases_of_other_names_take_the_place_of_the_usual_ones() -> None:
    named = {"template": {"ovnDBCluster": {"north": {"dbType": "NB"}, "south": {"dbType": "SB"}}}}
    assert asked(named) == {"OVNDBCluster north", "OVNDBCluster south", "OVNNorthd ovnnorthd"}

"""Which of several nodes has a machine."""

from typing import Any

import msgspec
import pytest

from stackwright.api.dataplane import (
    OpenStackDataPlaneNode,
    OpenStackDataPlaneNodeSpec,
    OpenStackDataPlaneNodeStatus,
    OpenStackDataPlaneRole,
    ServiceRecord,
)
from stackwright.api.network import IPSet
from stackwright.api.node_sections import NodeSection
from stackwright.blueprint.dataplane.twins import find_twins
from stackwright.kube.resource import ObjectMeta
from tests.unit.blueprint.addresses.networks import given

APPLIED = OpenStackDataPlaneNodeStatus(services=(ServiceRecord(name="reach", inputHash="h", appliedHash="h"),))
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA"
ROLE = msgspec.convert({"metadata": {"name": "compute"}, "spec": {"preProvisioned": True}}, OpenStackDataPlaneRole)


def node(name: str, created: str, **spec: Any) -> OpenStackDataPlaneNode:
    metadata = ObjectMeta(name=name, creationTimestamp=f"2026-11-16T00:00:{created}Z")
    return OpenStackDataPlaneNode(metadata=metadata, spec=OpenStackDataPlaneNodeSpec(role="compute", **spec))


@pytest.mark.parametrize(
    ("second", "twins"),
    [
        pytest.param({"ansibleHost": "10.0.0.1"}, {"b": "a"}, id="one-address"),
        pytest.param({"ansibleHost": "10.0.0.2", "hostName": "a"}, {"b": "a"}, id="one-host-name"),
        pytest.param({"ansibleHost": "10.0.0.2", "hostName": "A"}, {"b": "a"}, id="one-host-name-in-other-letters"),
        pytest.param({"ansibleHost": "10.0.0.1", "node": NodeSection(ansiblePort=2222)}, {}, id="behind-another-port"),
        pytest.param({"ansibleHost": "10.0.0.2"}, {}, id="another-machine"),
        pytest.param({"ansibleHost": "10.1"}, {"b": "a"}, id="one-address-in-fewer-numbers"),
        pytest.param({"ansibleHost": "0x0a.0.0.1"}, {"b": "a"}, id="one-address-in-other-numbers"),
        pytest.param({"ansibleHost": "::ffff:10.0.0.1"}, {"b": "a"}, id="one-address-as-one-of-ipv6"),
        pytest.param({"ansibleHost": "10.2"}, {}, id="another-address-in-fewer-numbers"),
        pytest.param({"ansibleHost": "10.0.0.1.example"}, {}, id="a-name-that-begins-like-an-address"),
        pytest.param({}, {}, id="a-machine-that-is-not-there"),
    ],
)
def test_the_older_of_two_nodes_has_the_machine(second: dict[str, Any], twins: dict[str, str]) -> None:
    nodes = (node("b", "02", **second), node("a", "01", ansibleHost="10.0.0.1"))
    assert find_twins(nodes, {}, {}) == twins


@pytest.mark.parametrize(
    ("second", "ip_set", "twins"),
    [
        pytest.param({}, given("b", "2001:db8::1"), {"b": "a"}, id="given-to-the-younger-one"),
        pytest.param({}, given("b", "2001:db8::1", "storage"), {}, id="nobody-is-reached-in-storage"),
        pytest.param({}, given("b", "2001:db8::2"), {}, id="another-machine"),
        pytest.param({"ansibleHost": "10.0.0.2"}, given("b", "2001:db8::1"), {}, id="reached-elsewhere"),
    ],
)
def test_an_address_that_a_network_gave_is_compared_too(
    second: dict[str, Any], ip_set: IPSet, twins: dict[str, str]
) -> None:
    nodes = (node("b", "02", **second), node("a", "01", ansibleHost="2001:DB8:0::1"))
    assert find_twins(nodes, {"compute": ROLE}, {"b": ip_set}) == twins


@pytest.mark.parametrize(
    ("address", "line", "twins"),
    [
        pytest.param("other.example", f"other.example {KEY}", {"b": "a"}, id="another-name-of-the-machine"),
        pytest.param("other.example", f"other.example {KEY[:-1]}B", {}, id="another-key"),
        pytest.param("new.example", f"other.example {KEY}", {}, id="met-where-the-node-is-no-more"),
    ],
)
def test_a_machine_is_known_by_its_keys(address: str, line: str, twins: dict[str, str]) -> None:
    elder = node("a", "01", ansibleHost="10.0.0.1")
    younger = node("b", "02", ansibleHost=address)
    met = [
        msgspec.structs.replace(each, status=OpenStackDataPlaneNodeStatus(hostKeys=(said,)))
        for each, said in ((younger, line), (elder, f"10.0.0.1 {KEY}"))
    ]
    assert find_twins(met, {}, {}) == twins


def test_the_case_of_letters_is_nothing_in_a_name() -> None:
    nodes = (node("b", "02", ansibleHost="ONE.example.com"), node("a", "01", ansibleHost="one.Example.com"))
    assert find_twins(nodes, {}, {}) == {"b": "a"}


def test_whoever_is_on_a_machine_already_has_it_before_an_older_one_that_got_its_address_late() -> None:
    late, there = node("late", "01"), node("there", "02", ansibleHost="10.0.0.1")
    ip_sets = {"late": given("late", "10.0.0.1")}
    assert find_twins((late, there), {"compute": ROLE}, ip_sets) == {"there": "late"}
    there = msgspec.structs.replace(there, status=APPLIED)
    assert find_twins((late, there), {"compute": ROLE}, ip_sets) == {"late": "there"}

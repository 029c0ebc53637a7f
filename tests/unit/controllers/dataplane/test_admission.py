"""What is refused of a data plane, and of what its author is warned."""

import time
from typing import Any

import msgspec
import pytest

from stackwright.api.annotations import DEPLOYED_BY
from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import OpenStackDataPlane, OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.controllers.dataplane import checks
from stackwright.controllers.dataplane.admission import hold_role
from stackwright.kube.admission.checks import Objections
from stackwright.kube.resource import CustomResource, R
from stackwright.kube.shapes.belonging import MADE_FOR
from stackwright.kube.shapes.child import mark_by
from tests.unit.blueprint.addresses.networks import given, net_config

KEY = {"ansibleSSHPrivateKeySecret": "key"}


def made(kind: type[R], name: str, **spec: Any) -> R:
    return msgspec.convert({"metadata": {"name": name, "namespace": "openstack"}, "spec": spec}, kind)


def check(new: CustomResource, *others: CustomResource, old: CustomResource | None = None) -> Objections:
    def known(kind: type[R], namespace: str | None) -> list[R]:
        return [other for other in others if isinstance(other, kind) and other.metadata.namespace == namespace]

    return checks[type(new)](old, new, known)


ROLE = made(OpenStackDataPlaneRole, "compute", nodeTemplate=KEY, services=[])
BARE = made(OpenStackDataPlaneRole, "compute", services=[])
NODE = made(OpenStackDataPlaneNode, "one", role="compute", ansibleHost="192.0.2.1")


THERE = made(OpenStackDataPlaneRole, "there", nodeTemplate=KEY, services=[], preProvisioned=True)
CTLPLANE = {"name": "ctlplane", "subnetName": "subnet1"}


def test_the_largest_plane_is_checked_at_once() -> None:
    """A write of a plane waits for this, and so does everything else that the operators do."""
    nodes = {
        f"n{number}": {"role": "compute", "ansibleHost": f"10.0.{number // 250}.{number % 250 + 1}"}
        for number in range(1000)
    }
    nodes["n999"]["ansibleHost"] = "10.0.0.1"
    began = time.process_time()
    found = check(plane(roles={"compute": {"nodeTemplate": KEY}}, nodes=nodes))
    assert time.process_time() - began < 0.5
    assert [error.field for error in found.errors] == ["spec.nodes[n0].ansibleHost", "spec.nodes[n999].ansibleHost"]


def test_a_thousand_twins_are_told_once_each() -> None:
    nodes = {f"n{number}": {"role": "compute", "ansibleHost": "10.0.0.1"} for number in range(1000)}
    began = time.process_time()
    found = check(plane(roles={"compute": {"nodeTemplate": KEY}}, nodes=nodes))
    assert time.process_time() - began < 0.5
    assert len(found.errors) == 1000
    assert found.errors[0].message == "is the address of node n1, too"


def plane(**spec: Any) -> OpenStackDataPlane:
    return made(OpenStackDataPlane, "edpm", **spec)


@pytest.mark.parametrize(
    ("new", "others", "field", "words"),
    [
        pytest.param(
            NODE, (BARE,), "spec.node.ansibleSSHPrivateKeySecret", "SSH key not provided for Node one", id="key"
        ),
        pytest.param(
            BARE, (NODE,), "spec.nodeTemplate.ansibleSSHPrivateKeySecret", "not provided for Node one", id="key-of-role"
        ),
        pytest.param(
            plane(roles={"compute": {}}, nodes={"one": {"role": "compute"}}),
            (),
            "spec.nodes[one].node.ansibleSSHPrivateKeySecret",
            "SSH key not provided for Node one",
            id="key-in-a-data-plane",
        ),
        pytest.param(
            made(OpenStackDataPlaneNode, "two", role="compute", ansibleHost="192.0.2.1"),
            (ROLE, NODE),
            "spec.ansibleHost",
            "is the address of node one, too",
            id="one-machine-twice",
        ),
        pytest.param(
            made(OpenStackDataPlaneNode, "two", role="there", ansibleHost="192.0.2.1"),
            (THERE, made(OpenStackDataPlaneNode, "given", role="there"), given("given", "192.0.2.1")),
            "spec.ansibleHost",
            "is the address of node given, too",
            id="an-address-that-a-network-gave-another-node",
        ),
        pytest.param(
            made(
                OpenStackDataPlaneNode, "two", role="there", node={"networks": [{**CTLPLANE, "fixedIP": "192.0.2.1"}]}
            ),
            (THERE, NODE),
            "spec.node.networks",
            "is the address of node one, too",
            id="asking-a-network-for-the-address-of-another-node",
        ),
        pytest.param(
            made(OpenStackDataPlaneNode, "two", role="compute", ansibleHost="192.0.2.2", hostName="one"),
            (ROLE, NODE),
            "spec.hostName",
            "is the host name of node one, too",
            id="one-name-twice",
        ),
        pytest.param(
            made(OpenStackDataPlaneRole, "compute", services=["reach"]), (), "spec.services", "comes first", id="reach"
        ),
        pytest.param(
            made(OpenStackDataPlaneService, "tea", playbookContents="a: [b"),
            (),
            "spec.playbookContents",
            "is not YAML (line 1)",
            id="no-yaml",
        ),
        pytest.param(
            made(OpenStackAnsibleEE, "run", playbookContents="a: b"),
            (),
            "spec.playbookContents",
            "must be a list of plays",
            id="no-playbook",
        ),
    ],
)
def test_what_is_refused(new: CustomResource, others: tuple[CustomResource, ...], field: str, words: str) -> None:
    errors = check(new, *others).errors
    assert [error.field for error in errors] == [field]
    assert words in errors[0].cause.message


@pytest.mark.parametrize(
    ("new", "words"),
    [
        (NODE, "there is no OpenStackDataPlaneRole compute yet"),
        (made(OpenStackDataPlaneRole, "r", services=["tea"]), "there is no OpenStackDataPlaneService tea yet"),
        (made(OpenStackDataPlaneRole, "r", baremetalSetTemplate={"a": 1}), "machines are not provisioned yet"),
        (made(OpenStackDataPlaneRole, "r", deployStrategy={"ansibleLimit": "a"}), "ansibleLimit has no effect"),
        (
            made(OpenStackDataPlaneRole, "r", nodeTemplate={"networks": [{"name": "ctlplane", "subnetName": "one"}]}),
            "spec.nodeTemplate.networks: there is no NetConfig in namespace openstack yet",
        ),
        (plane(nodes={"one": {"role": "gone", "node": KEY}}), "spec.nodes[one].role: there is no role gone yet"),
    ],
)
def test_of_what_the_author_is_warned(new: CustomResource, words: str) -> None:
    found = check(new)
    assert not found.errors
    assert [warning for warning in found.warnings if words in warning], found.warnings


@pytest.mark.parametrize(
    "new",
    [
        pytest.param(ROLE, id="role"),
        pytest.param(made(OpenStackDataPlaneService, "t", playbookContents="- hosts: all\n  x: !vault a\n"), id="tags"),
        pytest.param(made(OpenStackDataPlaneService, "t", playbook="stackwright.edpm.bootstrap"), id="by-name"),
    ],
)
def test_what_is_taken_without_a_word(new: CustomResource) -> None:
    assert check(new) == Objections()


def test_another_address_of_a_machine_with_services_of_operators_is_told() -> None:
    noted = {f"{DEPLOYED_BY}NovaExternalCompute": "nova"}
    for annotations, warned in ((noted, True), ({}, False)):
        new = msgspec.structs.replace(
            made(OpenStackDataPlaneNode, "one", role="compute", ansibleHost="192.0.2.9"),
            metadata=msgspec.structs.replace(NODE.metadata, annotations=annotations),
        )
        found = check(new, ROLE, NODE, old=NODE)
        assert not found.errors
        assert bool(found.warnings) is warned
        assert all("another address of the same one" in warning for warning in found.warnings)


def test_a_name_that_another_node_has_is_told() -> None:
    first, second = (
        made(OpenStackDataPlaneNode, name, role="there", hostName=host, node={"networks": [CTLPLANE]})
        for name, host in (("first", "one.example.com"), ("second", "one.example.org"))
    )
    first = msgspec.structs.replace(
        first, metadata=msgspec.structs.replace(first.metadata, creationTimestamp="2026-11-17T00:00:00Z")
    )
    words = "spec.hostName: one.ctlplane.example.com is a name of node first, so this node does not get it"
    assert check(second, THERE, first, net_config()) == Objections((), (words,))
    assert check(first, THERE, second, net_config()) == Objections()


def test_a_node_is_no_twin_of_itself() -> None:
    assert check(NODE, ROLE, NODE) == Objections()


@pytest.mark.parametrize(
    ("field", "there", "words"),
    [
        pytest.param("nodes", NODE, "OpenStackDataPlaneNode one exists, was not created for", id="a-users-node"),
        pytest.param("roles", ROLE, "OpenStackDataPlaneRole compute exists, was not created for", id="a-users-role"),
        pytest.param(
            "nodes",
            made(OpenStackDataPlane, "other", nodes={"one": {"role": "compute"}}),
            "OpenStackDataPlaneNode one belongs to OpenStackDataPlane other",
            id="a-node-of-another-data-plane",
        ),
    ],
)
def test_a_data_plane_does_not_take_what_is_somebodys(field: str, there: CustomResource, words: str) -> None:
    new = plane(roles={"compute": {"nodeTemplate": KEY}}, nodes={"one": {"role": "compute"}})
    (error,) = check(new, there).errors
    name = {"nodes": "one", "roles": "compute"}[field]
    assert error.field == f"spec.{field}[{name}]"
    assert words in error.message
    # It may be there since before it was checked; then the controller refuses it.
    assert not check(new, there, old=new).errors


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({"annotations": {mark_by("stackwright"): "digest"}}, id="that-lost-its-owner"),
        pytest.param({"annotations": {MADE_FOR: "OpenStackDataPlane/edpm"}}, id="that-was-handed-over"),
        pytest.param({"deletionTimestamp": "2026-11-17T00:00:00Z"}, id="that-goes"),
    ],
)
def test_a_data_plane_may_have_a_node(metadata: dict[str, Any]) -> None:
    there = msgspec.structs.replace(NODE, metadata=msgspec.structs.replace(NODE.metadata, **metadata))
    new = plane(roles={"compute": {"nodeTemplate": KEY}}, nodes={"one": {"role": "compute"}})
    assert not check(new, there).errors


LEAVING = msgspec.structs.replace(
    NODE, metadata=msgspec.structs.replace(NODE.metadata, deletionTimestamp="2026-11-17T00:00:00Z")
)


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        pytest.param((), "", id="nobody"),
        pytest.param((made(OpenStackDataPlaneNode, "two", role="other"),), "", id="a-node-of-another-role"),
        pytest.param((LEAVING,), "", id="a-node-that-goes"),
        pytest.param((NODE,), "it is the role of one; delete these nodes", id="a-node"),
        pytest.param(
            tuple(made(OpenStackDataPlaneNode, name, role="compute") for name in "dcba"),
            "it is the role of a, b, c and 1 more",
            id="many",
        ),
    ],
)
def test_a_role_stays_while_nodes_use_it(nodes: tuple[OpenStackDataPlaneNode, ...], words: str) -> None:
    def known(kind: type[R], namespace: str | None) -> list[R]:
        return [node for node in nodes if isinstance(node, kind)]

    held = hold_role(ROLE, known)
    assert words in held
    assert bool(held) == bool(words)

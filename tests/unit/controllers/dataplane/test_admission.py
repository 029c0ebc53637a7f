"""What is refused of a data plane, and of what its author is warned."""

from typing import Any

import msgspec
import pytest

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import OpenStackDataPlane, OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.controllers.dataplane import checks
from stackwright.kube.admission.checks import Objections
from stackwright.kube.resource import CustomResource, R

KEY = {"ansibleSSHPrivateKeySecret": "key"}


def made(kind: type[R], name: str, **spec: Any) -> R:
    return msgspec.convert({"metadata": {"name": name, "namespace": "openstack"}, "spec": spec}, kind)


def check(new: CustomResource, *others: CustomResource) -> Objections:
    def known(kind: type[R], namespace: str | None) -> list[R]:
        return [other for other in others if isinstance(other, kind) and other.metadata.namespace == namespace]

    return checks[type(new)](None, new, known)


ROLE = made(OpenStackDataPlaneRole, "compute", nodeTemplate=KEY, services=[])
BARE = made(OpenStackDataPlaneRole, "compute", services=[])
NODE = made(OpenStackDataPlaneNode, "one", role="compute", ansibleHost="192.0.2.1")


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
            made(OpenStackDataPlaneRole, "r", nodeTemplate={"networks": [{"name": "ctlplane"}]}),
            "networks has no effect",
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


def test_a_node_is_no_twin_of_itself() -> None:
    assert check(NODE, ROLE, NODE) == Objections()

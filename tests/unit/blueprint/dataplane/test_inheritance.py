"""What a node inherits from its role, which variables it has, and what stands in its inventory."""

import base64
from typing import Any

import pytest
import yaml

from stackwright.api.base import ObjectMeta
from stackwright.api.dataplane import (
    OpenStackDataPlaneNode,
    OpenStackDataPlaneNodeSpec,
    OpenStackDataPlaneRole,
    OpenStackDataPlaneRoleSpec,
)
from stackwright.api.node_sections import (
    DeployStrategy,
    NetworkConfig,
    NodeSection,
    ObjectReference,
    VariablesSource,
)
from stackwright.blueprint.dataplane import variables
from stackwright.blueprint.dataplane.inheritance import Machine, inherit
from stackwright.blueprint.dataplane.inventory import describe_host, write_inventory
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.plan import Wait
from stackwright.kube.resource import R


def machine(own: NodeSection | None = None, template: NodeSection | None = None, **spec: Any) -> Machine:
    role = OpenStackDataPlaneRole(
        metadata=ObjectMeta(name="compute"),
        spec=OpenStackDataPlaneRoleSpec(nodeTemplate=template or NodeSection(), **spec.pop("role", {})),
    )
    node = OpenStackDataPlaneNode(
        metadata=ObjectMeta(name="edpm-compute-0"),
        spec=OpenStackDataPlaneNodeSpec(role="compute", node=own or NodeSection(), **spec),
    )
    return inherit(node, role)


def test_the_seeds_example_needs_nothing_but_address_and_key() -> None:
    own = NodeSection(ansibleSSHPrivateKeySecret="dataplane-ansible-ssh-private-key-secret")
    found = machine(own, NodeSection(ansiblePort=22), ansibleHost="192.168.122.100", hostName="edpm-compute-0")
    assert (found.address, found.port, found.user) == ("192.168.122.100", 22, "cloud-admin")
    assert found.key_secret == "dataplane-ansible-ssh-private-key-secret"
    assert found.deploy


def test_a_nodes_own_fields_replace_those_of_its_role() -> None:
    template = NodeSection(ansibleUser="root", ansiblePort=2222, ansibleSSHPrivateKeySecret="of-role")
    own = NodeSection(ansibleUser="zuul")
    found = machine(own, template, ansibleHost="10.0.0.1")
    assert (found.user, found.port, found.key_secret) == ("zuul", 2222, "of-role")


def test_variables_are_merged_by_key_and_not_deeper() -> None:
    template = NodeSection(ansibleVars={"a": {"x": 1, "y": 2}, "b": 1}, networkConfig=NetworkConfig(template="of role"))
    found = machine(NodeSection(ansibleVars={"a": {"x": 3}}), template)
    assert found.variables == {"a": {"x": 3}, "b": 1, "edpm_network_config_template": "of role"}


@pytest.mark.parametrize(
    ("role", "spec", "address"),
    [
        pytest.param({}, {"ansibleHost": "10.0.0.1"}, "10.0.0.1", id="an-address-is-a-provisioned-machine"),
        pytest.param({"preProvisioned": True}, {}, "edpm-compute-0", id="a-provisioned-machine-is-found-by-its-name"),
        pytest.param({}, {}, "", id="nobody-provisions-a-machine-yet"),
    ],
)
def test_where_a_machine_is_reached(role: dict[str, Any], spec: dict[str, Any], address: str) -> None:
    assert machine(role=role, **spec).address == address


@pytest.mark.parametrize(
    ("of_role", "own", "deploys"),
    [(None, None, True), (False, None, False), (False, True, True), (True, False, False), (None, False, False)],
)
def test_whether_ansible_runs_is_the_nodes_word_first(of_role: bool | None, own: bool | None, deploys: bool) -> None:
    found = machine(role={"deployStrategy": DeployStrategy(deploy=of_role)}, deployStrategy=DeployStrategy(deploy=own))
    assert found.deploy is deploys


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("2024-01-01", "2024-01-01"),
        ("true-ish", "true-ish"),
        ("5", 5),
        ("5\n", 5),
        ("-1.5", -1.5),
        ("true", True),
        ("1.10", "1.10"),
        ("1e5", "1e5"),
        ("-0", "-0"),
        ("NaN", "NaN"),
        ("-Infinity", "-Infinity"),
        ("1e400", "1e400"),
        ('{"a": [1e400]}', '{"a": [1e400]}'),
        ("[" * 100_000, "[" * 100_000),
        ("[1, 2]", [1, 2]),
        ("", ""),
    ],
)
def test_a_text_is_json_as_a_whole_or_not_at_all(text: str, value: object) -> None:
    assert variables.parse(text) == value


def look(kind: type[R], name: str, *, namespace: str = "") -> R | None:
    there: dict[tuple[type[Any], str], Any] = {
        (ConfigMap, "plain"): ConfigMap(data={"colour": "red", "password": "none"}),
        (Secret, "hidden"): Secret(data={"password": base64.b64encode(b"s3cret").decode()}),
        (ConfigMap, "halves"): ConfigMap(data={"word": '["\\ud800"]'}),
        (ConfigMap, "odd"): ConfigMap(data={"not-a-name": "1"}),
    }
    return there.get((kind, name))


def source(configMapRef: str = "", secretRef: str = "") -> VariablesSource:  # noqa: N803  the fields' own names
    return VariablesSource(
        configMapRef=ObjectReference(name=configMapRef) if configMapRef else None,
        secretRef=ObjectReference(name=secretRef) if secretRef else None,
    )


def test_a_variable_of_a_secret_stays_apart_and_the_resource_wins() -> None:
    section = NodeSection(ansibleVarsFrom=(source(configMapRef="plain"), source(secretRef="hidden")))
    found = variables.gather(machine(section), look, "InputReady")
    assert isinstance(found, variables.Variables)
    assert (found.plain, found.secret) == ({"colour": "red"}, {"password": "s3cret"})
    assert "s3cret" not in repr(found)
    own = NodeSection(ansibleVars={"password": "mine"}, ansibleVarsFrom=section.ansibleVarsFrom)
    overridden = variables.gather(machine(own), look, "InputReady")
    assert isinstance(overridden, variables.Variables)
    assert (overridden.plain["password"], overridden.secret) == ("mine", {})


@pytest.mark.parametrize(
    ("of", "words"),
    [
        ({"secretRef": "gone"}, "Secret gone does not exist"),
        ({"configMapRef": "odd"}, "the key not-a-name"),
        ({"configMapRef": "halves"}, "the value of word has half of a character"),
    ],
)
def test_a_source_that_is_missing_or_wrong_is_named(of: dict[str, str], words: str) -> None:
    found = variables.gather(machine(NodeSection(ansibleVarsFrom=(source(**of),))), look, "InputReady")
    assert isinstance(found, Wait)
    assert words in found.message


def test_an_inventory_is_the_same_whatever_the_order_and_the_way_in_is_not_overridden() -> None:
    here = machine(ansibleHost="fd00::1")
    host = describe_host(here, {"ansible_host": "elsewhere", "b": 1, "a": [1, "x: y"]})
    text = write_inventory({"two": host, "one": host})
    assert text == write_inventory({"one": dict(reversed(host.items())), "two": host})
    read = yaml.safe_load(text)["all"]["hosts"]
    assert list(read) == ["one", "two"]
    assert read["one"] == {**host, "ansible_host": "fd00::1"}

"""The longest name that a resource may have gives all that it makes names and labels that Kubernetes takes."""

import re
from collections.abc import Iterator

import msgspec
import pytest

from stackwright import services
from stackwright.api import ansibleee, dataplane, network
from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.base import CustomResource, ObjectMeta
from stackwright.api.dataplane import OpenStackDataPlane, OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.forms import LONGEST_NAME, OBJECT_NAME
from stackwright.api.node_service import NodeServiceResource
from stackwright.controllers.dataplane.data_planes import data_planes
from stackwright.controllers.dataplane.preparation import refuse_values
from stackwright.kube.errors import Blocked
from stackwright.kube.plan import Wait
from stackwright.kube.resource import JsonObject
from tests.unit.controllers.dataplane.made_names import MAKES, children_of, longest, made, refused

LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
KINDS = [pytest.param(kind, id=kind.kind.name) for kind in MAKES]


def test_the_table_has_every_kind_of_machines_and_networks_that_no_blueprint_speaks_of() -> None:
    groups = {dataplane.GROUP, network.GROUP, ansibleee.GROUP}
    kinds = {kind for kind in services.kinds() if kind.kind.group in groups and services.blueprint_of(kind) is None}
    outside = {kind for kind in services.kinds() if issubclass(kind, NodeServiceResource)}
    assert set(MAKES) == kinds | outside
    assert len(outside) >= 2


def names_of(body: JsonObject) -> Iterator[tuple[str, bool]]:
    """Yield the name of an object and the values of its labels, and whether Kubernetes takes each."""
    name = body["metadata"]["name"]
    yield name, len(name) <= LONGEST_NAME and re.fullmatch(OBJECT_NAME, name) is not None
    for value in body["metadata"].get("labels", {}).values():
        yield value, LABEL_VALUE.fullmatch(value) is not None


@pytest.mark.parametrize("kind", KINDS)
def test_the_longest_name_that_is_taken_makes_only_names_and_labels_that_there_can_be(
    kind: type[CustomResource],
) -> None:
    most = longest(kind)
    assert most >= 60
    resource = made(kind, "n" * most)
    assert refuse_values(resource) is None
    wrong = [name for body in MAKES[kind](resource) for name, fits in names_of(body) if not fits]
    assert not wrong


@pytest.mark.parametrize(
    ("kind", "most"),
    [(OpenStackDataPlane, 63), (OpenStackDataPlaneNode, 232), (OpenStackAnsibleEE, 63), (OpenStackDataPlaneRole, 253)],
)
def test_no_name_is_refused_that_would_do(kind: type[CustomResource], most: int) -> None:
    assert longest(kind) == most


def test_the_sentence_says_what_the_name_becomes_and_how_long_it_may_be() -> None:
    said = refused(made(OpenStackDataPlaneNode, "n" * 245))["metadata.name"]
    assert "must have 232 characters or less, and has 245: the Secret dataplanenode-<name>-secret may have 253" in said


def test_a_name_is_refused_again_if_the_webhook_was_down() -> None:
    for kind in (OpenStackDataPlaneNode, OpenStackAnsibleEE):
        wait = refuse_values(made(kind, "n" * 245))
        assert isinstance(wait, Wait)
        assert "metadata.name: must have" in wait.message
    plane = made(OpenStackDataPlane, "n" * 64)
    assert isinstance(plane, OpenStackDataPlane)
    with pytest.raises(Blocked, match="the label openstackdataplane of its nodes"):
        children_of(data_planes.children(plane, False))


@pytest.mark.parametrize(
    ("name", "spec", "taken"),
    [
        pytest.param("n" * 64, {}, False, id="too-long-for-a-host-name"),
        pytest.param("n" * 64, {"hostName": "one"}, True, id="it-has-another-host-name"),
        pytest.param(f"{'n' * 63}.{'n' * 63}", {}, True, id="each-part-fits"),
        pytest.param("n" * 233, {"hostName": "one"}, False, id="too-long-for-its-objects"),
    ],
)
def test_the_nodes_of_a_data_plane_are_judged_where_they_stand(name: str, spec: JsonObject, taken: bool) -> None:
    node = OpenStackDataPlaneNode(
        metadata=ObjectMeta(name=name, namespace="here"),
        spec=msgspec.convert({"role": "r", **spec}, dataplane.OpenStackDataPlaneNodeSpec),
    )
    assert ("metadata.name" not in refused(node)) is taken
    plane = made(OpenStackDataPlane, "edpm", nodes={name: {"role": "r", **spec}})
    assert (f"spec.nodes[{name}]" not in refused(plane)) is taken


def test_a_name_that_the_server_has_not_generated_yet_is_not_judged() -> None:
    assert "metadata.name" not in refused(made(OpenStackAnsibleEE, ""))

"""The longest name that a resource may have gives all that it makes names and labels that Kubernetes takes."""

import bisect
import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import pytest

from stackwright import services
from stackwright.api import ansibleee, dataplane, network
from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.base import CustomResource, ObjectMeta
from stackwright.api.dataplane import OpenStackDataPlane, OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.api.forms import LONGEST_NAME, OBJECT_NAME
from stackwright.api.network import DNSData, IPSet, NetConfig, Network, Reservation, Subnet
from stackwright.api.node_service import NodeServiceResource
from stackwright.blueprint.addresses.allocation import Wanted, describe_reservation
from stackwright.blueprint.addresses.subnets import Place
from stackwright.blueprint.dataplane.inheritance import Machine
from stackwright.blueprint.dataplane.inputs import Work
from stackwright.blueprint.dataplane.schedule import Due, NewRun
from stackwright.blueprint.dataplane.variables import Variables
from stackwright.controllers import doors
from stackwright.controllers.dataplane import nodes, run_job
from stackwright.controllers.dataplane.data_planes import data_planes
from stackwright.controllers.dataplane.preparation import Prepared, refuse_values
from stackwright.controllers.dataplane.run_inputs import describe_run
from stackwright.kube.errors import Blocked
from stackwright.kube.plan import Wait
from stackwright.kube.resource import JsonObject
from stackwright.kube.shapes.child import Child
from tests.functional.crds.samples import LEAST
from tests.surroundings import nothing_known

LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
# The most that a spec adds to what a resource makes; a host name is looked at apart.
SPECS: Mapping[type[CustomResource], JsonObject] = {OpenStackDataPlaneNode: {"role": "r", "hostName": "one"}}


def made(kind: type[CustomResource], name: str, **spec: Any) -> CustomResource:
    body = {**LEAST[kind.kind.name], **SPECS.get(kind, {}), **spec}
    return msgspec.convert({"metadata": {"name": name, "namespace": "here"}, "spec": body}, kind)


def prepared(name: str, service: str) -> Prepared:
    machine = Machine(name, "one", "192.0.2.1", "key")
    return Prepared(machine, Variables(secret={"word": "w"}), (Due(service, "x", ""),))


def run_of(role: str, service: str, node: str = "one") -> list[JsonObject]:
    """Return what a run is, and what it makes."""
    new = NewRun(service, (node,), 1, "x")
    found = [
        body for _, body in describe_run(role, new, Work(service, "i"), {node: prepared(node, service)}, {"f": ""})
    ]
    return [*found, *job_of(made(OpenStackAnsibleEE, found[-1]["metadata"]["name"]))]


def job_of(resource: CustomResource) -> list[JsonObject]:
    assert isinstance(resource, OpenStackAnsibleEE)
    job = run_job.describe_job(resource, "image")
    # Kubernetes makes the name of a Job a label of its pods.
    label = {"labels": {"batch.kubernetes.io/job-name": job["metadata"]["name"]}}
    pod = {"metadata": {"name": "a-pod", **job["spec"]["template"]["metadata"]}}
    return [run_job.describe_files(resource), job, pod, {"metadata": {"name": "a-pod", **label}}]


def children_of(found: Any) -> list[JsonObject]:
    return [child.body for child in found if isinstance(child, Child)]


def of_node(resource: CustomResource) -> list[JsonObject]:
    assert isinstance(resource, OpenStackDataPlaneNode)
    found = children_of(nodes.children(resource, nodes.Seen(prepared(resource.metadata.name, "greet"))))
    assert len(found) == 2
    return [*found, *run_of("role", "greet", resource.metadata.name)]


def of_data_plane(resource: CustomResource) -> list[JsonObject]:
    assert isinstance(resource, OpenStackDataPlane)
    spec = msgspec.convert({"roles": {"r": {}}, "nodes": {"one": {"role": "r"}}}, type(resource.spec))
    found = children_of(data_planes.children(msgspec.structs.replace(resource, spec=spec), False))
    assert len(found) == 2
    return found


def of_ip_set(resource: CustomResource) -> list[JsonObject]:
    assert isinstance(resource, IPSet)
    subnet = Subnet(name="s" * 63, cidr="2001:db8::/64", allocationRanges=())
    place = Place(Network(name="n" * 63, dnsDomain="d", subnets=(subnet,)), subnet, ipaddress.ip_network(subnet.cidr))
    return [describe_reservation(resource, Wanted(place, "2001:db8::1"))]


def of_nothing(_: CustomResource) -> list[JsonObject]:
    return []


def of_node_service(resource: CustomResource) -> list[JsonObject]:
    """Return the run that removes it, which is named after it; those that apply it are named after its role."""
    return run_of(resource.metadata.name, "a-service-with-a-long-name-removal", resource.metadata.name)


MAKES: Mapping[type[CustomResource], Callable[[CustomResource], list[JsonObject]]] = {
    OpenStackDataPlane: of_data_plane,
    OpenStackDataPlaneRole: lambda role: run_of(role.metadata.name, "greet"),
    OpenStackDataPlaneNode: of_node,
    OpenStackDataPlaneService: lambda service: run_of("role", service.metadata.name),
    OpenStackAnsibleEE: job_of,
    IPSet: of_ip_set,
    NetConfig: of_nothing,
    Reservation: of_nothing,
    DNSData: of_nothing,
    **{kind: of_node_service for kind in services.kinds() if issubclass(kind, NodeServiceResource)},
}
KINDS = [pytest.param(kind, id=kind.kind.name) for kind in MAKES]


def test_the_table_has_every_kind_of_machines_and_networks_that_no_blueprint_speaks_of() -> None:
    groups = {dataplane.GROUP, network.GROUP, ansibleee.GROUP}
    kinds = {kind for kind in services.kinds() if kind.kind.group in groups and services.blueprint_of(kind) is None}
    outside = {kind for kind in services.kinds() if issubclass(kind, NodeServiceResource)}
    assert set(MAKES) == kinds | outside
    assert len(outside) >= 2


def refused(resource: CustomResource) -> dict[str, str]:
    found = doors.check(None, resource, nothing_known).errors
    return {error.field: error.cause.message for error in found}


def longest(kind: type[CustomResource]) -> int:
    def is_refused(length: int) -> bool:
        return "metadata.name" in refused(made(kind, "n" * length))

    return bisect.bisect_left(range(1, LONGEST_NAME + 1), True, key=is_refused)


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

"""What resources make of their names, with the product's own code; and the longest name that is taken."""

import bisect
import ipaddress
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from stackwright import services
from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.base import CustomResource
from stackwright.api.dataplane import OpenStackDataPlane, OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.api.forms import LONGEST_NAME
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
from stackwright.controllers.dataplane.preparation import Prepared
from stackwright.controllers.dataplane.run_inputs import describe_run
from stackwright.kube.resource import JsonObject
from stackwright.kube.shapes.child import Child
from tests.functional.crds.samples import LEAST
from tests.surroundings import nothing_known

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


def refused(resource: CustomResource) -> dict[str, str]:
    found = doors.check(None, resource, nothing_known).errors
    return {error.field: error.cause.message for error in found}


def longest(kind: type[CustomResource]) -> int:
    def is_refused(length: int) -> bool:
        return "metadata.name" in refused(made(kind, "n" * length))

    return bisect.bisect_left(range(1, LONGEST_NAME + 1), True, key=is_refused)

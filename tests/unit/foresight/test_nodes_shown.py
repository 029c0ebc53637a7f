"""How the machines of a data plane appear in the tree of a cloud, and what is said of them."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import OpenStackDataPlane, OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.cli.printing import cloud_report
from stackwright.foresight import dependencies, tree
from stackwright.foresight.objects import Objects
from stackwright.foresight.tree import State
from stackwright.kube.resource import R
from stackwright.services.nova.kinds.external_compute import NovaExternalCompute

NOW = datetime(2026, 11, 16, tzinfo=UTC)


def made(kind: type[R], name: str, owner: str = "", spec: Any = None, status: Any = None) -> R:
    metadata: dict[str, Any] = {"name": name, "namespace": "openstack", "uid": name}
    if owner:
        reference = {"apiVersion": "v1", "kind": "X", "name": owner, "uid": owner, "controller": True}
        metadata["ownerReferences"] = [reference]
    return msgspec.convert({"metadata": metadata, "spec": spec or {}, "status": status or {}}, kind)


def ready(status: str, message: str) -> dict[str, Any]:
    condition = {"type": "Ready", "status": status, "severity": "Error", "reason": "ServiceFailed", "message": message}
    return {"conditions": [condition]}


FAILED = {"name": "prepare", "failures": 1, "run": "prepare-1"}
NODE = made(
    OpenStackDataPlaneNode,
    "one",
    "edpm",
    {"role": "compute"},
    {**ready("False", "No space left"), "phase": "Deploying", "services": [FAILED]},
)
OBJECTS = Objects(
    (
        made(OpenStackDataPlane, "edpm", status=ready("False", "Node one")),
        made(OpenStackDataPlaneRole, "compute", "edpm", status=ready("True", "")),
        NODE,
        made(OpenStackDataPlaneService, "prepare", spec={"playbook": "a.b.c"}),
        made(OpenStackAnsibleEE, "prepare-1", "compute", {"playbook": "a.b.c"}, ready("False", "No space left")),
    )
)


def test_nodes_stand_below_their_role_with_their_phase() -> None:
    plane, service = tree.build(OBJECTS)
    (role,) = plane.children
    assert {child.name for child in role.children} == {"one", "prepare-1"}
    (node,) = (child for child in role.children if child.name == "one")
    assert (node.phase, node.state) == ("Deploying", State.ERROR)
    (line,) = (line for line in cloud_report.lines((node,), NOW)[1:])
    assert line.endswith("Deploying: No space left")
    # What is only read has nothing to wait for.
    assert service.state is State.READY


def test_a_node_waits_for_the_run_that_failed() -> None:
    assert dependencies.list_needed(NODE, OBJECTS) == (("OpenStackAnsibleEE", "prepare-1"),)


def test_a_service_on_a_node_stands_below_it_and_waits_for_its_cell_and_its_run() -> None:
    going = {"name": "x", "run": "x-1"}
    spec = {"cellName": "nova-cell1", "dataplaneNodeName": "one"}
    compute = made(NovaExternalCompute, "mine", "one", spec, {"phase": "Deploying", "running": going})
    needed = dependencies.list_needed(compute, OBJECTS)
    assert needed == (
        ("OpenStackDataPlaneNode", "one"),
        ("NovaCell", "nova-cell1"),
        ("OpenStackAnsibleEE", "x-1"),
    )
    (plane, *_) = tree.build(Objects((*OBJECTS.all(), compute)))
    node = tree.find((plane,), ("OpenStackDataPlaneNode", "one"))
    assert node is not None
    assert [(child.kind, child.phase) for child in node.children] == [("NovaExternalCompute", "Deploying")]

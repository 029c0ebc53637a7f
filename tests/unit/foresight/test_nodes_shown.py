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


OVER = {**ready("False", "two failed"), "finishedAt": "2026-11-16T10:00:00Z"}
DONE = {**ready("True", "Setup complete"), "phase": "Deployed"}


def deployed(*runs: OpenStackAnsibleEE, **services: Any) -> Objects:
    """Return two nodes that are deployed, with runs of their role."""
    nodes = [
        made(OpenStackDataPlaneNode, name, "edpm", {"role": "compute"}, {**DONE, "services": services.get(name, [])})
        for name in ("one", "two")
    ]
    return Objects((made(OpenStackDataPlaneRole, "compute", status=ready("True", "")), *nodes, *runs))


def run(name: str, status: Any, owner: str = "compute") -> OpenStackAnsibleEE:
    return made(OpenStackAnsibleEE, name, owner, {"playbook": "a.b.c"}, status)


def test_a_run_that_failed_and_holds_nobody_up_is_past() -> None:
    (role,) = tree.build(deployed(run("prepare-1", OVER)))
    assert tree.worst((role,)) is State.READY
    # As long as a node says that it failed there, it is an error; so is one that somebody made by hand.
    failed = {"name": "prepare", "failures": 1, "run": "prepare-1"}
    assert tree.worst(tree.build(deployed(run("prepare-1", OVER), two=[failed]))) is State.ERROR
    assert tree.worst(tree.build(deployed(run("mine", OVER, owner="")))) is State.ERROR


def test_runs_that_are_over_are_counted_and_others_listed() -> None:
    going = {"conditions": [{"type": "Ready", "status": "False", "severity": "Info", "message": "Ansible runs"}]}
    past = [run(f"prepare-{number}", OVER) for number in range(3)]
    (role,) = tree.build(deployed(*past, run("harden-1", going)))
    lines = cloud_report.lines((role,), NOW)
    assert [line for line in lines if "prepare-" in line] == []
    assert lines[1].endswith("nodes: 2 Deployed; 3 finished runs")
    assert any("OpenStackAnsibleEE harden-1" in line for line in lines)
    # The last branch of the tree is the last line that is shown.
    assert lines[-1].startswith("└─")


def test_a_role_says_how_far_its_nodes_are() -> None:
    up = made(NovaExternalCompute, "mine", "one", {"cellName": "nova-cell1"}, {**ready("True", ""), "phase": "Up"})
    reaching = made(OpenStackDataPlaneNode, "new", "edpm", {"role": "compute"}, {"phase": "Reaching"})
    fresh = made(OpenStackDataPlaneNode, "fresh", "edpm", {"role": "compute"})
    (role,) = tree.build(Objects((*deployed().all(), up, reaching, fresh)))
    assert cloud_report.lines((role,), NOW)[1].endswith("nodes: 1 Waiting, 1 Reaching, 1 Deployed, 1 Up")


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

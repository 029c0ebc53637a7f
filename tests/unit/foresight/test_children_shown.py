"""How children of children are shown and explained: as a tree, down to the pod."""

from typing import Any

from stackwright.api.base import CustomResource
from stackwright.foresight import critical_path, explanation, tree
from stackwright.foresight.objects import Objects
from stackwright.foresight.snapshot import Snapshot
from stackwright.foresight.tree import Branch, State
from stackwright.kube import clock
from stackwright.kube.builtin import Deployment, Pod, ReplicaSet
from stackwright.kube.resource import Resource
from tests.unit.foresight.clouds import made, ready
from tests.unit.foresight.families import Tavern, TavernCell, TavernCook

SPEC = {"secret": "osp-secret"}
WAITING = ready("False", message="waits for what is below", reason="Requested")


def family(status: Any) -> tuple[CustomResource, CustomResource, CustomResource]:
    parent = made(Tavern, "tavern", spec=SPEC, status=status)
    cell = made(TavernCell, "tavern-cell1", owner=parent, spec=SPEC, status=status)
    return parent, cell, made(TavernCook, "tavern-cell1-cook", owner=cell, spec=SPEC, status=status)


def workload(owner: Resource, *, available: int) -> tuple[Deployment, ReplicaSet, Pod]:
    status = {"updatedReplicas": 1, "replicas": 1, "availableReplicas": available, "observedGeneration": 1}
    deployment = made(Deployment, "cook", owner=owner, spec={"replicas": 1}, status=status)
    replicas = made(ReplicaSet, "cook-1", owner=deployment)
    state = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
    pulled = {"name": "cook", "image": "registry.example/cook:1", "ready": False, "state": state}
    pod = made(
        Pod,
        "cook-1-a",
        owner=replicas,
        spec={"containers": [{"name": "cook", "image": "registry.example/cook:1"}]},
        status={"phase": "Pending", "containerStatuses": [pulled]},
    )
    return deployment, replicas, pod


def line(node: Branch) -> list[str]:
    """The only way down a tree, by kinds."""
    return [node.kind, *(step for child in node.children for step in line(child))]


def test_children_of_children_stand_below_their_parents() -> None:
    *kin, cook = family(ready())
    deployment, _, _ = workload(cook, available=1)
    (root,) = tree.build(Objects((*kin, cook, deployment)))

    assert line(root) == ["Tavern", "TavernCell", "TavernCook", "Deployment"]
    assert tree.worst((root,)) is State.READY


def test_what_a_parent_waits_for_is_followed_through_its_children_to_the_pod() -> None:
    *kin, cook = family(WAITING)
    deployment, replicas, pod = workload(cook, available=0)
    snapshot = Snapshot(Objects((*kin, cook, deployment)), clock.now(), pods=(pod,), replica_sets=(replicas,))

    reason = explanation.explain(snapshot, ("Tavern", "tavern"))

    way = []
    while reason.waits_for:
        way.append(f"{reason.kind} {reason.name}")
        (reason,) = reason.waits_for
    assert way == ["Tavern tavern", "TavernCell tavern-cell1", "TavernCook tavern-cell1-cook", "Deployment cook"]
    assert (reason.kind, reason.name) == ("Pod", "cook-1-a")


def test_the_critical_path_goes_through_children() -> None:
    *kin, cook = family(ready())
    deployment, replicas, _ = workload(cook, available=1)
    snapshot = Snapshot(Objects((*kin, cook, deployment)), clock.now(), replica_sets=(replicas,))

    path = critical_path.trace(snapshot, ("Tavern", "tavern"))

    assert path is not None
    assert {"TavernCook", "TavernCell", "Tavern"} <= {step.kind for step in path.steps}

"""The tree of a cloud: who belongs to whom, and how each of them is."""

from typing import Any

import pytest

from stackwright.foresight import tree
from stackwright.foresight.objects import Objects
from stackwright.foresight.tree import Branch, State
from stackwright.kube.builtin import Deployment, Job, StatefulSet
from tests.unit.foresight.clouds import CREATED, READY_SINCE, control_plane, galera, keystone, kind, made, ready

LABELS = {"app.kubernetes.io/name": "keystone", "app.kubernetes.io/instance": "keystone"}
AVAILABLE = {"observedGeneration": 1, "updatedReplicas": 2, "availableReplicas": 2}
COMPLETE = {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": READY_SINCE}]}


def outline(nodes: Any) -> list[Any]:
    """Return the names in a tree, and nothing else."""
    return [
        [f"{node.kind} {node.name}", *outline(node.children)] if node.children else f"{node.kind} {node.name}"
        for node in nodes
    ]


def test_services_stand_below_the_control_plane_and_what_they_keep_below_them() -> None:
    plane = control_plane()
    identity, database = keystone(plane), galera(plane)
    schema = made(kind("MariaDBDatabase"), "keystone", spec={"name": "keystone"}, status=ready())
    account = made(kind("MariaDBAccount"), "keystone", spec={"userName": "keystone", "secret": "s"}, status=ready())
    old = made(
        kind("MariaDBAccount"),
        "keystone-old",
        metadata={"labels": {"mariaDBDatabaseName": "keystone"}},
        spec={"userName": "keystone_old", "secret": "s"},
    )
    server = made(Deployment, "keystone", owner=identity, spec={"replicas": 2}, status=AVAILABLE)
    sync = made(Job, "keystone-db-sync-1", owner=identity, status=COMPLETE)
    nodes = made(StatefulSet, "openstack-galera", owner=database, spec={"replicas": 1})
    found = tree.build(Objects([server, sync, nodes, old, account, schema, identity, database, plane]))
    assert outline(found) == [
        [
            "OpenStackControlPlane openstack",
            ["Galera openstack", "StatefulSet openstack-galera"],
            [
                "KeystoneAPI keystone",
                "MariaDBAccount keystone",
                "MariaDBAccount keystone-old",
                "MariaDBDatabase keystone",
                "Job keystone-db-sync-1",
                "Deployment keystone",
            ],
        ]
    ]


@pytest.mark.parametrize("backwards", [False, True])
def test_what_two_ask_for_stands_below_the_one_that_was_not_refused(backwards: bool) -> None:
    owner = made(kind("PlacementAPI"), "placement", spec={"databaseInstance": "d", "secret": "s"}, status=ready())
    refused = ready("False", "Error", "belongs to another", "BelongsToAnother")
    second = made(kind("PlacementAPI"), "zz", spec={"databaseInstance": "d", "secret": "s"}, status=refused)
    account = made(kind("MariaDBAccount"), "placement", spec={"userName": "placement", "secret": "s"}, status=ready())
    asking = [second, owner] if backwards else [owner, second]
    found = tree.build(Objects([account, *asking]))
    assert outline(found) == [["PlacementAPI placement", "MariaDBAccount placement"], "PlacementAPI zz"]


def test_what_belongs_to_nobody_stands_beside() -> None:
    lonely = made(kind("MariaDBDatabase"), "reports", spec={"name": "reports"}, status=ready())
    assert outline(tree.build(Objects([lonely, keystone()]))) == ["KeystoneAPI keystone", "MariaDBDatabase reports"]


def test_a_workload_in_the_hands_of_helm_is_known_by_its_labels() -> None:
    identity = keystone(metadata={"annotations": {"openstack.org/release-owner": "helm"}})
    server = made(Deployment, "keystone", metadata={"labels": LABELS}, spec={"replicas": 2}, status=AVAILABLE)
    (node,) = tree.build(Objects([identity, server]))
    assert node.release_owner == "helm"
    assert outline(node.children) == ["Deployment keystone"]


def test_a_job_of_a_schedule_is_not_shown() -> None:
    scheduler = made(Job, "cron-stands-for-its-owner")
    job = made(Job, "keystone-trust-flush-1", owner=scheduler, metadata={"labels": LABELS})
    (node,) = tree.build(Objects([keystone(), job]))
    assert node.children == ()


def test_a_resource_that_somebody_else_made_stands_below_the_control_plane_that_uses_it() -> None:
    used = {"kind": "Galera", "name": "openstack", "ready": True}
    plane = control_plane(status={**ready(), "services": [used]})
    assert outline(tree.build(Objects([plane, galera()]))) == [["OpenStackControlPlane openstack", "Galera openstack"]]


def test_what_the_control_plane_speaks_of_and_is_not_there_is_shown_too() -> None:
    entry = {"kind": "Galera", "name": "openstack", "reason": "Requested", "message": "it is made when it can be"}
    (node,) = tree.build(Objects([control_plane(status={**ready("False"), "services": [entry]})]))
    (child,) = node.children
    assert (child.kind, child.state, child.message) == ("Galera", State.WAITING, "it is made when it can be")


def test_why_a_resource_is_there_that_nobody_asked_for() -> None:
    resolved = {"kind": "Galera", "name": "openstack", "neededBy": ["KeystoneAPI keystone"]}
    plane = control_plane(status={**ready(), "resolved": [resolved]})
    (node,) = tree.build(Objects([plane, galera(plane)]))
    assert node.children[0].needed_by == ("KeystoneAPI keystone",)


@pytest.mark.parametrize(
    ("fields", "state", "reason", "since"),
    [
        pytest.param({}, State.READY, "Ready", READY_SINCE, id="ready"),
        pytest.param(
            {"status": ready("False", "Info", "waits", "Running")},
            State.WAITING,
            "Running",
            READY_SINCE,
            id="waiting-for-something",
        ),
        pytest.param(
            {"status": ready("False", "Warning", "", "PodTrouble")},
            State.WARNING,
            "PodTrouble",
            READY_SINCE,
            id="something-is-odd",
        ),
        pytest.param(
            {"status": ready("False", "Error", "", "SecretMissing")},
            State.ERROR,
            "SecretMissing",
            READY_SINCE,
            id="somebody-must-act",
        ),
        pytest.param({"status": {}}, State.WAITING, "Requested", CREATED, id="nobody-looked-yet"),
        pytest.param(
            {"metadata": {"generation": 2}}, State.WAITING, "Requested", "", id="the-state-is-that-of-an-older-spec"
        ),
        pytest.param(
            {"metadata": {"deletionTimestamp": READY_SINCE}}, State.WAITING, "Deleting", READY_SINCE, id="going-away"
        ),
        pytest.param(
            {"metadata": {"deletionTimestamp": READY_SINCE, "finalizers": ["openstack.org/keystoneapi"]}},
            State.WAITING,
            "Deleting",
            READY_SINCE,
            id="its-own-operator-holds-it",
        ),
        pytest.param(
            {"metadata": {"deletionTimestamp": READY_SINCE, "finalizers": ["example.com/hold"]}},
            State.ERROR,
            "HeldByFinalizer",
            READY_SINCE,
            id="somebody-else-holds-it",
        ),
    ],
)
def test_the_state_of_a_resource(fields: dict[str, Any], state: State, reason: str, since: str) -> None:
    (node,) = tree.build(Objects([keystone(**fields)]))
    assert (node.state, node.reason, node.since) == (state, reason, since)


OWN, STRANGER = "openstack.org/keystoneapi", "example.com/hold"
IN_USE = "these are still on the machine: second; migrate or delete them"


@pytest.mark.parametrize(
    ("status", "finalizers", "state", "reason", "message"),
    [
        pytest.param(
            ready("False", "Error", IN_USE, "InUse"),
            [OWN],
            State.ERROR,
            "InUse",
            f"is being deleted; InUse: {IN_USE}",
            id="somebody-must-act",
        ),
        pytest.param(
            ready("False", "Warning", "nobody answers", "NotAsked"),
            [OWN],
            State.WARNING,
            "NotAsked",
            "is being deleted; NotAsked: nobody answers",
            id="somebody-may-have-to-act",
        ),
        pytest.param(
            ready("False", "Info", "Ansible stops it", "Stopping"),
            [OWN],
            State.WAITING,
            "Stopping",
            "is being deleted; Stopping: Ansible stops it",
            id="it-goes-on-by-itself",
        ),
        pytest.param(
            {**ready("False", "Error", "no such Secret", "SecretMissing"), "observedGeneration": 0},
            [OWN],
            State.WAITING,
            "Deleting",
            f"is being deleted; {OWN} is left to do",
            id="said-before-the-deletion",
        ),
        pytest.param(
            ready(),
            [OWN, "foregroundDeletion"],
            State.WAITING,
            "Deleting",
            f"is being deleted; {OWN}, foregroundDeletion are left to do",
            id="nothing-said-and-two-finalizers",
        ),
        pytest.param(
            ready("False", "Error", IN_USE, "InUse"),
            [OWN, STRANGER],
            State.ERROR,
            "InUse",
            f"is being deleted; InUse: {IN_USE}",
            id="somebody-must-act-before-a-stranger-lets-go",
        ),
        pytest.param(
            ready("False", "Info", "Ansible stops it", "Stopping"),
            [OWN, STRANGER],
            State.ERROR,
            "HeldByFinalizer",
            f"is being deleted and is held by the finalizer {STRANGER}, which is not ours: see that the program that "
            "set it runs, or take it off",
            id="a-stranger-holds-what-goes-on-by-itself",
        ),
    ],
)
def test_a_deletion_is_told_in_the_words_of_its_controller(
    status: dict[str, Any], finalizers: list[str], state: State, reason: str, message: str
) -> None:
    metadata = {"deletionTimestamp": READY_SINCE, "finalizers": finalizers}
    (node,) = tree.build(Objects([keystone(metadata=metadata, status=status)]))
    assert (node.state, node.reason, node.message, node.since) == (state, reason, message, READY_SINCE)


@pytest.mark.parametrize(
    ("of", "spec", "status", "state", "pods"),
    [
        pytest.param(Deployment, {"replicas": 2}, AVAILABLE, State.READY, (2, 2), id="all-pods"),
        pytest.param(Deployment, {"replicas": 3}, AVAILABLE, State.WAITING, (2, 3), id="some-pods-of-a-deployment"),
        pytest.param(
            Deployment,
            {"replicas": 2},
            {"observedGeneration": 1, "replicas": 3, "updatedReplicas": 1, "availableReplicas": 2},
            State.WAITING,
            (2, 2),
            id="pods-of-before-a-change-serve-on",
        ),
        pytest.param(StatefulSet, {}, {"observedGeneration": 1}, State.WAITING, (0, 1), id="no-pod-yet"),
        pytest.param(Job, {}, COMPLETE, State.READY, (1, 1), id="a-job-that-is-done"),
        pytest.param(
            Job, {}, {"conditions": [{"type": "Failed", "status": "True"}]}, State.ERROR, (0, 1), id="a-failed-job"
        ),
    ],
)
def test_the_state_of_a_workload(of: Any, spec: Any, status: Any, state: State, pods: tuple[int, int]) -> None:
    owner = keystone()
    (node,) = tree.build(Objects([owner, made(of, "x", owner=owner, spec=spec, status=status)]))
    (child,) = node.children
    assert child.pods is not None
    assert (child.state, (child.pods.ready, child.pods.wanted)) == (state, pods)


def node(state: State, *children: Branch, version: str = "keystone.openstack.org/v1beta1") -> Branch:
    return Branch("KeystoneAPI", "keystone", version, state, children=children)


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        pytest.param((node(State.READY),), State.READY, id="all-ready"),
        pytest.param((node(State.READY), node(State.WAITING)), State.WAITING, id="one-waits"),
        pytest.param((node(State.WAITING, node(State.ERROR)),), State.ERROR, id="a-child-is-in-error"),
        pytest.param(
            (node(State.READY, node(State.ERROR, version="batch/v1")),),
            State.READY,
            id="a-failed-action-does-not-make-a-ready-service-unready",
        ),
    ],
)
def test_the_worst_state_speaks_for_all(nodes: tuple[Branch, ...], expected: State) -> None:
    assert tree.worst(nodes) is expected

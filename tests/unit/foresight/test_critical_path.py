"""What took the time until a cloud was ready."""

from typing import Any

import pytest

from stackwright.cli.printing import explanation_report
from stackwright.foresight.critical_path import trace
from stackwright.foresight.snapshot import Snapshot
from stackwright.kube.builtin import Deployment, Job, Pod, ReplicaSet, StatefulSet
from stackwright.kube.resource import Resource
from tests.unit.foresight.clouds import control_plane, galera, keystone, kind, made
from tests.unit.foresight.snapshots import snapshot


def at(second: int) -> str:
    return f"2026-11-15T10:{second // 60:02}:{second % 60:02}Z"


def holds(**seconds: int) -> Any:
    stated = [{"type": name, "status": "True", "lastTransitionTime": at(second)} for name, second in seconds.items()]
    return {"conditions": stated, "observedGeneration": 1}


def born(second: int) -> Any:
    return {"creationTimestamp": at(second)}


def pod(
    name: str, owner: Resource, *, born_at: int, begun: int, end: int, initialised: int = 0, done: bool = False
) -> Pod:
    """Return a pod of which the times are known; `done` is one of a Job."""
    state = (
        {"terminated": {"startedAt": at(begun), "finishedAt": at(end), "exitCode": 0}}
        if done
        else {"running": {"startedAt": at(begun)}}
    )
    stated = holds(PodScheduled=born_at, Initialized=initialised or born_at, **({} if done else {"Ready": end}))
    status = {"phase": "Succeeded" if done else "Running", "containerStatuses": [{"name": "x", "state": state}]}
    found: Pod = made(
        Pod, name, owner=owner, metadata=born(born_at), status={**status, "conditions": stated["conditions"]}
    )
    return found


def cloud() -> Snapshot:
    """Return a cloud: the database is ready after 20 s, db-sync lasts from 21 to 40, and then its pods come up."""
    plane = control_plane(metadata=born(0), status=holds(Ready=50))
    database = galera(plane, metadata=born(1), status=holds(InputReady=1, DeploymentReady=20, Ready=20))
    nodes = made(StatefulSet, "openstack-galera", owner=database, metadata=born(2))
    identity = keystone(
        plane, metadata=born(1), status=holds(InputReady=1, DBReady=21, DBSyncReady=40, DeploymentReady=49, Ready=49)
    )
    schema = made(
        kind("MariaDBDatabase"), "keystone", metadata={**born(1), "labels": {"dbName": "openstack"}},
        spec={"name": "keystone"}, status=holds(MariaDBServerReady=20, Ready=21),
    )  # fmt: skip
    cache = made(kind("Memcached"), "memcached", owner=plane, metadata=born(1), spec={}, status=holds(Ready=5))
    sync = made(
        Job, "keystone-db-sync", owner=identity, metadata=born(21),
        status={"completionTime": at(40), "succeeded": 1, "conditions": []},
    )  # fmt: skip
    server = made(Deployment, "keystone", owner=identity, metadata=born(21), spec={"replicas": 1})
    replicas = made(ReplicaSet, "keystone-1", owner=server)
    return snapshot(
        plane, database, nodes, identity, schema, cache, sync, server, replicas,
        pod("openstack-galera-0", nodes, born_at=2, begun=8, end=19),
        pod("keystone-db-sync-x", sync, born_at=21, begun=23, end=39, done=True),
        pod("keystone-1-x", replicas, born_at=21, initialised=41, begun=42, end=48),
    )  # fmt: skip


def steps(found: Snapshot, target: tuple[str, str]) -> list[tuple[str, float]]:
    path = trace(found, target)
    assert path is not None
    return [(f"{step.kind} {step.name} {step.what}", step.seconds) for step in path.steps if step.seconds]


def test_the_chain_goes_back_from_what_was_ready_last_through_jobs_and_needs_to_the_creation() -> None:
    assert steps(cloud(), ("OpenStackControlPlane", "openstack")) == [
        ("Galera openstack created", 1),
        ("StatefulSet openstack-galera created", 1),
        ("Pod openstack-galera-0 started", 6),
        ("Pod openstack-galera-0 ready", 11),
        ("Galera openstack DeploymentReady", 1),
        ("MariaDBDatabase keystone ready", 1),
        ("Pod keystone-db-sync-x started", 2),
        ("Pod keystone-db-sync-x done", 16),
        ("Job keystone-db-sync done", 1),
        ("Pod keystone-1-x initialised", 1),
        ("Pod keystone-1-x started", 1),
        ("Pod keystone-1-x ready", 6),
        ("KeystoneAPI keystone DeploymentReady", 1),
        ("OpenStackControlPlane openstack ready", 1),
    ]


def test_the_steps_are_all_the_time_there_was() -> None:
    path = trace(cloud(), ("KeystoneAPI", "keystone"))
    assert path is not None
    assert (path.began, path.seconds) == (at(1), 48)
    assert sum(step.seconds for step in path.steps) == path.seconds
    assert (path.steps[0].name, path.steps[0].what) == ("keystone", "created")
    assert [step.at for step in path.steps] == sorted(step.at for step in path.steps)


def test_what_was_there_before_a_resource_is_not_on_its_way() -> None:
    objects = list(cloud().objects.all())
    late = keystone(metadata=born(60), status=holds(DBReady=61, Ready=70))
    found = snapshot(*(one for one in objects if one.metadata.name != "keystone"), late)
    assert steps(found, ("KeystoneAPI", "keystone")) == [
        ("KeystoneAPI keystone DBReady", 1),
        ("KeystoneAPI keystone ready", 9),
    ]


@pytest.mark.parametrize(
    "resource",
    [
        pytest.param(keystone(status={}), id="nobody-looked-yet"),
        pytest.param(keystone(status={"conditions": [{"type": "Ready", "status": "False"}]}), id="it-waits"),
    ],
)
def test_what_is_not_ready_has_no_path_yet(resource: Any) -> None:
    assert trace(snapshot(resource), ("KeystoneAPI", "keystone")) is None


def test_the_table_names_the_longest_step_and_leaves_away_those_that_took_no_time() -> None:
    path = trace(cloud(), ("KeystoneAPI", "keystone"))
    assert path is not None
    lines = explanation_report.path_lines(path, "KeystoneAPI", "keystone")
    assert lines[:4] == [
        "KeystoneAPI keystone was ready 48 s after it was created. What took the time:",
        "",
        "  AT  TOOK  STEP",
        " 0 s   0 s  KeystoneAPI keystone: created",
    ]
    assert [line for line in lines if "the longest" in line] == [
        "38 s  16 s  Pod keystone-db-sync-x: done  (the longest)"
    ]
    assert lines[-1].endswith("KeystoneAPI keystone: DeploymentReady")

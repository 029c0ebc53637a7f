"""A new configuration leaves that of earlier pods alone, and nothing restarts for the name of a Secret."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from stackwright.api.base import ObjectMeta
from stackwright.blueprint.configuration import Configured
from stackwright.blueprint.digests import digest
from stackwright.controllers.service import editions
from stackwright.kube.builtin import Deployment, Job, Plain, Pod, Secret, StatefulSet
from stackwright.kube.resource import OwnerReference
from stackwright.services.mariadb.kinds import Galera
from stackwright.services.mariadb.service import SERVICE as MARIADB

GALERA: Any = msgspec.convert({"metadata": {"name": "db", "namespace": "openstack"}, "spec": {}}, Galera)
OWN = "db-config-data"
VALUES: dict[str, Any] = {
    "components": {"server": {"config": OWN, "hash": "two"}, "cache": {"replicas": 1}},
    "jobs": {"sync": {"config": OWN, "hash": "job"}, "manage": {"config": "db-manage", "hash": "job"}},
    "schedules": {"purge": {"config": OWN}},
    "actions": {"purge-now": {"job": "purge", "config": OWN, "hash": "id"}},
}
PARTS = {name: Configured(OWN, {f"{name}.json": "{}"}) for name in ("server", "sync", "purge")}


def marks(component: str = "server", instance: str = "db", service: str = "mariadb") -> dict[str, str]:
    return {
        "app.kubernetes.io/name": service,
        "app.kubernetes.io/instance": instance,
        "app.kubernetes.io/component": component,
    }


def mounting(name: str) -> dict[str, Any]:
    return {"volumes": [{"name": "config", "secret": {"secretName": name}}, {"name": "data", "emptyDir": {}}]}


def workload(secret: str, read: str, *, rolled: bool = False) -> StatefulSet:
    template = {"metadata": {"annotations": {"openstack.org/config-hash": read}}, "spec": mounting(secret)}
    status = {"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1} if rolled else {}
    return StatefulSet(metadata=ObjectMeta(name="db", labels=marks()), spec={"template": template}, status=status)


def scaled(item: StatefulSet, replicas: int) -> StatefulSet:
    return msgspec.structs.replace(item, spec={**item.spec, "replicas": replicas})


def pod(secret: str, read: str, phase: str = "Running", component: str = "server", deleted: str = "") -> Pod:
    read_as = {"openstack.org/config-hash": read}
    metadata = ObjectMeta(name="db-0", labels=marks(component), annotations=read_as, deletionTimestamp=deleted)
    return Pod(metadata=metadata, spec=mounting(secret), status={"phase": phase})


def ready(item: Pod) -> Pod:
    """Return the pod as one that serves."""
    return msgspec.structs.replace(item, status={**item.status, "conditions": [{"type": "Ready", "status": "True"}]})


def edition(name: str, minute: int = 0, *, immutable: bool = True, version: str = "1", **labelled: str) -> Secret:
    made = datetime(2026, 11, 18, 1, minute, tzinfo=UTC).isoformat()
    metadata = ObjectMeta(
        name=name,
        namespace="openstack",
        labels=marks(**labelled),
        creationTimestamp=made,
        uid="u",
        resourceVersion=version,
    )
    return Secret(metadata=metadata, data={"a": "bmV3"}, immutable=immutable)


def place(*there: StatefulSet | Pod, jobs: dict[str, str] | None = None) -> tuple[str, str]:
    """Return what the server mounts, and what its job does."""
    workloads = (item for item in there if isinstance(item, StatefulSet))
    readers = editions.list_readers(workloads, (item for item in there if isinstance(item, Pod)))
    in_use = editions.is_in_use(OWN, VALUES["components"], readers)
    placed = editions.place(OWN, VALUES, PARTS, readers, jobs or {}, in_use=in_use)
    assert placed["components"]["cache"] == VALUES["components"]["cache"]
    assert placed["jobs"]["manage"] == VALUES["jobs"]["manage"]
    # What pods run with is good enough for them, and a release is not another one for a name.
    assert (placed["schedules"], placed["actions"]) == (VALUES["schedules"], VALUES["actions"])
    return placed["components"]["server"]["config"], placed["jobs"]["sync"]["config"].rpartition("-")[0]


NOW = "2026-11-18T01:00:00Z"
NEW = f"{OWN}-server-two"
FOLLOWS = "db-config"
STAYS = f"{OWN}-sync"


@pytest.mark.parametrize(
    ("there", "mounted", "job"),
    [
        pytest.param((), OWN, FOLLOWS, id="the-first-one-needs-no-edition"),
        pytest.param((workload(OWN, "two"), pod(OWN, "two")), OWN, FOLLOWS, id="nothing-new"),
        pytest.param((workload(OWN, "one"), pod(OWN, "one")), NEW, STAYS, id="the-first-change"),
        pytest.param((workload(OWN, "one"),), NEW, STAYS, id="its-pod-was-deleted"),
        pytest.param((workload(NEW, "two"), pod(OWN, "one"), pod(NEW, "two")), NEW, STAYS, id="it-rolls-or-is-stuck"),
        # Its ReplicaSet, or StatefulSet, makes it again from the former template.
        pytest.param((workload(NEW, "two"), pod(OWN, "one", "Failed")), NEW, STAYS, id="one-was-evicted"),
        pytest.param((workload(NEW, "two"), pod(NEW, "two")), NEW, STAYS, id="the-last-one-is-gone-while-it-is-stuck"),
        pytest.param((workload(NEW, "two"), pod(OWN, "one", deleted=NOW)), NEW, STAYS, id="one-is-drained"),
        pytest.param(
            (workload(NEW, "two", rolled=True), pod(OWN, "one", deleted=NOW)), NEW, FOLLOWS, id="the-last-one-goes"
        ),
        pytest.param((workload(NEW, "two", rolled=True), pod(NEW, "two")), NEW, FOLLOWS, id="it-has-rolled"),
        # Taken back: the pods that are there go on, and are not replaced by others with the same content.
        pytest.param((workload(f"{OWN}-server-bad", "bad"), pod(OWN, "two")), OWN, STAYS, id="taken-back"),
        pytest.param((workload(f"{OWN}-server-one", "one", rolled=True),), NEW, FOLLOWS, id="a-later-change"),
        # A user's own chart: nobody knows what its pods have, and they follow the Secret.
        pytest.param((workload(OWN, ""), pod(OWN, "")), OWN, FOLLOWS, id="pods-that-do-not-say-what-they-read"),
        pytest.param(
            (workload(OWN, "two"), pod(OWN, "old", component="former")), OWN, FOLLOWS, id="a-former-component"
        ),
    ],
)
def test_a_secret_stays_while_pods_of_before_read_it(there: Any, mounted: str, job: str) -> None:
    assert place(*there) == (mounted, job)


@pytest.mark.parametrize(
    ("kind", "mounted", "read", "in_use"),
    [
        pytest.param(Deployment, OWN, "one", True, id="it-may-stay-while-others-roll"),
        pytest.param(Deployment, f"{OWN}-former-one", "one", False, id="it-has-an-edition"),
        pytest.param(Deployment, OWN, "", False, id="one-of-a-users-chart-that-stays-for-good"),
        pytest.param(StatefulSet, OWN, "one", False, id="it-goes-at-once"),
    ],
)
def test_a_secret_stays_for_a_workload_that_leaves(kind: type[Plain], mounted: str, read: str, in_use: bool) -> None:
    """Its pods are created again from it, if their node is drained meanwhile."""
    template = {"metadata": {"annotations": {"openstack.org/config-hash": read}}, "spec": mounting(mounted)}
    leaving = kind(metadata=ObjectMeta(name="db-former", labels=marks("former")), spec={"template": template})
    readers = editions.list_readers((leaving,), ())
    assert editions.is_in_use(OWN, VALUES["components"], readers) is in_use


@pytest.mark.parametrize("mounted", [OWN, f"{OWN}-sync-old"])
def test_a_job_that_is_there_stays_as_it_is(mounted: str) -> None:
    """Else the release would be another one, and its Job asked for anew."""
    there = workload(OWN, "one"), workload(NEW, "two")
    assert {place(item, jobs={"sync": mounted})[1] for item in there} == {mounted.rpartition("-")[0]}
    spec = {"template": {"spec": mounting(mounted)}}
    jobs = {"sync": Job(metadata=ObjectMeta(name="db-sync"), spec=spec), "manage": None}
    assert editions.list_jobs(OWN, jobs, PARTS, {}) == {"sync": mounted}


@pytest.mark.parametrize(
    ("mounted", "kept", "stays"),
    [
        pytest.param(OWN, {"sync.json": "b2xk"}, False, id="the-secret-has-what-was-asked-for-before"),
        pytest.param(OWN, {"sync.json": "e30="}, True, id="the-secret-has-what-is-asked-for"),
        pytest.param(OWN, None, True, id="the-secret-follows"),
        pytest.param(f"{OWN}-sync-old", None, False, id="an-edition-of-before"),
        pytest.param(f"{OWN}-sync-{digest({'sync.json': '{}'})}", None, True, id="the-edition-that-is-asked-for"),
    ],
)
@pytest.mark.parametrize(
    "status", [{"failed": 1}, {"conditions": [{"type": "Failed", "status": "True"}]}], ids=["tried-again", "failed"]
)
def test_a_job_that_fails_with_what_was_asked_for_before_is_made_anew(
    mounted: str, kept: dict[str, str] | None, stays: bool, status: dict[str, Any]
) -> None:
    spec = {"template": {"spec": mounting(mounted)}}
    jobs = {"sync": Job(metadata=ObjectMeta(name="db-sync"), spec=spec, status=status)}
    assert editions.list_jobs(OWN, jobs, PARTS, kept) == ({"sync": mounted} if stays else {})


@pytest.mark.parametrize("jobs", [{}, {"sync": f"{OWN}-sync-old"}], ids=["a-new-job", "one-of-before"])
def test_editions_have_what_their_part_reads(jobs: dict[str, str]) -> None:
    readers = editions.list_readers((workload(OWN, "one"),), ())
    placed = editions.place(OWN, VALUES, PARTS, readers, jobs, in_use=True)
    listed = editions.list_wanted(MARIADB, GALERA, placed, PARTS)
    found = {item.key.name.rpartition("-")[0]: item.body for item in listed}
    # What a former edition has, nobody knows any more; it stays as long as something mounts it.
    assert found.keys() == {f"{OWN}-server"} | ({f"{OWN}-sync"} if not jobs else set())
    assert found[f"{OWN}-server"]["data"] == {"server.json": "e30="}
    assert all(body["immutable"] for body in found.values())


def _owned(secret: Secret, uid: str) -> ObjectMeta:
    owner = OwnerReference(apiVersion="v1", kind="Galera", name="db", uid=uid, controller=True)
    return msgspec.structs.replace(secret.metadata, ownerReferences=(owner,))


def _going(secret: Secret) -> ObjectMeta:
    return msgspec.structs.replace(secret.metadata, deletionTimestamp=NOW)


def test_only_a_resources_own_editions_are_found() -> None:
    own = edition(f"{OWN}-server-one")
    others = (
        edition(OWN),
        edition(f"{OWN}-server-two", immutable=False),
        edition(f"{OWN}-server-three", instance="other"),
        edition(f"{OWN}-server-four", service="rabbitmq"),
        edition("mine"),
        *(msgspec.structs.replace(own, metadata=of_former) for of_former in (_owned(own, "former"), _going(own))),
    )
    assert editions.find(MARIADB, GALERA, (own, *others)) == (own,)


def test_what_pods_mount_and_the_newest_of_each_part_stay() -> None:
    there = [edition(f"{OWN}-server-{number}", number) for number in range(6)]
    there.append(edition(f"{OWN}-sync-0", component="sync"))
    # One of a component that the user has removed.
    there.append(edition(f"{OWN}-former-0", component="former"))
    readers = editions.list_readers((workload(f"{OWN}-server-1", "one"),), (pod(f"{OWN}-server-0", "zero"),))
    found = [item.key.name for item in editions.list_spare(there, (), readers, PARTS)]
    assert set(found) == {f"{OWN}-sync-0", *(f"{OWN}-server-{number}" for number in (0, 1, 3, 4, 5))}


def test_of_editions_of_one_second_the_newest_stay() -> None:
    versions = {"c": "9", "a": "10", "d": "11", "b": "12"}
    there = [edition(name, version=version) for name, version in versions.items()]
    found = {item.key.name for item in editions.list_spare(there, (), (), PARTS)}
    assert found == {"a", "d", "b"}


def test_an_edition_that_stays_is_not_written_again() -> None:
    """It is asked for as it was when it was new, so that its mark still holds."""
    secret = edition(f"{OWN}-server-0")
    (kept,) = editions.list_spare((secret,), (), (), PARTS)
    assert kept.body["data"] == secret.data
    assert kept.body["metadata"] == {"name": secret.metadata.name, "labels": marks()}


@pytest.mark.parametrize(
    ("there", "proven"),
    [
        pytest.param((), True, id="nothing-runs-that-could-be-locked-out"),
        pytest.param((workload(OWN, "one"), ready(pod(OWN, "one"))), False, id="pods-have-what-was-before"),
        pytest.param((workload(NEW, "two"), ready(pod(OWN, "one")), pod(NEW, "two")), False, id="the-new-is-not-ready"),
        pytest.param((workload(NEW, "two"), ready(pod(OWN, "one")), ready(pod(NEW, "two"))), True, id="one-is-enough"),
        pytest.param((workload(NEW, "two"), ready(pod(NEW, "two", deleted=NOW))), False, id="the-new-one-goes"),
        pytest.param((workload(NEW, "two"), ready(pod(NEW, "two", component="x"))), False, id="another-component-has"),
        pytest.param((scaled(workload(NEW, "two"), 0),), True, id="no-pods-are-asked-for"),
    ],
)
def test_a_configuration_is_proven_by_a_pod_that_is_ready_with_it(
    there: tuple[StatefulSet | Pod, ...], proven: bool
) -> None:
    workloads = [item for item in there if isinstance(item, StatefulSet)]
    pods = [item for item in there if isinstance(item, Pod)]
    assert editions.is_proven(VALUES["components"], workloads, pods) == proven

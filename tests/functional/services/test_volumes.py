"""Volumes of databases and brokers grow while their pods run; what cannot grow says so, and stops nothing else."""

from typing import Any, ClassVar

import pytest

from stackwright.kube import conditions
from stackwright.kube.builtin import PersistentVolumeClaim, Plain, Pod, StatefulSet, StorageClass
from stackwright.kube.resource import JsonObject, Kind
from stackwright.simulator import storage_class
from stackwright.simulator.annotations import PREFIX
from tests.functional.services.case import ServiceCase
from tests.functional.services.cases import mariadb, ovn, rabbitmq
from tests.functional.services.place import Place
from tests.functional.watching import eventually

GALERA = mariadb.CASES[0]
BROKER = rabbitmq.CASES[0]
OVN = next(row for row in ovn.CASES if row.kind.kind.name == "OVNDBCluster")


class ResourceQuota(Plain, frozen=True, kw_only=True):
    """How much a namespace may ask for."""

    kind: ClassVar[Kind] = Kind("", "v1", "ResourceQuota", "resourcequotas")


@pytest.fixture
def case(request: pytest.FixtureRequest) -> ServiceCase:
    row: ServiceCase = getattr(request, "param", GALERA)
    return row


async def asked(place: Place, size: str, **spec: Any) -> Any:
    """Ask for volumes of a size, of a class of this test alone."""
    if place.case is BROKER:
        return await place.ask(persistence={"storage": size, "storageClassName": place.namespace}, **spec)
    return await place.ask(storageRequest=size, storageClass=place.namespace, **spec)


async def has_class(place: Place, *, grows: bool = True) -> None:
    await place.client.apply(StorageClass, storage_class(place.namespace, grows=grows))


def workload(place: Place) -> str:
    return "ovsdbserver-sb" if place.case is OVN else next(iter(dict(place.case.workloads())))


async def claims(place: Place, count: int, size: str) -> None:
    """Wait until the volumes of so many pods have a size."""
    for number in range(count):
        name = f"data-{workload(place)}-{number}"
        await eventually(
            place.client, PersistentVolumeClaim, name, place.namespace, lambda seen: capacity(seen) == size
        )


def capacity(claim: PersistentVolumeClaim) -> str:
    return str((claim.status.get("capacity") or {}).get("storage", ""))


async def says(place: Place, words: str) -> None:
    """Wait until a resource is ready, and says so all the same."""

    def holds(seen: Any) -> bool:
        stated = conditions.find(seen.status.conditions, "DeploymentReady")
        ready = conditions.is_true(seen.status.conditions)
        return ready and stated is not None and stated.status == "True" and words in stated.message

    await eventually(place.client, place.case.kind, place.usual, place.namespace, holds)


def has_three(workload: StatefulSet) -> bool:
    return workload.status.get("readyReplicas") == 3


async def pods(place: Place) -> dict[str, str]:
    found = await place.client.list(Pod, place.namespace)
    return {pod.metadata.name: pod.metadata.uid for pod in found if not pod.deleting}


@pytest.mark.parametrize("case", [GALERA, BROKER, OVN], ids=lambda row: row.name, indirect=True)
async def test_volumes_grow_and_nothing_restarts(standing: Place) -> None:
    await has_class(standing)
    await asked(standing, "1G", replicas=1)
    await standing.up()
    before = await pods(standing)
    there = await standing.client.get(StatefulSet, workload(standing), standing.namespace)

    await asked(standing, "2G", replicas=1)
    await claims(standing, 1, "2G")
    await standing.up()
    assert await pods(standing) == before

    # What else is asked for reaches the StatefulSet, and further nodes have the new size.
    await asked(standing, "2G", replicas=3)
    await claims(standing, 3, "2G")
    await standing.up()
    now = await standing.client.get(StatefulSet, workload(standing), standing.namespace)
    assert (now.metadata.uid, now.spec["replicas"]) == (there.metadata.uid, 3)
    assert before.items() <= (await pods(standing)).items()


async def test_a_class_that_lets_nothing_grow_is_told_and_the_size_can_be_set_back(standing: Place) -> None:
    await has_class(standing, grows=False)
    await asked(standing, "1G")
    await standing.up()
    await asked(standing, "2G")
    await says(
        standing, f"cannot grow to 2G, because its StorageClass {standing.namespace} does not allow that; set 1G"
    )
    # All else goes on.
    await asked(standing, "2G", replicas=3)
    await eventually(standing.client, StatefulSet, workload(standing), standing.namespace, has_three)
    await standing.up()
    await asked(standing, "1G", replicas=3)
    await eventually(
        standing.client,
        standing.case.kind,
        standing.usual,
        standing.namespace,
        lambda seen: conditions.is_true(seen.status.conditions) and "cannot grow" not in str(seen.status.conditions),
    )


async def test_a_volume_that_does_not_grow_stops_no_other_change_and_its_size_can_be_set_back(standing: Place) -> None:
    await has_class(standing)
    await asked(standing, "1G", replicas=1)
    await standing.up()
    name = f"data-{workload(standing)}-0"
    faulty: JsonObject = {"metadata": {"annotations": {f"{PREFIX}fault": "VolumeUnbound"}}}
    await standing.client.patch(PersistentVolumeClaim, name, standing.namespace, faulty)
    await asked(standing, "2G", replicas=3)
    await says(standing, f"PersistentVolumeClaim {name} grows from 1G to 2G")
    await eventually(standing.client, StatefulSet, workload(standing), standing.namespace, has_three)
    await asked(standing, "1G", replicas=3)
    await standing.up()
    # One that had its size by then keeps it.
    assert capacity(await standing.client.get(PersistentVolumeClaim, f"{name[:-1]}1", standing.namespace)) == "2G"


async def test_what_a_quota_refuses_is_told_and_stops_no_other_change(standing: Place) -> None:
    await has_class(standing)
    await asked(standing, "1G")
    await standing.up()
    quota = {"metadata": {"name": "small", "namespace": standing.namespace}}
    await standing.client.create(ResourceQuota, {**quota, "spec": {"hard": {"requests.storage": "1500M"}}})
    await eventually(standing.client, ResourceQuota, "small", standing.namespace, lambda seen: seen.status.get("used"))
    await asked(standing, "2G", customServiceConfig="[mariadbd]\nmax_connections = 77\n")
    await says(standing, "exceeded quota")
    now = await standing.client.get(PersistentVolumeClaim, f"data-{workload(standing)}-0", standing.namespace)
    assert now.spec["resources"]["requests"]["storage"] == "1G"
    await asked(standing, "1G")
    await standing.up()

"""Editions of configuration on a real API server: they come with a change, and go when nobody can need them."""

import base64
from collections.abc import Callable
from typing import Any

import pytest

from stackwright.adapters.identity import Keystone
from stackwright.controllers.service import editions, references
from stackwright.controllers.service.failed_jobs import is_failing
from stackwright.kube.builtin import Deployment, Job, Pod, Secret
from stackwright.kube.client import Client
from stackwright.kube.shapes.states import state_of
from stackwright.services.placement.kinds import PlacementAPI
from stackwright.simulator import Behaviour, Crash, Script, Selector
from stackwright.simulator.annotations import PREFIX
from tests.functional.placements import keystone, place
from tests.functional.watching import eventually, gone, is_false, is_ready, some

__all__ = ["keystone"]

pytestmark = pytest.mark.usefixtures("kinds")

OWN = "placement-config-data"
KEY = "02-placement-override.conf"


def mounted(workload: Deployment | Job) -> str:
    (name,) = (name for name in references.list_secrets(references.pod_of(workload.spec)) if name.startswith(OWN))
    return name


def other_than(name: str) -> Callable[[Any], bool]:
    return lambda seen: mounted(seen) != name


def has(text: str) -> Callable[[Secret], bool]:
    return lambda secret: base64.b64decode(secret.data.get(KEY, "")).decode() == text


async def test_a_changed_configuration_is_an_edition_that_the_secret_follows(
    client: Client, namespace: str, keystone: Keystone
) -> None:
    await place(client, namespace)
    await eventually(client, PlacementAPI, "placement", namespace, is_ready)
    last = mounted(await client.get(Deployment, "placement", namespace))
    assert last == OWN
    seen: list[str] = []
    for number in range(editions.SPARE + 1):
        said = f"[placement]\nallocation_conflict_retry_count = {number}\n"
        await place(client, namespace, customServiceConfig=said)
        last = mounted(await eventually(client, Deployment, "placement", namespace, other_than(last)))
        seen.append(last)
        await eventually(client, Secret, last, namespace, has(said))
        await eventually(client, PlacementAPI, "placement", namespace, is_ready)
        # No former pod reads it any more.
        await eventually(client, Secret, OWN, namespace, has(said))
    # The newest stay, for a release that is rolled back; what nobody mounts goes in the end.
    await gone(client, Secret, seen[0], namespace)
    there = await client.list(Secret, namespace, labels="app.kubernetes.io/component=api")
    assert {secret.metadata.name for secret in there} == set(seen[1:])


SYNC = {"app.kubernetes.io/component": "db-sync"}


@pytest.mark.parametrize(
    "keystone",
    [pytest.param(Script((Behaviour(Selector(labels=SYNC), fault=Crash()),)), id="the-job-fails")],
    indirect=True,
)
async def test_a_job_that_fails_is_made_anew_with_what_the_user_corrected(
    client: Client, namespace: str, keystone: Keystone
) -> None:
    """It would fail with the former value for ten minutes: the pods that wait for it hold the Secret."""
    await place(client, namespace, customServiceConfig="[placement]\nallocation_conflict_retry_count = 1\n")
    selector = "app.kubernetes.io/component=db-sync"
    (first,) = await some(client, Job, namespace, lambda found: any(map(is_failing, found)), labels=selector)
    assert mounted(first) == OWN
    corrected = "[placement]\nallocation_conflict_retry_count = 2\n"
    await place(client, namespace, customServiceConfig=corrected)
    (second,) = await some(
        client, Job, namespace, lambda found: [mounted(job) != OWN for job in found] == [True], labels=selector
    )
    await eventually(client, Secret, mounted(second), namespace, has(corrected))


@pytest.mark.parametrize(
    "keystone",
    [
        pytest.param(
            Script((Behaviour(Selector(labels=SYNC), fault=Crash(times=1), runs_for=None),)), id="then-it-hangs"
        )
    ],
    indirect=True,
)
async def test_a_job_that_hangs_with_what_it_failed_with_before_is_told(
    client: Client, namespace: str, keystone: Keystone
) -> None:
    await place(client, namespace)

    def is_tried_again(jobs: list[Job]) -> bool:
        return any(is_failing(job) and job.status.get("ready") for job in jobs)

    (job,) = await some(client, Job, namespace, is_tried_again, labels="app.kubernetes.io/component=db-sync")
    await place(client, namespace, customServiceConfig="[placement]\nallocation_conflict_retry_count = 2\n")
    words = f"Job {job.metadata.name} failed, and tries again with the Secrets of before"
    await eventually(client, PlacementAPI, "placement", namespace, is_false(words, "DBSyncReady"))


@pytest.mark.parametrize(
    "keystone",
    [pytest.param(Script((Behaviour(Selector(labels=SYNC), runs_for=None),)), id="the-job-takes-long")],
    indirect=True,
)
async def test_a_change_of_tables_is_neither_cut_in_the_middle_nor_joined_by_another(
    client: Client, namespace: str, keystone: Keystone
) -> None:
    await place(client, namespace)
    selector = "app.kubernetes.io/component=db-sync"
    (first,) = await some(
        client, Job, namespace, lambda found: any(job.status.get("ready") for job in found), labels=selector
    )
    await place(client, namespace, containerImage="registry.example/placement:another")
    words = f"Job {first.metadata.name} is at work on the tables, and finishes first"
    await eventually(client, PlacementAPI, "placement", namespace, is_false(words, "DBSyncReady"))
    (still,) = await client.list(Job, namespace, labels=selector)
    assert (still.metadata.uid, still.deleting) == (first.metadata.uid, False)
    # Pods of the changed Deployment are there already; they wait for the next Job.
    ended: list[bool] = []

    def noted(found: list[Job]) -> bool:
        ended.extend(state_of(job).status == "True" for job in found if job.metadata.uid == first.metadata.uid)
        return any(job.metadata.uid != first.metadata.uid for job in found)

    (pod,) = await client.list(Pod, namespace, labels=f"batch.kubernetes.io/job-name={first.metadata.name}")
    done = {"name": pod.metadata.name, "namespace": namespace, "annotations": {f"{PREFIX}runs-for": "0"}}
    await client.apply(Pod, {"metadata": done}, field_manager="user")
    await some(client, Job, namespace, noted, labels=selector)
    assert ended[-1]

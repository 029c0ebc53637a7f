"""What is Placement's own, beside what its row says; the catalog is a fake Keystone's."""

from collections.abc import Callable

import pytest

from stackwright.adapters.identity import Credentials
from stackwright.kube.builtin import Job, Pod
from tests.functional.services.case import ServiceCase
from tests.functional.services.cases.placement import CASES
from tests.functional.services.place import Place
from tests.functional.watching import eventually, some


@pytest.fixture
def case() -> ServiceCase:
    return CASES[0]


async def test_who_keeps_it_in_keystone_does_not_change_under_way(standing: Place) -> None:
    await standing.ask()
    await standing.up()
    await standing.ask(provisioning="Job")
    await standing.told("spec.provisioning: KeystoneService placement keeps", "InputReady")
    assert standing.keystone is not None
    password = standing.case.passwords["PlacementPassword"]
    assert await standing.keystone.login(Credentials("placement", password, "service")) is not None
    await standing.ask()
    await standing.up()


async def test_jobs_that_wait_for_a_node_follow_the_corrected_selector(standing: Place) -> None:
    await standing.ask(nodeSelector={"disk": "none-has-it"})
    await some(standing.client, Pod, standing.namespace, fits_on_no_node("db-sync"))
    await standing.ask()
    await standing.up()
    before = await standing.client.list(Job, standing.namespace)

    # What is done is not done again elsewhere; and an action that found no node finds one.
    action = [{"name": "migrate-data", "id": "1"}]
    await standing.ask(nodeSelector={"disk": "none-has-it"}, actions=action)
    await some(standing.client, Pod, standing.namespace, fits_on_no_node("action"))
    await standing.ask(actions=action)
    await eventually(
        standing.client,
        standing.case.kind,
        "placement",
        standing.namespace,
        lambda seen: [entry.state for entry in seen.status.actions] == ["Succeeded"],
    )
    now = {job.metadata.name: job.metadata.uid for job in await standing.client.list(Job, standing.namespace)}
    assert {job.metadata.name: job.metadata.uid for job in before}.items() <= now.items()


def fits_on_no_node(job: str) -> Callable[[list[Pod]], bool]:
    """Return what is true as soon as a pod of such a Job has been found no node for."""

    def matches(pod: Pod) -> bool:
        stated = pod.status.get("conditions") or ()
        return f"-{job}-" in pod.metadata.name and any(
            entry["type"] == "PodScheduled" and entry["status"] == "False" for entry in stated
        )

    return lambda pods: any(map(matches, pods))

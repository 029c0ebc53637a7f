"""A change that does not get through takes no good pod away: for every service without state, by its row."""

from typing import Any

import pytest

from stackwright.kube.builtin import Deployment, Pod
from stackwright.kube.client import Client
from stackwright.kube.conditions import find
from stackwright.simulator.annotations import PREFIX
from tests.functional.services.place import Place
from tests.functional.services.rows import rows
from tests.functional.watching import eventually, is_ready

WORDS = "The configuration has values that the service cannot read"
# Those whose options are known, and whose pods come beside the old ones.
ROWS = [row for row in rows() if row.blueprint.options is not None and dict(row.deployments())]


async def annotate(client: Client, kind: type[Any], name: str, namespace: str, **said: str | None) -> None:
    annotations = {f"{PREFIX}{key.replace('_', '-')}": value for key, value in said.items()}
    await client.patch(kind, name, namespace, {"metadata": {"annotations": annotations}})


async def configure(place: Place, snippet: str) -> None:
    """Ask for the service as one whose pods keep nothing, with a snippet more."""
    without_state = dict(place.case.without_state)
    own = without_state.pop("customServiceConfig", "")
    await place.ask(**without_state, customServiceConfig=own + snippet)


@pytest.mark.parametrize("case", [pytest.param(row, id=row.name) for row in ROWS])
async def test_the_old_pod_serves_until_a_change_gets_through(standing: Place) -> None:
    await configure(standing, "")
    await standing.up()
    deployments = dict(standing.case.deployments())

    # A value that the operator knows to be wrong changes nothing.
    before = {name: await generation(standing, name) for name in deployments}
    await configure(standing, "[DEFAULT]\ndebug = s3cr3t\n")
    told = await standing.told("[DEFAULT] debug must be true or false", "InputReady")
    assert not any("s3cr3t" in condition.message for condition in told.status.conditions)
    assert {name: await generation(standing, name) for name in deployments} == before

    for number, (deployment, component) in enumerate(deployments.items()):
        await assert_old_pod_serves(standing, deployment, component, f"[DEFAULT]\ndebug = {number % 2 == 0}\n")


async def generation(place: Place, deployment: str) -> int:
    return (await place.client.get(Deployment, deployment, place.namespace)).metadata.generation


async def assert_old_pod_serves(place: Place, deployment: str, component: str, snippet: str) -> None:
    """Make a change whose new pod ends; see that the old one stays, and that the change goes on once it can."""
    client, namespace, case = place.client, place.namespace, place.case
    selector = f"app.kubernetes.io/instance={case.name},app.kubernetes.io/component={component},pod-template-hash"
    owned = [pod for pod in await client.list(Pod, namespace, labels=selector) if not pod.deleting]
    assert owned
    for pod in owned:
        await annotate(client, Pod, pod.metadata.name, namespace, fault="None")
    crash = {"fault": "Crash", "exit_code": "22", "message": WORDS, "backoff": "0.5", "container": component}
    await annotate(client, Deployment, deployment, namespace, **crash)
    await configure(place, snippet)

    def stuck(seen: Any) -> bool:
        said = find(seen.status.conditions, "DeploymentReady")
        return said is not None and said.reason == "RolloutStuck" and WORDS in said.message

    told = await eventually(client, case.kind, case.name, namespace, stuck)
    said = find(told.status.conditions, "DeploymentReady")
    assert said is not None
    assert f"Deployment {deployment} serves with 1 of 1 pods, and a new one is not ready yet" in said.message
    assert "0 of 1" not in said.message
    assert not is_ready(told)
    for pod in owned:
        stays = await client.get(Pod, pod.metadata.name, namespace)
        assert not stays.deleting
        ready = {entry["type"]: entry["status"] for entry in stays.status["conditions"]}
        assert ready["Ready"] == "True"

    # It goes on by itself once the cause is gone.
    await annotate(client, Deployment, deployment, namespace, **dict.fromkeys(crash))
    await place.up()

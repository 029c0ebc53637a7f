"""A change that does not get through takes no good pod away: for every service without state, by its row.

A Deployment has the new pod beside the old one. A StatefulSet cannot, so that the change is tried in a Job first.
"""

from collections.abc import Iterable
from typing import Any

import pytest

from stackwright.adapters.identity import Credentials
from stackwright.api.keystone import KeystoneService
from stackwright.controllers.service import references
from stackwright.kube.builtin import Deployment, Job, Pod, Secret, StatefulSet
from stackwright.kube.client import Client
from stackwright.kube.conditions import find
from stackwright.simulator import Behaviour, Script, Selector
from stackwright.simulator.annotations import PREFIX
from tests.functional.cloud import decoded
from tests.functional.services.case import SECRET
from tests.functional.services.place import Place
from tests.functional.services.rows import rows
from tests.functional.watching import eventually, is_ready, some

WORDS = "The configuration has values that the service cannot read"
# Those whose options are known, and that have pods.
ROWS = [row for row in rows() if row.blueprint.options is not None and dict(row.workloads())]
KINDS: dict[str, type[Any]] = {"Deployment": Deployment, "StatefulSet": StatefulSet}
TRIAL = "app.kubernetes.io/component=trial"


@pytest.fixture
def script() -> Script:
    """Trials take long enough to have a fault."""
    return Script((Behaviour(Selector(labels=dict([TRIAL.split("=")])), start_after=3.5),))


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
    workloads = dict(standing.case.workloads())

    # A value that the operator knows to be wrong changes nothing.
    before = {name: await generation(standing, name) for name in workloads}
    await configure(standing, "[DEFAULT]\ndebug = s3cr3t\n")
    told = await standing.told("[DEFAULT] debug must be true or false", "InputReady")
    assert not any("s3cr3t" in condition.message for condition in told.status.conditions)
    assert {name: await generation(standing, name) for name in workloads} == before

    for number, (name, component) in enumerate(workloads.items()):
        snippet = f"[DEFAULT]\ndebug = {number % 2 == 0}\n"
        if component.workload == "Deployment":
            await assert_old_pod_serves(standing, name, component.name, snippet)
        else:
            await assert_change_is_tried(standing, name, snippet)


async def generation(place: Place, name: str) -> int:
    workload = dict(place.case.workloads())[name].workload
    found: int = (await place.client.get(KINDS[workload], name, place.namespace)).metadata.generation
    return found


async def read_by(place: Place, pods: Iterable[Pod]) -> dict[str, dict[str, str]]:
    """Return the configuration that pods would start with, if they had to start again."""
    names = {name for pod in pods for name in references.list_secrets(pod.spec) if "-config-data" in name}
    assert names
    return {name: (await place.client.get(Secret, name, place.namespace)).data for name in names}


async def assert_old_pod_serves(place: Place, deployment: str, component: str, snippet: str) -> None:
    """Make a change whose new pod ends; see that the old one stays, and that the change goes on once it can."""
    client, namespace, case = place.client, place.namespace, place.case
    selector = f"app.kubernetes.io/instance={case.name},app.kubernetes.io/component={component},pod-template-hash"
    owned = [pod for pod in await client.list(Pod, namespace, labels=selector) if not pod.deleting]
    assert owned
    for pod in owned:
        await annotate(client, Pod, pod.metadata.name, namespace, fault="None")
    read = await read_by(place, owned)
    crash = {"fault": "Crash", "exit_code": "22", "message": WORDS, "backoff": "0.5", "container": component}
    await annotate(client, Deployment, deployment, namespace, **crash)
    await configure(place, snippet)
    message = await stuck(place)
    assert f"Deployment {deployment} serves with 1 of 1 pods, and a new one is not ready yet" in message
    assert "0 of 1" not in message
    if case.listed:
        await assert_user_keeps_password(place, f"of-{deployment}")
    await assert_ready(place, owned)
    assert await read_by(place, owned) == read

    # It goes on by itself once the cause is gone.
    await annotate(client, Deployment, deployment, namespace, **dict.fromkeys(crash))
    await place.up()
    if case.listed:
        await assert_lets_in(place, f"of-{deployment}")


async def assert_user_keeps_password(place: Place, another: str) -> None:
    """Change the service's password; see that Keystone does not, because the old pod logs in with the former one."""
    case, key = place.case, place.case.resource.spec.passwordSelectors.service
    secret = await place.client.get(Secret, case.spec.get("secret", SECRET), place.namespace)
    before = decoded(secret)[key]
    await place.give(**{**case.passwords, key: another})
    words = f"it is set in Keystone once {case.kind.kind.name} {case.name} is configured with it"
    await place.says(KeystoneService, "KeystoneServiceOSUserReady", words)
    await assert_lets_in(place, before)


async def assert_lets_in(place: Place, password: str) -> None:
    keystone, user = place.keystone, place.case.resource.spec.serviceUser
    assert keystone is not None
    assert await keystone.login(Credentials(user, password, "service")) is not None


async def assert_change_is_tried(place: Place, name: str, snippet: str) -> None:
    """Make a change whose trial fails; see that the pod stays, and that another change is tried and comes through."""
    client, namespace = place.client, place.namespace
    serving = await client.get(Pod, f"{name}-0", namespace)
    before, read = await generation(place, name), await read_by(place, [serving])
    await configure(place, snippet)
    (trial,) = await some(client, Job, namespace, lambda found: len(found) == 1, labels=TRIAL)
    await annotate(client, Job, trial.metadata.name, namespace, fault="Crash", exit_code="22", message=WORDS)
    message = await stuck(place)
    assert f"StatefulSet {name} keeps its pods, because a trial of the change failed" in message
    assert await generation(place, name) == before
    await assert_ready(place, [serving])
    assert await read_by(place, [serving]) == read

    await configure(place, f"{snippet}use_stderr = false\n")
    await place.up()
    replaced = await client.get(Pod, f"{name}-0", namespace)
    assert replaced.metadata.uid != serving.metadata.uid
    await some(client, Job, namespace, lambda found: not found, labels=TRIAL)


async def stuck(place: Place) -> str:
    """Return what is said of a rollout that is stuck."""

    def is_stuck(seen: Any) -> bool:
        said = find(seen.status.conditions, "DeploymentReady")
        return said is not None and said.reason == "RolloutStuck" and WORDS in said.message

    told = await eventually(place.client, place.case.kind, place.case.name, place.namespace, is_stuck)
    said = find(told.status.conditions, "DeploymentReady")
    assert said is not None
    assert not is_ready(told)
    return said.message


async def assert_ready(place: Place, pods: list[Pod]) -> None:
    for pod in pods:
        stays = await place.client.get(Pod, pod.metadata.name, place.namespace)
        assert (stays.metadata.uid, stays.deleting) == (pod.metadata.uid, False)
        ready = {entry["type"]: entry["status"] for entry in stays.status["conditions"]}
        assert ready["Ready"] == "True"

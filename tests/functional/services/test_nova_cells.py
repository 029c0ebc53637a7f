"""One cell of Nova that comes, breaks and heals: the others and the API go on."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from stackwright.api.mariadb import MariaDBDatabase
from stackwright.api.rabbitmq import TransportURL
from stackwright.kube.builtin import Deployment, Pod, Secret, StatefulSet
from stackwright.local.apiserver.server import Shared
from stackwright.services.nova.kinds.cell import NovaCell
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.kinds.services import NovaAPI, NovaConductor, NovaMetadata, NovaScheduler
from stackwright.services.rabbitmq.kinds import RabbitMq
from stackwright.simulator.annotations import PREFIX
from tests.functional import neighbours
from tests.functional.commands import command
from tests.functional.services.case import ServiceCase
from tests.functional.services.cases.nova import CASES
from tests.functional.services.place import Place
from tests.functional.watching import eventually, is_ready

FIRST: dict[str, Any] = {
    "cellDatabaseInstance": "openstack",
    "messagingBus": {"cluster": "rabbitmq", "vhost": "cell1"},
}
SECOND: dict[str, Any] = {**FIRST, "messagingBus": {"cluster": "rabbitmq", "vhost": "cell2"}}
# What runs for all cells, and may roll once when a cell comes.
FOR_ALL = ("nova-api", "nova-metadata", "nova-scheduler", "nova-cell0-conductor")


@pytest.fixture
def case() -> ServiceCase:
    return CASES[0]


async def generations(place: Place) -> dict[str, int]:
    """Return how often the pods of each workload were asked to be others; a rollout is one more."""
    found: dict[str, int] = {}
    for kind in (Deployment, StatefulSet):
        for workload in await place.client.list(kind, place.namespace):
            found[workload.metadata.name] = workload.metadata.generation
    return found


def knows_the_second(service: Any) -> bool:
    return is_ready(service) and "nova-cell2" in service.spec.registeredCells


def has_two_pods(service: Any) -> bool:
    return is_ready(service) and service.status.readyCount == 2


async def test_a_new_cell_rolls_what_is_for_all_cells_once_and_nothing_of_another_cell(standing: Place) -> None:
    client, namespace = standing.client, standing.namespace
    await standing.ask(cellTemplates={"cell0": {}, "cell1": FIRST})
    await standing.up()
    before = await generations(standing)
    assert set(FOR_ALL) < set(before)
    await standing.ask(cellTemplates={"cell0": {}, "cell1": FIRST, "cell2": SECOND})
    await eventually(
        client, Nova, "nova", namespace, lambda nova: is_ready(nova) and "nova-cell2" in nova.status.registeredCells
    )
    for kind, name in ((NovaAPI, "api"), (NovaScheduler, "scheduler"), (NovaMetadata, "metadata")):
        await eventually(client, kind, f"nova-{name}", namespace, knows_the_second)
    after = await generations(standing)
    rolled = {name: after[name] - count for name, count in before.items() if after[name] != count}
    assert set(rolled) <= set(FOR_ALL)
    assert set(rolled.values()) <= {1}
    # The API has to know the new cell.
    assert rolled["nova-api"] == 1


@dataclass(frozen=True)
class Loss:
    """What a cell loses, how it comes back, and what names it while it is gone: a condition, and an explanation."""

    lose: Callable[[Place], Awaitable[None]]
    heal: Callable[[Place], Awaitable[None]]
    condition: str
    named: str


async def _lose_schema(place: Place) -> None:
    made = await place.client.get(MariaDBDatabase, "nova-cell2", place.namespace)
    await neighbours.tell(place.client, made, {"completed": False}, ready=False)


async def _heal_schema(place: Place) -> None:
    made = await place.client.get(MariaDBDatabase, "nova-cell2", place.namespace)
    await neighbours.tell(place.client, made, {"completed": True})


BUS = "rabbitmq-transport-url-nova-cell2-transport"


async def _lose_login(place: Place) -> None:
    # What says that a login is away is its own state: its broker is there.
    await neighbours.tell(place.client, await place.put(RabbitMq, "rabbitmq", spec={}), {})
    made = await place.client.get(TransportURL, "nova-cell2-transport", place.namespace)
    await neighbours.tell(place.client, made, {"secretName": BUS}, ready=False)
    await place.client.delete(Secret, BUS, place.namespace)


async def _heal_login(place: Place) -> None:
    made = await place.client.get(TransportURL, "nova-cell2-transport", place.namespace)
    login = {"transport_url": f"rabbit://user:hop@rabbitmq.{place.namespace}.svc:5672/", "quorumqueues": "true"}
    body = {"metadata": {"name": BUS, "namespace": place.namespace}, "stringData": login}
    await place.client.apply(Secret, body, field_manager="neighbour")
    await neighbours.tell(place.client, made, {"secretName": BUS})


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(
            Loss(_lose_schema, _heal_schema, "NovaAllCellDBReady", "MariaDBDatabase nova-cell2"), id="its-database"
        ),
        pytest.param(
            Loss(_lose_login, _heal_login, "NovaAllCellsMQReady", "TransportURL nova-cell2-transport"), id="its-bus"
        ),
    ],
)
async def test_a_running_cell_that_loses_what_it_needs_stops_no_other(
    standing: Place, loss: Loss, apiserver: Shared
) -> None:
    client, namespace = standing.client, standing.namespace
    await standing.ask(cellTemplates={"cell0": {}, "cell1": FIRST, "cell2": SECOND})
    await standing.up()
    before = await generations(standing)
    await loss.lose(standing)
    await answer(standing, "ProbeFailing")
    told = await standing.told("cell2", loss.condition)
    assert not is_ready(told)
    await assert_seen(standing, apiserver, loss)
    # Meanwhile the first cell and the API take changes, and keep what they have.
    larger = {**FIRST, "conductorServiceTemplate": {"replicas": 2}}
    await standing.ask(
        apiServiceTemplate={"replicas": 2}, cellTemplates={"cell0": {}, "cell1": larger, "cell2": SECOND}
    )
    for kind, name in ((NovaConductor, "nova-cell1-conductor"), (NovaAPI, "nova-api")):
        await eventually(client, kind, name, namespace, has_two_pods)
    await eventually(client, NovaCell, "nova-cell1", namespace, is_ready)
    after = await generations(standing)
    assert set(after) == set(before), "nothing of the broken cell is taken away"
    assert {name for name, count in before.items() if after[name] != count} == {"nova-api", "nova-cell1-conductor"}
    await loss.heal(standing)
    await answer(standing, None)
    healed = await standing.up()
    assert set(healed.status.registeredCells) == {"nova-cell0", "nova-cell1", "nova-cell2"}


async def answer(place: Place, fault: str | None) -> None:
    """Let the conductor of the second cell be ready no more, as where it reaches nothing; None lets it be again."""
    change = {"metadata": {"annotations": {f"{PREFIX}fault": fault}}}
    await place.client.patch(Pod, "nova-cell2-conductor-0", place.namespace, change)


def is_not_ready(cell: NovaCell) -> bool:
    return not is_ready(cell)


async def assert_seen(place: Place, apiserver: Shared, loss: Loss) -> None:
    """See that a user finds the broken cell among the others, why it is broken, and what the pods of a cell say."""
    await eventually(place.client, NovaCell, "nova-cell2", place.namespace, is_not_ready)

    async def said(*words: str) -> str:
        done = await command(apiserver.kubeconfig, place.namespace, *words)
        return done.stdout + done.stderr

    states = dict(re.findall(r"NovaCell (\S+) +(\w+)", await said("status")))
    assert states == {"nova-cell0": "Ready", "nova-cell1": "Ready", "nova-cell2": "Waiting"}
    first, *further = (await said("explain", "nova")).splitlines()
    assert f"{loss.condition}: {loss.named}: " in first
    assert any(f"─ {loss.named}  Waiting" in line for line in further)
    assert any("─ NovaCell nova-cell2  Waiting" in line for line in further)
    assert any("container conductor runs and is not ready: Readiness probe failed" in line for line in further)
    # Nobody has logs here, so that each container whose log is read complains.
    asked = set(re.findall(r"^(\S+)/\S+: ", await said("logs", "nova-cell2"), flags=re.MULTILINE))
    kinds = {name.removeprefix("nova-cell2-").partition("-")[0] for name in asked}
    assert all(name.startswith("nova-cell2-") for name in asked)
    assert kinds == {"conductor", "novncproxy"}

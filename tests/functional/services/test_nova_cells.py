"""One cell of Nova that comes, breaks and heals: the others and the API go on."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from stackwright.api.mariadb import MariaDBDatabase
from stackwright.api.rabbitmq import TransportURL
from stackwright.kube.builtin import Deployment, Secret, StatefulSet
from stackwright.services.nova.kinds.cell import NovaCell
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.kinds.services import NovaAPI, NovaConductor, NovaMetadata, NovaScheduler
from tests.functional import neighbours
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
    """What a cell loses, how it comes back, and what the status names while it is gone."""

    lose: Callable[[Place], Awaitable[None]]
    heal: Callable[[Place], Awaitable[None]]
    condition: str


async def _lose_schema(place: Place) -> None:
    made = await place.client.get(MariaDBDatabase, "nova-cell2", place.namespace)
    await neighbours.tell(place.client, made, {"completed": False}, ready=False)


async def _heal_schema(place: Place) -> None:
    made = await place.client.get(MariaDBDatabase, "nova-cell2", place.namespace)
    await neighbours.tell(place.client, made, {"completed": True})


BUS = "rabbitmq-transport-url-nova-cell2-transport"


async def _lose_login(place: Place) -> None:
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
        pytest.param(Loss(_lose_schema, _heal_schema, "NovaAllCellDBReady"), id="its-database"),
        pytest.param(Loss(_lose_login, _heal_login, "NovaAllCellsMQReady"), id="its-bus"),
    ],
)
async def test_a_running_cell_that_loses_what_it_needs_stops_no_other(standing: Place, loss: Loss) -> None:
    client, namespace = standing.client, standing.namespace
    await standing.ask(cellTemplates={"cell0": {}, "cell1": FIRST, "cell2": SECOND})
    await standing.up()
    before = await generations(standing)
    await loss.lose(standing)
    told = await standing.told("cell2", loss.condition)
    assert not is_ready(told)
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
    healed = await standing.up()
    assert set(healed.status.registeredCells) == {"nova-cell0", "nova-cell1", "nova-cell2"}

"""What is Neutron's own, beside what its row says: its programs, OVN's databases, and what agents outside get."""

from typing import Any

import pytest

from stackwright.kube.builtin import Deployment, Pod, Secret
from stackwright.kube.conditions import find
from stackwright.services.rabbitmq.kinds import RabbitMq
from stackwright.simulator.annotations import PREFIX
from tests.functional import neighbours
from tests.functional.services.case import ServiceCase
from tests.functional.services.cases.neutron import CASES
from tests.functional.services.place import Place
from tests.functional.watching import eventually, is_ready

PROGRAMS = {"neutron", "neutron-rpc", "neutron-periodic-workers", "neutron-ovn-maintenance-worker"}
EXTERNAL = "NeutronExternalConfigsReady"
METADATA = "neutron-ovn-metadata-agent-neutron-config"
AGENTS = {METADATA, *(f"neutron-{agent}-agent-neutron-config" for agent in ("ovn", "sriov", "dhcp"))}


@pytest.fixture
def case() -> ServiceCase:
    return CASES[0]


async def deployed(place: Place) -> dict[str, Deployment]:
    found = await place.client.list(Deployment, place.namespace)
    return {one.metadata.name: one for one in found}


async def exported(place: Place) -> set[str]:
    return {one.metadata.name for one in await place.client.list(Secret, place.namespace)} & AGENTS


def external(seen: Any) -> Any:
    found = find(seen.status.conditions, EXTERNAL)
    assert found is not None
    return found


async def test_each_program_has_pods_of_its_own_and_rolls_by_what_it_reads(standing: Place) -> None:
    client, namespace = standing.client, standing.namespace
    await standing.ask(replicas=2)
    ready = await standing.up()
    assert ready.status.transportURLSecret == "rabbitmq-transport-url-neutron-neutron-transport"
    before = await deployed(standing)
    assert {name: one.spec["replicas"] for name, one in before.items()} == {
        "neutron": 2,
        "neutron-rpc": 2,
        "neutron-periodic-workers": 1,
        "neutron-ovn-maintenance-worker": 1,
    }
    await standing.ask(replicas=2, defaultConfigOverwrite={"policy.yaml": "get_network: '@'"})
    old = before["neutron"].metadata.generation
    await eventually(client, Deployment, "neutron", namespace, lambda seen: seen.metadata.generation > old)
    await standing.up()
    after = await deployed(standing)
    rolled = {name for name in PROGRAMS if after[name].metadata.generation != before[name].metadata.generation}
    assert rolled == {"neutron"}


async def test_without_agents_nothing_answers_them(standing: Place) -> None:
    await standing.ask(customServiceConfig="[DEFAULT]\nrpc_workers = 0\n")
    ready = await standing.up()
    assert set(await deployed(standing)) == PROGRAMS - {"neutron-rpc"}
    assert ready.status.readyCount == 3


def annotated(said: dict[str, str | None]) -> dict[str, Any]:
    return {"metadata": {"annotations": {f"{PREFIX}{name}": value for name, value in said.items()}}}


async def test_a_bad_value_takes_no_program_away(standing: Place) -> None:
    """A change without agents that the API does not start with: who answers them goes when the API has rolled."""
    client, namespace = standing.client, standing.namespace
    await standing.ask()
    await standing.up()
    # The pods that are there go on.
    for pod in await client.list(Pod, namespace, labels="app.kubernetes.io/instance=neutron,pod-template-hash"):
        await client.patch(Pod, pod.metadata.name, namespace, annotated({"fault": "None"}))
    crash: dict[str, str | None] = {"fault": "Crash", "exit-code": "22", "backoff": "0.5"}
    await client.patch(Deployment, "neutron", namespace, annotated(crash))
    await standing.ask(customServiceConfig="[DEFAULT]\nrpc_workers = 0\n")
    await standing.told("Deployment/neutron-rpc goes once the pods of the others are those of the change")
    await standing.told("Deployment neutron serves with 1 of 1 pods, and a new one is not ready yet", "DeploymentReady")
    assert set(await deployed(standing)) == PROGRAMS

    await client.patch(Deployment, "neutron", namespace, annotated(dict.fromkeys(crash)))
    await standing.up()
    assert set(await deployed(standing)) == PROGRAMS - {"neutron-rpc"}


async def test_agents_outside_get_addresses_once_they_can_reach_them(standing: Place) -> None:
    client, namespace = standing.client, standing.namespace
    await standing.ask()
    ready = await standing.up()
    closed = external(ready)
    assert (closed.status, closed.reason) == ("True", "NotReachable")
    assert "OVNDBCluster ovndbcluster-sb has no address outside of the cluster" in closed.message
    assert await exported(standing) == set()
    before = await deployed(standing)
    await neighbours.network_databases(client, namespace, outside="192.0.2.7")
    broker = await standing.put(RabbitMq, "rabbitmq", spec={})
    await neighbours.tell(client, broker, {"outsideAddress": "192.0.2.7:30672"})

    def reached(seen: Any) -> bool:
        return is_ready(seen) and set(seen.status.hash) >= AGENTS and external(seen).reason != "NotReachable"

    await eventually(client, standing.case.kind, "neutron", namespace, reached)
    assert await exported(standing) == AGENTS
    texts = await standing.decoded(METADATA)
    assert texts == {"10-neutron-metadata.conf": "[ovn]\novn_sb_connection = tcp:192.0.2.7:6642\n"}
    sriov = await standing.decoded("neutron-sriov-agent-neutron-config")
    assert "@192.0.2.7:30672/" in sriov["10-neutron-sriov.conf"]
    # Agents outside are no reason to restart anything here.
    after = await deployed(standing)
    assert {name: one.metadata.generation for name, one in after.items()} == {
        name: one.metadata.generation for name, one in before.items()
    }

"""What a hand writes into a status is put right, and nothing rolls because of it: on a real API server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stackwright.api.dataplane import OpenStackDataPlaneRole
from stackwright.api.network import DNSData, IPSet, NetConfig
from stackwright.controllers import roster
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.service import Environment
from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.kube.resource import CustomResource
from stackwright.kube.runtime import Runtime
from stackwright.kube.shapes import exchange
from stackwright.services.neutron.kinds import OVNMetadataAgent
from stackwright.services.nova.kinds.external_compute import NovaExternalCompute
from tests.functional import hands
from tests.functional.dataplane.serving import serving
from tests.functional.definitions import defined
from tests.functional.net_configs import BOTH, CTLPLANE, INTERNAL
from tests.functional.running import quiet, running
from tests.functional.services.rows import rows
from tests.functional.whole_cloud import World, ask_for_cloud, place, until_ready

# The umbrella, Keystone, and what that needs: a server, a schema, an account, a cache.
KINDS = {"OpenStackControlPlane", "KeystoneAPI", "Galera", "Memcached", "MariaDBDatabase", "MariaDBAccount"}


# A machine with services on it, and with addresses in networks.
OF_MACHINES = {
    "OpenStackDataPlaneRole",
    "OpenStackDataPlaneNode",
    "OpenStackAnsibleEE",
    "NovaExternalCompute",
    "OVNMetadataAgent",
    "NetConfig",
    "IPSet",
    "DNSData",
}


# Each has a test of its own, with what it stands for.
ELSEWHERE = {"OpenStackDataPlane", "KeystoneService", "KeystoneEndpoint", "TransportURL"}


async def test_every_kind_with_a_keeper_is_tried() -> None:
    async with Client(Connection("https://nowhere.invalid")) as client:
        controllers = roster.assemble(Dialler(client, inside=True), Environment(images={}, charts=Path()))
    of_services = {kind.kind.name for row in rows() for kind in row.kinds}
    kinds = {each.kind.kind.name for each in controllers if each.reports and issubclass(each.kind, CustomResource)}
    assert kinds <= of_services | KINDS | OF_MACHINES | ELSEWHERE


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a hand be faster than any."""
    monkeypatch.setattr(exchange, "TURNS", 1000)


async def try_all(client: Client, namespace: str, runtime: Runtime) -> set[str]:
    """Write all fields of all statuses that a runtime keeps, and return the kinds of which there is one."""
    tried = set()
    for kind in kept(runtime):
        for resource in await client.list(kind, namespace):
            await hands.try_everything(client, resource)
            tried.add(kind.kind.name)
    await quiet(runtime)
    return tried


def kept(runtime: Runtime) -> Iterator[type[CustomResource]]:
    """Yield the kinds whose statuses a runtime keeps."""
    for workers in runtime.workers:
        if workers.controller.reports and issubclass(workers.controller.kind, CustomResource):
            yield workers.controller.kind


@pytest.mark.long
async def test_what_a_hand_writes_into_the_statuses_of_a_cloud_comes_to_nothing(
    client: Client, kubernetes: dict[str, Path]
) -> None:
    await defined(client)
    async with place(client, "meddling") as namespace:
        runtime = Runtime(client, World(kubernetes).controllers(client, 1), namespace=namespace)
        async with running(runtime):
            await ask_for_cloud(client, namespace)
            await until_ready(client, namespace)
            await quiet(runtime)
            before = await hands.rollouts(client, namespace)
            assert await try_all(client, namespace, runtime) == KINDS
            assert await hands.rollouts(client, namespace) == before


@pytest.mark.usefixtures("kinds")
async def test_what_a_hand_writes_into_the_statuses_of_machines_runs_nothing(client: Client, namespace: str) -> None:
    async with serving(client, namespace) as here, here.operator():
        await here.put(NetConfig, "netconfig", spec={"networks": [CTLPLANE, INTERNAL]})
        await here.put(IPSet, "spare", spec={"networks": BOTH})
        await here.put(DNSData, "names", spec={"hosts": [{"ip": "192.0.2.30", "hostnames": ["spare"]}]})
        here.up("one")
        await here.cell()
        await here.compute_nodes("one")
        await here.ready(NetConfig, "netconfig")
        await here.ready(IPSet, "spare")
        await here.ready(DNSData, "names")
        await here.ready(NovaExternalCompute, "one")
        await here.ready(OVNMetadataAgent, "one")
        role = await here.ready(OpenStackDataPlaneRole, "compute")
        await here.worked_through(role)
        assert here.runtime is not None
        runs = dict(here.machines.seen)
        assert await try_all(client, namespace, here.runtime) == OF_MACHINES
        assert here.machines.seen == runs

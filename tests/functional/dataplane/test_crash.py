"""An operator that is killed after any of its writes: another one goes on, and no run is lost or repeated."""

import asyncio

import pytest

from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.kube.runtime import Runtime
from tests.functional.conftest import fresh_namespace
from tests.functional.dataplane.machines import SERVICES, Plane, plane
from tests.functional.dying import EVERY_POINT
from tests.functional.mortal import Mortal
from tests.functional.running import running
from tests.functional.watching import PATIENCE

NODES = ("one", "two")
# How many writes are left out between two deaths; with STACKWRIGHT_EVERYTHING none is.
STRIDE = 1 if EVERY_POINT else 9

pytestmark = pytest.mark.usefixtures("kinds")


async def deployed(here: Plane) -> None:
    for name in NODES:
        await here.ready(OpenStackDataPlaneNode, name)


async def killed_after(connection: Connection, here: Plane, writes: int) -> Mortal:
    """Run an operator until its nth write, or until all is deployed."""
    async with Client(connection) as own:
        mortal = Mortal(own, writes)
        async with running(Runtime(own, here.controllers(), namespace=here.namespace)):
            ended, died = asyncio.ensure_future(deployed(here)), asyncio.create_task(mortal.dead.wait())
            await asyncio.wait({ended, died}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
            for task in (ended, died):
                task.cancel()
            await asyncio.gather(ended, died, return_exceptions=True)
        return mortal


async def test_no_run_is_lost_or_repeated(client: Client, connection: Connection) -> None:
    deaths, writes, killed = 0, 1, True
    while killed:
        namespace = await fresh_namespace(client, f"nodes-killed-{writes}")
        async with plane(client, namespace) as here:
            await here.role()
            for name in NODES:
                await here.node(name)
            mortal = await killed_after(connection, here, writes)
            killed = mortal.dead.is_set()
            async with here.operator():
                await deployed(here)
            for service in ("reach", *SERVICES):
                hosts = [host for run in here.machines.runs_of(service) for host in run]
                assert sorted(hosts) == sorted(NODES), f"killed after {writes} writes, before {mortal.cut}: {service}"
        deaths += killed
        writes += STRIDE
    assert deaths > 2

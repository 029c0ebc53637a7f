"""An operator that is killed after any of its writes: another one goes on, and no run is lost or repeated.

Nodes are prepared (phase 0) and become computes (phase 1). The pods of their runs are played, and live on when the
operator dies.
"""

import asyncio

import pytest

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.kube.runtime import Runtime
from tests.functional.conftest import fresh_namespace
from tests.functional.dataplane.computes import NODES, RUNS, ask, deployed, watched
from tests.functional.dataplane.serving import Serving, serving
from tests.functional.dying import EVERY_POINT
from tests.functional.mortal import Mortal
from tests.functional.running import running
from tests.functional.watching import PATIENCE

# How many writes are left out between two deaths; with STACKWRIGHT_EVERYTHING none is.
STRIDE = 1 if EVERY_POINT else 29
# How many deaths there are at least, if there is one for each write.
DEATHS = 20

pytestmark = pytest.mark.usefixtures("kinds")


async def killed_after(connection: Connection, here: Serving, writes: int) -> Mortal:
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
    cut: list[str] = []
    writes, killed = 1, True
    while killed:
        namespace = await fresh_namespace(client, f"nodes-killed-{writes}")
        async with serving(client, namespace) as here, watched(client, namespace) as man:
            await ask(here)
            mortal = await killed_after(connection, here, writes)
            killed = mortal.dead.is_set()
            async with here.operator():
                await deployed(here)
            where = f"killed after {writes} writes, before {mortal.cut}"
            for word in RUNS:
                hosts = [host for run in here.machines.runs_of(word) for host in run]
                assert sorted(hosts) == sorted(NODES), f"{where}: {word}"
            assert man.together == [], where
            assert {run: len(pods) for run, pods in man.pods.items() if len(pods) > 1} == {}, where
            assert set(man.pods) == set(here.machines.seen), where
            assert all(run.finished for run in await client.list(OpenStackAnsibleEE, namespace)), where
        cut += [mortal.cut] if killed else []
        writes += STRIDE
    assert len(cut) > (DEATHS if EVERY_POINT else 2), cut
    if EVERY_POINT:
        assert {"POST Job", "PATCH OpenStackAnsibleEE", "PATCH NovaExternalCompute"} <= set(cut), set(cut)

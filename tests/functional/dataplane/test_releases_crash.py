"""An operator that is killed while a run gives nodes free: another one goes on, and nothing is done twice or lost."""

import asyncio

import pytest

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.kube.runtime import Runtime
from tests.functional.conftest import fresh_namespace
from tests.functional.dataplane.computes import watched
from tests.functional.dataplane.machines import Plane, plane
from tests.functional.mortal import Mortal
from tests.functional.running import running
from tests.functional.watching import PATIENCE

# How many deaths there are at least.
DEATHS = 25
QUICK, SLOW = ("one", "two"), "three"

# Nodes share a run only if they are seen together, and a run without the node that hangs never ends here. A machine
# with much else to do does not always manage that, and all points take five minutes, so this is not for each push:
# conftest.py leaves the module out without STACKWRIGHT_EVERYTHING.
pytestmark = pytest.mark.usefixtures("kinds")


async def deployed(here: Plane) -> None:
    for name in QUICK:
        await here.ready(OpenStackDataPlaneNode, name)


async def killed_after(connection: Connection, here: Plane, writes: int) -> Mortal:
    """Run an operator until its nth write, or until the nodes that do not hang are deployed."""
    async with Client(connection) as own:
        mortal = Mortal(own, writes)
        async with running(Runtime(own, here.controllers(), namespace=here.namespace)):
            ended, died = asyncio.ensure_future(deployed(here)), asyncio.create_task(mortal.dead.wait())
            await asyncio.wait({ended, died}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
            for task in (ended, died):
                task.cancel()
            await asyncio.gather(ended, died, return_exceptions=True)
        return mortal


async def play(client: Client, connection: Connection, writes: int) -> Mortal:
    """Prepare three nodes, one of which hangs, with an operator that is killed, and then with another one."""
    namespace = await fresh_namespace(client, f"releases-killed-{writes}")
    async with plane(client, namespace) as here, watched(client, namespace) as man:
        here.hold("prepare")
        here.machines.hanging = {SLOW}
        for name in (*QUICK, SLOW):
            await here.node(name)
        await here.role()
        mortal = await killed_after(connection, here, writes)
        async with here.operator():
            await deployed(here)
        where = f"killed after {writes} writes, before {mortal.cut}"
        for word, nodes in (("reach", (*QUICK, SLOW)), ("prepare", (*QUICK, SLOW)), ("harden", QUICK)):
            hosts = [host for run in here.machines.runs_of(word) for host in run]
            assert sorted(hosts) == sorted(nodes), f"{where}: {word}"
        assert {run: len(pods) for run, pods in man.pods.items() if len(pods) > 1} == {}, where
        going = [run for run in await client.list(OpenStackAnsibleEE, namespace) if not run.finished]
        assert [run.spec.service for run in going] == ["prepare"], where
        assert set(going[0].status.released) == set(QUICK), where
        # Nobody works on the machine that hangs, other than the run that does.
        assert not [each for each in man.together if "prepare" not in each], where
        here.machines.hanging = set()
        here.release()
    return mortal


async def test_an_operator_that_is_killed_gives_no_node_free_twice(client: Client, connection: Connection) -> None:
    writes, cut = 1, list[str]()
    while (mortal := await play(client, connection, writes)).dead.is_set():
        cut.append(mortal.cut)
        writes += 1
    assert len(cut) > DEATHS, cut
    # The first of them seals the Job, the second gives nodes free.
    assert {"PATCH Job", "PATCH OpenStackAnsibleEE", "PATCH OpenStackDataPlaneNode"} <= set(cut), cut

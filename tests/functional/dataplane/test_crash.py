"""An operator that is killed after any of its writes: another one goes on, and no run is lost or repeated.

Nodes are prepared (phase 0) and become computes (phase 1). The pods of their runs are played, and live on when the
operator dies.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.controllers.dataplane.run_job import NODES_ANNOTATION, RUN_LABEL
from stackwright.controllers.dataplane.run_logs import has_started
from stackwright.kube.builtin import Pod
from stackwright.kube.client import Client
from stackwright.kube.config import Connection
from stackwright.kube.runtime import Runtime
from stackwright.services.neutron.kinds import OVNMetadataAgent
from stackwright.services.nova.kinds.external_compute import NovaExternalCompute
from stackwright.simulator import Behaviour, Script, Selector
from tests.functional.conftest import fresh_namespace
from tests.functional.dataplane.machines import SERVICES
from tests.functional.dataplane.serving import Serving, serving
from tests.functional.dying import EVERY_POINT
from tests.functional.mortal import Mortal
from tests.functional.running import running
from tests.functional.watching import PATIENCE

NODES = ("one", "two")
# The first words of the names of runs: the way to the machine, the services of the role, and those of operators.
RUNS = ("reach", *SERVICES, "nova", "ovn")
# How many writes are left out between two deaths; with STACKWRIGHT_EVERYTHING none is.
STRIDE = 1 if EVERY_POINT else 29
# How many deaths there are at least, if there is one for each write.
DEATHS = 20

pytestmark = pytest.mark.usefixtures("kinds")


@dataclass
class Watchman:
    """Sees which pods work on which nodes, from the first to the last."""

    working: dict[str, Pod] = field(default_factory=dict)
    pods: dict[str, set[str]] = field(default_factory=dict)
    together: list[str] = field(default_factory=list)

    def see(self, pod: Pod, *, gone: bool) -> None:
        """Note what a pod does now, and who else works on its nodes."""
        run, uid = pod.metadata.labels.get(RUN_LABEL, ""), pod.metadata.uid
        self.working.pop(uid, None)
        if gone or not run or not has_started(pod) or pod.status.get("phase") in ("Succeeded", "Failed"):
            return
        nodes = nodes_of(pod)
        self.together += [
            f"{run} and {other.metadata.name}" for other in self.working.values() if nodes & nodes_of(other)
        ]
        self.working[uid] = pod
        self.pods.setdefault(run, set()).add(uid)


def nodes_of(pod: Pod) -> set[str]:
    return set(pod.metadata.annotations[NODES_ANNOTATION].split(","))


@contextlib.asynccontextmanager
async def watched(client: Client, namespace: str) -> AsyncIterator[Watchman]:
    """Watch the pods of a namespace."""
    man = Watchman()

    async def watch() -> None:
        async with contextlib.aclosing(client.watch(Pod, namespace, initial=True)) as events:
            async for event in events:
                if event.type in {"ADDED", "MODIFIED", "DELETED"}:
                    man.see(event.object, gone=event.type == "DELETED")

    task = asyncio.create_task(watch())
    try:
        yield man
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def deployed(here: Serving) -> None:
    for name in NODES:
        await here.ready(OpenStackDataPlaneNode, name)
        await here.ready(NovaExternalCompute, name)
        await here.ready(OVNMetadataAgent, name)


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


async def ask(here: Serving) -> None:
    """Ask for two computes, whose runs take a moment."""
    here.play.perform(Script((Behaviour(Selector(), runs_for=0.3),)))
    here.up(*NODES)
    await here.cell()
    await here.role()
    await here.annotate(OpenStackDataPlaneRole, "compute", cell="nova-cell1")
    for name in NODES:
        await here.node(name)


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

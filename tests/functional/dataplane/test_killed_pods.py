"""The pod of a run that is killed at any moment: another one goes on, alone on its machines, and no run is lost.

What a killed pod left on the machine itself is for the execution image: tests/unit/local/test_marked_ssh.py.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.controllers.dataplane.run_job import RUN_LABEL
from stackwright.kube.builtin import Pod
from stackwright.kube.client import Client
from tests.functional.conftest import fresh_namespace
from tests.functional.dataplane.computes import NODES, RUNS, ask, deployed, looking_at_pods, watched
from tests.functional.dataplane.serving import serving
from tests.functional.dying import EVERY_POINT

# How many changes of pods are left out between two points; with STACKWRIGHT_EVERYTHING none is.
STRIDE = 1 if EVERY_POINT else 8
# At how many points a pod is killed at least, if it is at each.
POINTS = 20
# How many scenes are played at once: Kubernetes waits ten seconds before it replaces a pod.
AT_ONCE = 4

pytestmark = pytest.mark.usefixtures("kinds")


@dataclass
class Killer:
    """Kills the pod of a run at its nth change, counted over all pods. `killed` says which, and how it was."""

    point: int
    seen: int = 0
    killed: str = ""

    async def see(self, client: Client, pod: Pod) -> None:
        """Note a change of a pod, and kill it if that was the one."""
        if RUN_LABEL not in pod.metadata.labels or pod.deleting:
            return
        self.seen += 1
        if self.seen != self.point:
            return
        self.killed = f"{pod.metadata.name}, {pod.status.get('phase')}"
        await client.delete(Pod, pod.metadata.name, pod.metadata.namespace, uid=pod.metadata.uid)


@contextlib.asynccontextmanager
async def killing(client: Client, namespace: str, point: int) -> AsyncIterator[Killer]:
    """Have one pod of a namespace killed."""
    killer = Killer(point)

    async def see(pod: Pod, gone: bool) -> None:
        if not gone:
            await killer.see(client, pod)

    async with looking_at_pods(client, namespace, see):
        yield killer


async def play(client: Client, point: int) -> str:
    """Deploy two computes while a pod is killed; return which, or "" if there were not so many changes."""
    namespace = await fresh_namespace(client, f"pods-killed-{point}")
    async with serving(client, namespace) as here, watched(client, namespace) as man:
        async with killing(client, namespace, point) as killer, here.operator():
            await ask(here)
            await deployed(here)
        where = f"killed at change {point}: {killer.killed}"
        for word in RUNS:
            hosts = {host for run in here.machines.runs_of(word) for host in run}
            assert hosts == set(NODES), f"{where}: {word}"
        assert man.together == [], where
        # One pod was killed, so one run may have had another one.
        assert sum(len(pods) - 1 for pods in man.pods.values()) <= 1, where
        assert all(run.finished for run in await client.list(OpenStackAnsibleEE, namespace)), where
    return killer.killed


async def test_a_run_whose_pod_is_killed_goes_on_alone(client: Client) -> None:
    killed: list[str] = []
    point, ended = 1, False
    while not ended:
        points = range(point, point + AT_ONCE * STRIDE, STRIDE)
        found = await asyncio.gather(*(play(client, each) for each in points))
        killed += filter(None, found)
        ended = "" in found
        point += AT_ONCE * STRIDE
    assert len(killed) > (POINTS if EVERY_POINT else 1), killed
    if EVERY_POINT:
        assert {each.split()[-1] for each in killed} >= {"Pending", "Running", "Succeeded"}, killed

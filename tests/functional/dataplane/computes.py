"""Two machines that become computes, and somebody who sees which pods work on them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.controllers.dataplane.run_job import NODES_ANNOTATION, RUN_LABEL
from stackwright.controllers.dataplane.run_logs import has_started
from stackwright.kube.builtin import Pod
from stackwright.kube.client import Client
from stackwright.services.neutron.kinds import OVNMetadataAgent
from stackwright.services.nova.kinds.external_compute import NovaExternalCompute
from stackwright.simulator import Behaviour, Script, Selector
from tests.functional.dataplane.machines import SERVICES
from tests.functional.dataplane.serving import Serving

NODES = ("one", "two")
# The first words of the names of runs: the way to the machine, the services of the role, and those of operators.
RUNS = ("reach", *SERVICES, "nova", "ovn")


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
async def looking_at_pods(
    client: Client, namespace: str, see: Callable[[Pod, bool], Awaitable[None]]
) -> AsyncIterator[None]:
    """Have each change of a pod of a namespace seen, and whether the pod is gone."""

    async def watch() -> None:
        async with contextlib.aclosing(client.watch(Pod, namespace, initial=True)) as events:
            async for event in events:
                if event.type in {"ADDED", "MODIFIED", "DELETED"}:
                    await see(event.object, event.type == "DELETED")

    task = asyncio.create_task(watch())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@contextlib.asynccontextmanager
async def watched(client: Client, namespace: str) -> AsyncIterator[Watchman]:
    """Watch the pods of a namespace."""
    man = Watchman()

    async def see(pod: Pod, gone: bool) -> None:
        man.see(pod, gone=gone)

    async with looking_at_pods(client, namespace, see):
        yield man


async def deployed(here: Serving) -> None:
    for name in NODES:
        await here.ready(OpenStackDataPlaneNode, name)
        await here.ready(NovaExternalCompute, name)
        await here.ready(OVNMetadataAgent, name)


async def ask(here: Serving) -> None:
    """Ask for two computes, whose runs take a moment."""
    here.play.perform(Script((Behaviour(Selector(), runs_for=0.3),)))
    here.up(*NODES)
    await here.cell()
    await here.role()
    await here.annotate(OpenStackDataPlaneRole, "compute", cell="nova-cell1")
    for name in NODES:
        await here.node(name)

"""Waits for a cluster that has been started until it can be used, and brings in what every cluster has."""

import asyncio
import contextlib
import time
from collections.abc import Callable

from stackwright import tasks
from stackwright.kube import config
from stackwright.kube.builtin import Deployment, Node, Plain
from stackwright.kube.client import Client
from stackwright.kube.errors import KubeError
from stackwright.local.cluster import addons, images, processes
from stackwright.local.cluster.layout import Layout, ProcessKey, ProgramState, Settings, State
from stackwright.local.errors import ClusterFailed
from stackwright.local.process import tail
from stackwright.local.progress import Progress, duration

# How long a cluster may take on a slow and busy machine, in seconds.
DEADLINE = 300.0
_ASKED = 0.05


def settle(place: Layout, settings: Settings, first: ProcessKey, progress: Progress) -> None:
    """Return when the cluster can be used; raise with what keeps it when that takes too long."""
    asyncio.run(_Settling(place, settings, first, progress).run())


class _Settling:
    """One wait for one cluster."""

    def __init__(self, place: Layout, settings: Settings, first: ProcessKey, progress: Progress) -> None:
        self._place = place
        self._settings = settings
        self._first = first
        self._progress = progress
        self._began = time.monotonic()
        self._waits_for = "Its first process has said nothing yet"

    async def run(self) -> None:
        """Go through the stages; each waits for what it needs, and says what that is."""
        try:
            async with asyncio.timeout(DEADLINE):
                await self._until("containerd")
                async with Client(config.load(self._place.kubeconfig), field_manager="stackwright-local") as client:
                    await tasks.together(
                        asyncio.to_thread(images.ensure, self._first.pid, self._settings.binaries),
                        self._prepare(client),
                    )
                    await self._serve(client)
        except TimeoutError:
            raise ClusterFailed(
                f"The cluster is not ready after {duration(DEADLINE)}. {self._waits_for}. It keeps trying; "
                f"`stackwright local status --name {self._settings.name}` says how it is."
            ) from None

    async def _prepare(self, client: Client) -> None:
        await self._until("kube-apiserver")
        await addons.apply(client, addons.ground())

    async def _serve(self, client: Client) -> None:
        await addons.apply(client, addons.names(self._settings))
        await self._until()
        node = self._settings.node
        await self._seen(client, Node, node.name, "", "Ready")
        await client.apply(Node, addons.roles(node))
        await self._seen(client, Deployment, addons.COREDNS, addons.NAMESPACE, "Available")

    async def _until(self, *names: str) -> None:
        """Wait until those programs are ready, or all."""
        told: dict[str, int] = {}
        while True:
            state = self._state()
            waiting = [one for one in state.programs if one.state != "ready" and (not names or one.name in names)]
            if state.programs and not waiting:
                return
            self._tell(waiting, told)
            # The supervisor reports through a file, and its changes cannot be watched across namespaces.
            await asyncio.sleep(_ASKED)

    def _state(self) -> State:
        if not processes.alive(self._first):
            log = self._place.log("supervisor")
            raise ClusterFailed(f"The node ended while it was starting. The end of {log}:\n{tail(log)}")
        return self._place.read_state() or State(self._first)

    def _tell(self, waiting: list[ProgramState], told: dict[str, int]) -> None:
        for one in waiting:
            if one.restarts > told.setdefault(one.name, one.restarts):
                told[one.name] = one.restarts
                self._progress.say(f"{one.name} ended and is started again. {one.trouble}")
        if waiting:
            self._waiting(" and ".join(f"{one.name} ({one.state})" for one in waiting))

    def _waiting(self, what: str) -> None:
        self._waits_for = f"It waits for: {what}"
        self._progress.update(f"Waiting for {what}, {duration(time.monotonic() - self._began)} so far")

    async def _seen(self, client: Client, kind: type[Plain], name: str, namespace: str, condition: str) -> None:
        """Wait until an object has a condition."""
        self._waiting(f"the {kind.kind.name} {name} to be {condition}")
        await await_condition(client, kind, name, namespace, condition, between=self._state)


async def await_condition(
    client: Client,
    kind: type[Plain],
    name: str,
    namespace: str,
    condition: str,
    *,
    between: Callable[[], object] = lambda: None,
) -> None:
    """Wait until an object has a condition; `between` is called now and then, and may raise an error."""
    while True:
        with contextlib.suppress(KubeError):
            events = client.watch(kind, namespace, fields=f"metadata.name={name}", initial=True, timeout=10)
            async with contextlib.aclosing(events):
                async for event in events:
                    if event.type in ("ADDED", "MODIFIED") and holds(event.object, condition):
                        return
        between()
        # A server that is away refuses at once.
        await asyncio.sleep(_ASKED)


def holds(found: Plain, condition: str) -> bool:
    """Return whether an object says that a condition is true, and says so of its latest spec."""
    conditions = found.status.get("conditions", [])
    current = found.status.get("observedGeneration", found.metadata.generation) >= found.metadata.generation
    return current and any(one["type"] == condition and one["status"] == "True" for one in conditions)

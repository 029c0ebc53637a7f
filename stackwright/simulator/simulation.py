"""Runs the simulator: in some namespaces of a cluster, for as long as a block of code, by a script."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterable

from stackwright import tasks
from stackwright.kube.client import Client
from stackwright.kube.clock import REAL, Clock
from stackwright.kube.resource import Key
from stackwright.kube.runtime import Runtime, Settings
from stackwright.simulator.behaviour import Script
from stackwright.simulator.controllers import controllers
from stackwright.simulator.node import SimulatedNode
from stackwright.simulator.node_keeper import Keeper
from stackwright.simulator.stage import House, Stage

ONE_NODE = (SimulatedNode(),)


class Simulation:
    """A simulator at work. Script and nodes may be exchanged at any time; faults that are not in the new one heal."""

    def __init__(
        self,
        client: Client,
        namespaces: Iterable[str],
        script: Script,
        *,
        nodes: Iterable[SimulatedNode] = ONE_NODE,
        clock: Clock = REAL,
    ) -> None:
        if not (names := tuple(dict.fromkeys(namespaces))) or "" in names:
            raise ValueError("name the namespaces to simulate in; the simulator never takes all of a cluster")
        self._client = client
        self._keeper = Keeper(nodes, clock)
        self._script = script
        house = House()
        self._stages = [Stage(namespace, house, script, clock) for namespace in names]
        settings = Settings(clock=clock, drain=5.0)
        self._runtimes = [Runtime(client, [self._keeper.controller()], settings=settings)]
        for stage in self._stages:
            runtime = Runtime(client, controllers(stage), namespace=stage.namespace, settings=settings)
            stage.open(runtime.informers)
            self._runtimes.append(runtime)

    @property
    def script(self) -> Script:
        """What is being played."""
        return self._script

    def perform(self, script: Script) -> None:
        """Play another script from now on; all pods and claims are looked at again."""
        self._script = script
        for stage in self._stages:
            stage.script = script
        for runtime in self._runtimes[1:]:
            for workers in runtime.workers:
                for resource in runtime.informers.store(workers.controller.kind).list():
                    workers.queue.add(resource.key)

    def set_nodes(self, nodes: Iterable[SimulatedNode]) -> None:
        """Have these nodes from now on: new ones come, changed ones change, and those that are not named go."""
        (keeper,) = self._runtimes[0].workers
        for name in self._keeper.exchange(nodes):
            keeper.queue.add(Key("", name))

    async def run(self) -> None:
        """Play until `stop`, or until cancelled."""
        await self._keeper.register(self._client)
        async with asyncio.TaskGroup() as group:
            for runtime in self._runtimes:
                group.create_task(runtime.run())

    async def started(self) -> None:
        """Wait until everything that was there before is seen."""
        for runtime in self._runtimes:
            await runtime.informers.synced()

    def stop(self) -> None:
        """Let `run` finish what is in hand and end; pods stay as they are."""
        for runtime in self._runtimes:
            runtime.stop()


@contextlib.asynccontextmanager
async def simulated(
    client: Client,
    namespaces: str | Iterable[str],
    script: Script | None = None,
    *,
    nodes: Iterable[SimulatedNode] = ONE_NODE,
    clock: Clock = REAL,
) -> AsyncGenerator[Simulation]:
    """Play in some namespaces for as long as the block runs."""
    names = (namespaces,) if isinstance(namespaces, str) else tuple(namespaces)
    simulation = Simulation(client, names, script or Script(), nodes=nodes, clock=clock)
    # Not a task group: what fails in the block shall leave it as it is, not wrapped in a group.
    running = tasks.start(simulation.run(), name="simulation")
    started = tasks.start(simulation.started())
    try:
        await asyncio.wait((running, started), return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            yield simulation
    finally:
        await tasks.end(started)
        simulation.stop()
        await running

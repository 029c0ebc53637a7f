"""Measures our Kubernetes runtime beside kopf and kubernetes_asyncio, on one real API server in one run."""

import argparse
import asyncio
import logging
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from benchmarks.parts import environment, report
from benchmarks.parts.measuring import Reading
from benchmarks.parts.report import Figure
from benchmarks.parts.running import Program, ProgramFailed, Running, measure
from benchmarks.runtime_parts import cluster, kinds
from benchmarks.runtime_parts.names import NAMESPACE_VARIABLE, SYNCED, THRIFTY_VARIABLE
from stackwright.kube import config
from stackwright.kube.builtin import Namespace
from stackwright.kube.client import Client
from stackwright.kube.crd import install
from stackwright.kube.errors import KubeError
from stackwright.local import binaries, programs
from stackwright.local.apiserver.server import ApiServer
from stackwright.local.errors import LocalError
from stackwright.local.progress import Progress, Shown

CHORES = 2_000
NODES = 10_000
CACHED = "cached"
MEGABYTE = 1e6

PARTS = "benchmarks.runtime_parts"
INTERRUPTED = 130


@dataclass
class Series:
    """What one program used, round by round."""

    readings: list[Reading] = field(default_factory=list)
    writes: list[float] = field(default_factory=list)

    def cpu_per_object(self) -> list[float]:
        """Milliseconds for each chore, without the imports."""
        return [reading.cpu * 1000 / CHORES for reading in self.readings]

    def cpu(self) -> list[float]:
        """Seconds, without the imports."""
        return [reading.cpu for reading in self.readings]

    def cpu_whole(self) -> list[float]:
        """Seconds, with everything."""
        return [reading.cpu_whole for reading in self.readings]

    def peak(self) -> list[float]:
        """Megabytes at most."""
        return [reading.peak / MEGABYTE for reading in self.readings]

    def growth(self) -> list[float]:
        """Megabytes more than before the work."""
        return [(reading.resident - reading.resident_before) / MEGABYTE for reading in self.readings]


class Benchmark:
    """One run: a server, a client of our own beside it, and the programs that are measured."""

    def __init__(self, server: ApiServer, client: Client, pythons: dict[str, Path], progress: Progress) -> None:
        self._server = server
        self._client = client
        self._pythons = pythons
        self._progress = progress
        self.controller, self.kopf = Series(), Series()
        self.informer, self.asyncio, self.thrifty = Series(), Series(), Series()

    async def run(self, rounds: int) -> None:
        """Measure everything, ours and theirs in turn."""
        await install.install(self._client, kinds.definitions())
        for number in range(1, rounds + 1):
            await self._reconcile("controller", self.controller, number)
            await self._reconcile("kopf_operator", self.kopf, number)
        await cluster.make(self._client, kinds.Node, CACHED, list(map(kinds.node, range(NODES))), self._progress)
        for number in range(1, rounds + 1):
            await self._cache("informer", self.informer, number)
            await self._cache("asyncio_cache", self.asyncio, number)
            await self._cache("asyncio_cache", self.thrifty, number, thrifty=True)

    async def _reconcile(self, module: str, series: Series, number: int) -> None:
        """Let an operator write the statuses of fresh chores, in a namespace of their own."""
        namespace = f"{module.replace('_', '-')}-{number}"
        title = f"Round {number}, {module}"
        await cluster.make(self._client, kinds.Chore, namespace, list(map(kinds.chore, range(CHORES))), self._progress)
        before = await cluster.count_writes(self._client)

        def tell(done: int) -> None:
            self._progress.update(f"{title}: {done:,} of {CHORES:,} statuses written")

        async def done(_: Running) -> None:
            await cluster.written(self._client, namespace, CHORES, tell)

        reading = await measure(self._program(module, namespace), self._log(module), done)
        series.readings.append(reading)
        series.writes.append((await cluster.count_writes(self._client) - before) / CHORES)
        self._progress.say(
            f"{title}: {reading.cpu * 1000 / CHORES:.2f} ms CPU per object, {reading.peak / MEGABYTE:.0f} MB at most, "
            f"{series.writes[-1]:g} writes per object"
        )
        # The server takes its time for this; the next round has a namespace of its own.
        await self._client.delete(Namespace, namespace)

    async def _cache(self, module: str, series: Series, number: int, *, thrifty: bool = False) -> None:
        """Let a client fill its cache with the nodes."""
        program = self._program(module, CACHED, {THRIFTY_VARIABLE: "yes"} if thrifty else {})
        reading = await measure(program, self._log(module), lambda child: child.heard(SYNCED))
        series.readings.append(reading)
        grown = (reading.resident - reading.resident_before) / MEGABYTE
        title = f"Round {number}, {module}{', thrifty' if thrifty else ''}"
        self._progress.say(f"{title}: {reading.cpu:.2f} s CPU, {grown:.0f} MB more than before")

    def _program(self, module: str, namespace: str, further: Mapping[str, str] | None = None) -> Program:
        variables = {"KUBECONFIG": str(self._server.kubeconfig), NAMESPACE_VARIABLE: namespace, **(further or {})}
        python = self._pythons.get(module, Path(sys.executable))
        return Program(python, f"{PARTS}.{module}", variables)

    def _log(self, module: str) -> Path:
        return self._server.layout.log(module)

    def figures(self) -> list[Figure]:
        """Return what was measured."""
        versions = environment.pins()
        kopf, library = f"kopf {versions['kopf']}", f"kubernetes_asyncio {versions['kubernetes_asyncio']}"
        ours, theirs = self.controller, self.kopf
        work = f"{CHORES:,} status writes"
        figures = [
            Figure(f"{work}: CPU per object", "ms", ours.cpu_per_object(), theirs.cpu_per_object(), kopf, 0.25),
            Figure(f"{work}: resident memory at most", "MB", ours.peak(), theirs.peak(), kopf, 0.25),
            Figure(f"{work}: writes per object", "requests", ours.writes, theirs.writes, kopf, 0.5),
            Figure(f"{work}: CPU with start and imports", "s", ours.cpu_whole(), theirs.cpu_whole(), kopf),
        ]
        mine, other = self.informer, self.asyncio
        work = f"{NODES:,} resources of 5 KB"
        thrifty = f"{library}, managedFields dropped"
        return [
            *figures,
            Figure(f"{work} cached: CPU", "s", mine.cpu(), other.cpu(), library, 0.5),
            Figure(f"{work} cached: growth of resident memory", "MB", mine.growth(), other.growth(), library, 0.5),
            Figure(f"{work} cached: resident memory at most", "MB", mine.peak(), other.peak(), library),
            Figure(f"{work} cached: CPU with start and imports", "s", mine.cpu_whole(), other.cpu_whole(), library),
            Figure(f"{work} cached: CPU", "s", mine.cpu(), self.thrifty.cpu(), thrifty),
            Figure(f"{work} cached: growth of resident memory", "MB", mine.growth(), self.thrifty.growth(), thrifty),
        ]


async def run(rounds: int, directory: Path, progress: Progress) -> list[Figure]:
    """Start a server, measure, and return the figures."""
    pythons = {
        "kopf_operator": environment.interpreter("kopf", progress),
        "asyncio_cache": environment.interpreter("kubernetes_asyncio", progress),
    }
    found = binaries.ensure(programs.API_SERVER, progress=progress)
    with ApiServer(directory, found) as server:
        async with Client(config.load(server.kubeconfig)) as client:
            benchmark = Benchmark(server, client, pythons, progress)
            await benchmark.run(rounds)
            return benchmark.figures()


def main() -> int:
    """Read the command line, measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often each program is measured (default: 5)")
    rounds = max(1, parser.parse_args().rounds)
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    try:
        with tempfile.TemporaryDirectory(prefix="stackwright-benchmark-") as directory, Shown() as progress:
            figures = asyncio.run(run(rounds, Path(directory), progress))
    except (KubeError, LocalError, ProgramFailed) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    return report.finish("runtime", f"Medians of {rounds} rounds, ours and the other in turn", figures)

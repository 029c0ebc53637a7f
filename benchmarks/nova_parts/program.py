"""Measures a Nova from apply to Ready: with cell0 and three cells, and with cell0 and ten.

There is one real API server. Workloads, and the resources of other operators, are ready one second after they appear.
The operator is a process of its own with Nova's controllers, new for each round, and webhooks are off. What it is
compared with is the Go operator of upstream, on such a machine: those figures are recorded, and not measured here.

What counts as a write is what the API server wrote down of the operator's account; leases and events are apart. The
processor time is that of the operator and of the helm that it runs, from apply to Ready.
"""

import argparse
import asyncio
import logging
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import structlog
from rich.table import Table

from benchmarks.keystone_parts import quiet
from benchmarks.keystone_parts.cluster import Cluster, Request
from benchmarks.nova_parts import operating
from benchmarks.nova_parts.operating import Usage
from benchmarks.nova_parts.playing import SECONDS, Stage
from benchmarks.parts import report
from benchmarks.parts.report import Figure
from benchmarks.parts.running import ProgramFailed
from stackwright import services
from stackwright.kube import conditions, config, pace
from stackwright.kube.builtin import Namespace
from stackwright.kube.client import Client
from stackwright.kube.crd import generate, install
from stackwright.kube.errors import KubeError
from stackwright.local import binaries, programs
from stackwright.local.apiserver.server import ApiServer, Options
from stackwright.local.errors import LocalError
from stackwright.services.nova.kinds.nova import Nova
from tests.functional import novas

FEW, MANY = 3, 10
DEADLINE = 120.0
# How long a Nova that is ready is watched: longer than a status is ever put off.
QUIET = pace.SILENCE + 2.0
READS = frozenset({"get", "list", "watch"})
# The audit log is kept in one piece: it is read by time.
FLAGS = {"kube-apiserver": ["--audit-log-maxsize=4000"]}
# What waits for one another whatever an operator does: databases and logins; the tables of cell0; the mapping of the
# cells; the API; its endpoints in the catalog.
CHAIN = 5


@dataclass(frozen=True)
class Recorded:
    """What upstream's operator took, and what was measured of it: with cell0 or without is not recorded."""

    seconds: float
    writes: int
    cpu: float
    peak: float
    rollouts: str


UPSTREAM = {FEW: Recorded(9.22, 296, 1.75, 76.0, "9"), MANY: Recorded(11.55, 722, 3.53, 83.0, "15 to 18")}
OF = "nova-operator, recorded"


@dataclass(frozen=True)
class Round:
    """What one Nova took."""

    seconds: float
    usage: Usage
    writes: list[Request]
    after: list[Request]
    rollouts: dict[str, int]


@dataclass
class Benchmark:
    """One run: a server, a client beside it, and the account of the operators that are measured."""

    cluster: Cluster
    client: Client
    found: dict[str, Path]
    directory: Path
    kubeconfig: Path
    rounds: dict[int, list[Round]] = field(default_factory=lambda: {FEW: [], MANY: []})

    async def measure(self, cells: int, number: int) -> None:
        """Measure one Nova, in a namespace and with an operator of its own."""
        namespace = f"cells-{cells}-{number}"
        await self.client.create(Namespace, {"metadata": {"name": namespace}})
        await novas.prepare(self.client, namespace)
        stage = Stage(self.client, namespace)
        log = self.directory / namespace
        log.mkdir()
        async with stage.played(), operating.operating(self.kubeconfig, namespace, self.found, log) as operator:
            before, began, at = operator.cpu(), time.monotonic(), datetime.now(UTC)
            await novas.ask(self.client, namespace, cells)
            await self._ready(namespace)
            took, usage, ready = time.monotonic() - began, operator.used_since(before), datetime.now(UTC)
            await asyncio.sleep(QUIET)
            after = self._written(ready, datetime.now(UTC))
            taken = Round(took, usage, self._written(at, ready), after, stage.rollouts)
        self.rounds[cells].append(taken)
        print(
            f"round {number}, {cells} cells: {taken.seconds:.2f} s, {len(taken.writes)} writes, {len(after)} after it, "
            f"{sum(taken.rollouts.values())} extra rollouts, {usage.cpu:.2f} CPU s ({usage.helm:.2f} of them helm's), "
            f"{usage.peak:.0f} MiB",
            flush=True,
        )

    async def _ready(self, namespace: str) -> None:
        try:
            async with asyncio.timeout(DEADLINE):
                async for event in self.client.watch(Nova, namespace, initial=True):
                    if event.type in {"ADDED", "MODIFIED"} and conditions.is_true(event.object.status.conditions):
                        return
        except TimeoutError:
            nova = await self.client.get(Nova, novas.NAME, namespace)
            said = "\n".join(f"  {entry.type} {entry.status}: {entry.message}" for entry in nova.status.conditions)
            raise ProgramFailed(f"Nova is not ready after {DEADLINE:.0f} s:\n{said}") from None

    def _written(self, since: datetime, until: datetime) -> list[Request]:
        return [request for request in self.cluster.written_down(since, until) if is_write(request)]

    def figures(self) -> list[Figure]:
        """Return what was measured beside what is recorded."""
        few, many = self.rounds[FEW], self.rounds[MANY]
        found = [*_beside(FEW, few), *_beside(MANY, many)]
        if few and many:
            ours, beside = ([taken.seconds for taken in some] for some in (many, few))
            found.append(Figure(f"{MANY} cells: apply to Ready", "s", ours, beside, f"ours with {FEW}", 1.1))
        return found


def is_write(request: Request) -> bool:
    """Return whether a request of the operator changed something: not a lease, and not an event. Pure."""
    changes = request.verb not in READS and request.resource != "events"
    return changes and quiet.is_loud(request, (operating.SYSTEM,))


def _beside(cells: int, rounds: list[Round]) -> list[Figure]:
    """Return the figures of one number of cells; the goals are those of three."""
    if not rounds:
        return []
    upstream, first = UPSTREAM[cells], cells == FEW

    def figure(name: str, unit: str, ours: Iterable[float], theirs: float, goal: float) -> Figure:
        return Figure(f"{cells} cells: {name}", unit, list(ours), [theirs], OF, goal if first else None)

    writes = figure("writes", "requests", (len(taken.writes) for taken in rounds), upstream.writes, 0.45)
    return [
        figure("apply to Ready", "s", (taken.seconds for taken in rounds), upstream.seconds, 0.6),
        writes,
        figure("CPU", "s", (taken.usage.cpu for taken in rounds), upstream.cpu, 1.0),
        figure("memory at most", "MiB", (taken.usage.peak for taken in rounds), upstream.peak, 1.5),
    ]


def by_kind(requests: Iterable[Request]) -> Table:
    """Return how often what was written, by verb and kind. Pure."""
    counted = Counter((request.verb, request.resource) for request in requests)
    made = Table(title=f"{counted.total()} writes", title_justify="left")
    made.add_column("times", justify="right")
    made.add_column("verb")
    made.add_column("resource")
    for (verb, resource), count in counted.most_common():
        made.add_row(str(count), verb, resource)
    return made


def show(benchmark: Benchmark, *, names: bool) -> bool:
    """Print what the table of figures does not have; return whether nothing rolled twice or was written too late."""
    console, held = report.wide_console(), True
    for cells, rounds in benchmark.rounds.items():
        if not rounds:
            continue
        last = rounds[-1]
        console.print(f"{cells} cells, the last round:", by_kind(last.writes))
        if names:
            console.print(quiet.table(last.writes))
        rolled = Counter[str]()
        for taken in rounds:
            rolled.update(taken.rollouts)
        print(f"rolled more than once in {len(rounds)} rounds (upstream: {UPSTREAM[cells].rollouts} a round):", end=" ")
        print(", ".join(f"{name} {count} times" for name, count in rolled.items()) or "nothing")
        late = Counter(str(request) for taken in rounds for request in taken.after)
        print(f"written within {QUIET:.0f} s after Ready:", end=" ")
        print(", ".join(f"{what} {count} times" for what, count in late.items()) or "nothing", flush=True)
        held = held and not rolled and not late
    print(
        f"what has to wait for one another takes {CHAIN * SECONDS:.0f} s at {SECONDS:g} s each: no operator is quicker"
    )
    return held


async def run(sizes: Iterable[int], rounds: int, directory: Path) -> Benchmark:
    """Start a server, and measure."""
    found = binaries.ensure(programs.ALL)
    with ApiServer(directory / "server", found, Options(audit=True, flags=FLAGS)) as server:
        cluster = Cluster(found["kubectl"], server.kubeconfig, server.audit_log)
        async with Client(config.load(server.kubeconfig)) as client:
            await install.install(client, [generate.manifest(kind) for kind in services.kinds()])
            kubeconfig = operating.make_account(cluster, directory)
            # Everything is played here; what Kubernetes' controllers do would be in the way.
            server.stop("kube-controller-manager")
            benchmark = Benchmark(cluster, client, found, directory, kubeconfig)
            for number in range(1, rounds + 1):
                for cells in sizes:
                    await benchmark.measure(cells, number)
            return benchmark


def main() -> int:
    """Read the command line, measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured (default: 5)")
    parser.add_argument("--cells", type=int, choices=(FEW, MANY), help="measure only this many cells")
    parser.add_argument("--names", action="store_true", help="print each object that was written, and how often")
    asked = parser.parse_args()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    sizes = (FEW, MANY) if asked.cells is None else (asked.cells,)
    try:
        with tempfile.TemporaryDirectory(prefix="stackwright-benchmark-") as directory:
            benchmark = asyncio.run(run(sizes, max(1, asked.rounds), Path(directory)))
    except (KubeError, LocalError, ProgramFailed) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    held = show(benchmark, names=asked.names)
    missed = report.finish("nova", f"Nova, medians of {asked.rounds} rounds", benchmark.figures())
    return missed if held else 1

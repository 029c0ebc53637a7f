"""Measures a data plane: 100 and 1,000 nodes from apply to Ready, and one changed value of nova.conf on 100 computes.

There is one real API server, which the controllers ask as they ask any other. Runs of Ansible are played: each succeeds
one second after its Job appears, on all its nodes. That stands in for SSH. The controllers are a process of their own,
new for each round. What counts as a write is what the API server wrote down of their account; events are apart.

Upstream runs all services of a node for any change. How many tasks that are is an estimate, made by reading its roles.
Ours are counted in the same way, in the playbook that runs; that it alone runs, and on which nodes, is measured.

The real Ansible is timed apart: 20 hosts, without SSH.
"""

import argparse
import asyncio
import contextlib
import logging
import math
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog

from benchmarks.dataplane_parts import real_runs, tasks
from benchmarks.dataplane_parts.operating import operating
from benchmarks.dataplane_parts.playing import SECONDS, Machines
from benchmarks.keystone_parts.cluster import Cluster, Request
from benchmarks.nova_parts import operating as nova_operating
from benchmarks.nova_parts.operating import Operator, Usage
from benchmarks.nova_parts.program import FLAGS, by_kind, is_write
from benchmarks.parts import report
from benchmarks.parts.report import Figure
from benchmarks.parts.running import ProgramFailed
from stackwright import services
from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.kube import conditions, config
from stackwright.kube.builtin import Namespace, Secret, ServiceAccount
from stackwright.kube.client import Client
from stackwright.kube.crd import generate, install
from stackwright.kube.errors import KubeError
from stackwright.local import binaries, programs
from stackwright.local.apiserver.server import ApiServer, Options
from stackwright.local.errors import LocalError
from stackwright.local.progress import Shown
from stackwright.services.nova.kinds.external_compute import NovaExternalCompute
from tests.fakes.running import fake
from tests.functional.dataplane.machines import KEY
from tests.functional.dataplane.serving import CELL, PASSWORD, Serving, apis
from tests.functional.fake_kubelet import Kubelet, kubelet

FEW, MANY, COMPUTES = 100, 1000, 100
DEADLINE = 1200.0
# How many nodes a user writes at once.
AT_ONCE = 16
ROLE = "compute"
# Services of phase 0 that our collection brings: those of a role that says nothing else.
OF_COLLECTION = "stackwright.edpm.nova"
# Static tasks behind upstream's default list of 16 services, by reading its roles: an estimate.
UPSTREAM_TASKS = 700
EXPONENT = 1.1


@dataclass(frozen=True)
class Round:
    """What one data plane took."""

    seconds: float
    usage: Usage
    writes: list[Request]
    runs: int


@dataclass(frozen=True)
class Change:
    """What one changed value took on all computes."""

    seconds: float
    writes: int
    host_runs: int
    """On how many nodes a run worked, each run counted."""
    services: tuple[str, ...]
    tasks: int


class Scene(Serving):
    """A namespace with machines, and with a control plane that is played."""


@dataclass
class Benchmark:
    """One run: a server, a client beside it, and the account of the controllers that are measured."""

    cluster: Cluster
    client: Client
    directory: Path
    kubeconfig: Path
    kubelet: Kubelet
    rounds: dict[int, list[Round]] = field(default_factory=lambda: {FEW: [], MANY: []})
    changes: list[Change] = field(default_factory=list)
    real: list[float] = field(default_factory=list)

    @contextlib.asynccontextmanager
    async def scene(self, namespace: str) -> AsyncIterator[tuple[Machines, Operator]]:
        """Have a namespace with an SSH key, in which runs are played and the controllers work."""
        await self.client.create(Namespace, {"metadata": {"name": namespace}})
        # Kubernetes' own controllers would make it.
        await self.client.create(ServiceAccount, {"metadata": {"name": "default", "namespace": namespace}})
        key = {"metadata": {"name": "ssh-key", "namespace": namespace}, "stringData": {"ssh-privatekey": KEY}}
        await self.client.apply(Secret, key, field_manager="user")
        machines = Machines(self.client, namespace, self.kubelet)
        log = self.directory / f"{namespace}.log"
        async with machines.played(), operating(self.kubeconfig, namespace, log) as operator:
            yield machines, operator

    async def measure(self, nodes: int, number: int) -> None:
        """Measure one data plane, in a namespace and with controllers of its own."""
        namespace = f"nodes-{nodes}-{number}"
        async with self.scene(namespace) as (machines, operator):
            before, began, at = operator.cpu(), time.monotonic(), datetime.now(UTC)
            await self.ask(namespace, nodes)
            await self.all_ready(OpenStackDataPlaneNode, namespace, nodes)
            await self.all_ready(OpenStackDataPlaneRole, namespace, 1)
            took, usage, ready = time.monotonic() - began, operator.used_since(before), datetime.now(UTC)
            taken = Round(took, usage, self._written(at, ready), len(machines.runs))
        self.rounds[nodes].append(taken)
        print(
            f"round {number}, {nodes} nodes: {took:.1f} s, {len(taken.writes) / nodes:.1f} writes a node, "
            f"{taken.runs} runs, {usage.cpu:.1f} CPU s, {usage.peak:.0f} MiB",
            flush=True,
        )

    async def ask(self, namespace: str, nodes: int, **annotations: str) -> None:
        """Write a role and its nodes, as a user does."""
        where = {"namespace": namespace}
        spec = {"nodeTemplate": {"ansibleSSHPrivateKeySecret": "ssh-key"}}
        role = {"metadata": {**where, "name": ROLE, "annotations": annotations}, "spec": spec}
        await self.client.apply(OpenStackDataPlaneRole, role, field_manager="user")
        gate = asyncio.Semaphore(AT_ONCE)

        async def write(number: int) -> None:
            async with gate:
                address = f"10.{number // 65536}.{number // 256 % 256}.{number % 256}"
                node = {
                    "metadata": {**where, "name": f"node-{number:04}"},
                    "spec": {"role": ROLE, "ansibleHost": address, "node": {"ansibleVars": {"rack": number // 40}}},
                }
                await self.client.apply(OpenStackDataPlaneNode, node, field_manager="user")

        async with asyncio.TaskGroup() as group:
            for number in range(nodes):
                group.create_task(write(number))

    async def all_ready(
        self, kind: type[Any], namespace: str, count: int, holds: Callable[[Any], bool] = lambda _: True
    ) -> None:
        """Wait until so many resources of a kind are ready, as they are now."""
        ready: set[str] = set()
        said = ""
        try:
            async with asyncio.timeout(DEADLINE):
                async for event in self.client.watch(kind, namespace, initial=True, timeout=DEADLINE):
                    if event.type not in {"ADDED", "MODIFIED"}:
                        continue
                    metadata, status = event.object.metadata, event.object.status
                    current = status.observedGeneration >= metadata.generation
                    if current and conditions.is_true(status.conditions) and holds(event.object):
                        ready.add(metadata.name)
                    else:
                        ready.discard(metadata.name)
                        said = str(status.conditions)
                    if len(ready) == count:
                        return
        except TimeoutError:
            pass
        name = kind.kind.name
        raise ProgramFailed(f"{len(ready)} of {count} {name}s are ready after {DEADLINE:.0f} s; one says: {said}")

    async def change(self, number: int) -> None:
        """Measure what one changed value of nova.conf takes on all computes of a cell."""
        namespace = f"change-{number}"
        async with self.scene(namespace) as (machines, _):
            with fake("tests.fakes.keystone", PASSWORD) as keystone:
                here = Scene(self.client, namespace, play=None)  # type: ignore[arg-type]  # runs are played here
                async with apis(here.answers) as url:
                    await here.control_plane(keystone.url, url)
                    await here.cell()
                    hosts = [f"node-{one:04}" for one in range(COMPUTES)]
                    here.up(*hosts)
                    await here.maps(*hosts)
                    await self.ask(namespace, COMPUTES, **{CELL: "nova-cell1"})
                    await self.all_ready(NovaExternalCompute, namespace, COMPUTES)
                    before = await self._runs_applied(namespace)
                    began, at, known = time.monotonic(), datetime.now(UTC), set(machines.runs)
                    await here.secret("nova-cell1-compute-config", **{"01-nova.conf": "[DEFAULT]\ndebug = true\n"})
                    await self.all_ready(
                        NovaExternalCompute,
                        namespace,
                        COMPUTES,
                        lambda one: _run_of(one) not in ("", before.get(one.metadata.name)),
                    )
                    took, end = time.monotonic() - began, datetime.now(UTC)
        new = {name: nodes for name, nodes in machines.runs.items() if name not in known}
        host_runs = sum(len(nodes) for nodes in new.values())
        of = tuple(sorted({name.split("-")[0] for name in new}))
        writes = len(self._written(at, end))
        self.changes.append(Change(took, writes, host_runs, of, host_runs * tasks.count(OF_COLLECTION)))
        print(
            f"round {number}, one value changed on {COMPUTES} computes: {took:.1f} s, {len(new)} runs of "
            f"{', '.join(of)} on {host_runs} nodes, {writes / COMPUTES:.1f} writes a node",
            flush=True,
        )

    async def _runs_applied(self, namespace: str) -> dict[str, str]:
        listed = await self.client.list(NovaExternalCompute, namespace)
        return {one.metadata.name: _run_of(one) for one in listed}

    def _written(self, since: datetime, until: datetime) -> list[Request]:
        return [request for request in self.cluster.written_down(since, until) if is_write(request)]

    def figures(self) -> list[Figure]:
        """Return what was measured, beside what it is compared with."""
        few, many = self.rounds[FEW], self.rounds[MANY]
        found: list[Figure] = []
        if few and many:
            found += [
                _growth("apply to Ready", [taken.seconds for taken in few], [taken.seconds for taken in many]),
                _growth("CPU", [taken.usage.cpu for taken in few], [taken.usage.cpu for taken in many]),
                _growth("writes", [len(taken.writes) for taken in few], [len(taken.writes) for taken in many]),
                Figure(
                    f"{MANY} nodes: memory at most",
                    "MiB",
                    [taken.usage.peak for taken in many],
                    [taken.usage.peak for taken in few],
                    f"ours with {FEW}",
                ),
            ]
        if self.changes:
            ours = [change.tasks / COMPUTES for change in self.changes]
            of = "upstream's 16 services, an estimate"
            found.append(Figure("one value of nova.conf", "tasks a node", ours, [UPSTREAM_TASKS], of, 0.1))
        return found


def _run_of(compute: NovaExternalCompute) -> str:
    return compute.status.deployment.run if compute.status.deployment is not None else ""


def _growth(what: str, few: list[float], many: list[float]) -> Figure:
    """Return how something grows with the number of nodes, as an exponent: 1 is linear. Pure."""
    pairs = zip(few, many, strict=True)
    exponents = [math.log(more / less) / math.log(MANY / FEW) for less, more in pairs]
    return Figure(f"growth of {what}, {FEW} to {MANY} nodes", "exponent", exponents, [1.0], "linear", EXPONENT)


def show(benchmark: Benchmark) -> None:
    """Print what the table of figures does not have."""
    console = report.wide_console()
    for nodes, rounds in benchmark.rounds.items():
        if not rounds:
            continue
        console.print(f"{nodes} nodes, the last round:", by_kind(rounds[-1].writes))
        writes = statistics.median(len(taken.writes) for taken in rounds) / nodes
        cpu = statistics.median(taken.usage.cpu for taken in rounds)
        peak = statistics.median(taken.usage.peak for taken in rounds)
        seconds = statistics.median(taken.seconds for taken in rounds)
        print(
            f"{nodes} nodes, medians: {seconds:.1f} s, {writes:.1f} writes a node, {cpu / nodes * 1000:.0f} ms of CPU "
            f"a node, {peak:.0f} MiB at most; each run is played and takes {SECONDS:g} s"
        )
    if benchmark.real:
        print(
            f"the real Ansible, {real_runs.HOSTS} hosts by connection local, the playbook that reaches a machine: "
            f"{statistics.median(benchmark.real):.1f} s (no SSH)",
            flush=True,
        )


async def run(asked: argparse.Namespace, directory: Path) -> Benchmark:
    """Start a server, and measure."""
    found = binaries.ensure(programs.ALL)
    sizes = (FEW, MANY) if asked.nodes is None else (asked.nodes,)
    with ApiServer(directory / "server", found, Options(audit=True, flags=FLAGS)) as server:
        cluster = Cluster(found["kubectl"], server.kubeconfig, server.audit_log)
        async with Client(config.load(server.kubeconfig), limit=64) as client:
            await install.install(client, [generate.manifest(kind) for kind in services.kinds()])
            kubeconfig = nova_operating.make_account(cluster, directory)
            # Everything is played here; what Kubernetes' controllers do would be in the way.
            server.stop("kube-controller-manager")
            async with kubelet(client, directory) as node:
                node.piece = 2**16
                benchmark = Benchmark(cluster, client, directory, kubeconfig, node)
                for number in range(1, asked.rounds + 1):
                    for nodes in sizes:
                        await benchmark.measure(nodes, number)
                    if asked.nodes is None:
                        await benchmark.change(number)
    if asked.nodes is None:
        with Shown() as progress, real_runs.image(progress) as made:
            benchmark.real = [real_runs.measure(made) for _ in range(asked.rounds)]
    return benchmark


def main() -> int:
    """Read the command line, measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured (default: 3)")
    parser.add_argument("--nodes", type=int, choices=(FEW, MANY), help="measure only this many nodes")
    asked = parser.parse_args()
    asked.rounds = max(1, asked.rounds)
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    try:
        with tempfile.TemporaryDirectory(prefix="stackwright-benchmark-") as directory:
            benchmark = asyncio.run(run(asked, Path(directory)))
    except (KubeError, LocalError, ProgramFailed) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    show(benchmark)
    return report.finish("dataplane", f"data plane, medians of {asked.rounds} rounds", benchmark.figures())

"""Measures `stackwright local up` beside a hand-written script that starts the same programs, in turn.

Both begin with binaries and packages in place and nothing else; the script has certificates, configuration and all
images beforehand. In both, the Deployment is given to the cluster as soon as that takes it, beside all else. When each
command returned is told too: `up` does so when the cluster can be used, the script when the Deployment is Available.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.local_parts import script
from benchmarks.local_parts.observing import ASKED, Target, Times, observe
from benchmarks.local_parts.script import Prepared
from benchmarks.parts import report
from benchmarks.parts.report import Figure
from benchmarks.parts.running import ProgramFailed
from stackwright.kube.errors import KubeError
from stackwright.local import binaries, programs
from stackwright.local.cluster import images, layout, lifecycle, packages, processes, status
from stackwright.local.errors import LocalError
from stackwright.local.progress import Progress, Shown, Silent

OURS, THEIRS = "bench", "bench-script"
GOAL = 1.3
# After so many seconds a cluster that is not up has failed.
DEADLINE = 240.0
MEGABYTE = 1e6


@dataclass
class Series:
    """How one of the two was, round by round."""

    times: list[Times] = field(default_factory=list)
    returned: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)

    def add(self, measured: "Measured", first: int) -> None:
        """Note a cluster that is up, and the memory of all that runs in its node but for what is in pods."""
        self.times.append(measured.times)
        self.returned.append(measured.returned)
        self.memory.append(sum(map(processes.memory, processes.inside(first).values())) / MEGABYTE)


@dataclass(frozen=True)
class Measured:
    """One cluster that was brought up: how far it was when, and when the command returned, in seconds."""

    times: Times
    returned: float


class Benchmark:
    """One run: what the script was prepared with, and what was measured."""

    def __init__(self, prepared: Prepared, archives: Path, progress: Progress) -> None:
        self._prepared = prepared
        self._archives = archives
        self._progress = progress
        self.ours, self.theirs = Series(), Series()
        self.programs: dict[str, float] = {}

    async def run(self, rounds: int) -> None:
        """Bring up both in turn, and take each down before the next."""
        self._take_down()
        try:
            for number in range(1, rounds + 1):
                await self._round_of_ours(number)
                self._take_down()
                await self._round_of_script(number)
                self._take_down()
        finally:
            self._take_down()

    async def _round_of_ours(self, number: int) -> None:
        command = [str(Path(sys.executable).parent / "stackwright"), "local", "up", "--name", OURS]
        deploying = asyncio.ensure_future(self._deploy())
        try:
            measured = await _measured(_call(command, os.environ), _target)
            await deploying
        finally:
            deploying.cancel()
            await asyncio.wait({deploying})
        self._tell(number, "stackwright local up", measured)
        found = status.read(OURS)
        self.ours.add(measured, found.programs[0].pid)
        self.programs = {one.name: one.memory / MEGABYTE for one in found.programs}

    async def _deploy(self) -> None:
        """Do what the script does: load the image when containerd answers, apply the Deployment when the API does."""
        await asyncio.to_thread(images.load, await _ready("containerd"), self._archives / script.ARCHIVE)
        manifest = self._archives / "deployment.json"
        manifest.write_text(json.dumps(script.deployment()))
        await _ready("kube-apiserver")
        apply = ["apply", "--server-side", "--validate=false", f"--filename={manifest}"]
        kubeconfig = f"--kubeconfig={layout.of(OURS).kubeconfig}"
        await _call([self._prepared.settings.binaries["kubectl"], kubeconfig, *apply], os.environ)

    async def _round_of_script(self, number: int) -> None:
        self._prepared.lay_out(self._archives)
        work = _call(self._prepared.command("up"), self._prepared.environment())
        measured = await _measured(work, lambda: self._prepared.target)
        self._tell(number, script.SCRIPT.name, measured)
        self.theirs.add(measured, self._prepared.first())

    def _tell(self, number: int, who: str, measured: Measured) -> None:
        times = measured.times
        self._progress.say(
            f"Round {number}, {who}: node Ready after {times.ready:.2f} s, CoreDNS answering after "
            f"{times.answering:.2f} s, Deployment Available after {times.available:.2f} s, returned after "
            f"{measured.returned:.2f} s (load {os.getloadavg()[0]:.1f})"
        )

    def _take_down(self) -> None:
        lifecycle.down(OURS, keep_data=False, progress=Silent())
        self._prepared.take_down()

    def figures(self) -> list[Figure]:
        """Return what was measured."""
        mine, other = self.ours, self.theirs

        def figure(name: str, of: Callable[[Times], float]) -> Figure:
            return Figure(name, "s", list(map(of, mine.times)), list(map(of, other.times)), "script", GOAL)

        return [
            figure("to the node Ready", lambda times: times.ready),
            figure("to CoreDNS answering", lambda times: times.answering),
            figure("to two replicas Available", lambda times: times.available),
            Figure("to the command's return", "s", mine.returned, other.returned, "script"),
            Figure("memory (PSS) of all programs", "MB", mine.memory, other.memory, "script"),
        ]


def _target() -> Target | None:
    """Return where our cluster is, once it has decided on that."""
    place = layout.of(OURS)
    settings = place.read_settings()
    return Target(place.kubeconfig, settings.node.name, settings.network.dns_service) if settings else None


async def _ready(program: str) -> int:
    """Wait until that program of our cluster is ready; return the node's first process."""
    place = layout.of(OURS)
    while True:
        state = lifecycle.running(place)
        if state and any(one.name == program and one.state == "ready" for one in state.programs):
            return state.first.pid
        await asyncio.sleep(ASKED)


async def _measured(work: Awaitable[None], find: Callable[[], Target | None]) -> Measured:
    """Let a cluster be brought up, and return when it was how far."""
    began = time.monotonic()
    observing = asyncio.ensure_future(observe(find, script.DEPLOYMENT, began))
    try:
        async with asyncio.timeout(DEADLINE):
            await work
            returned = time.monotonic() - began
            return Measured(await observing, returned)
    except TimeoutError:
        raise ProgramFailed(f"A cluster was not up after {DEADLINE:.0f} s.") from None
    finally:
        observing.cancel()
        await asyncio.wait({observing})


async def _call(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Run a command to its end; raise with what it said when that is a bad one."""
    with tempfile.TemporaryFile() as output:
        # A pipe would be held open by what goes on when the command has ended.
        process = await asyncio.create_subprocess_exec(
            *command, env=environment, stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=output
        )
        try:
            await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            output.seek(0)
            said = output.read().decode(errors="replace")
            raise ProgramFailed(f"`{' '.join(command)}` ended with code {process.returncode}: {said}")


def _run(rounds: int, progress: Progress) -> Benchmark:
    plugins = packages.ensure(lambda _: True, progress)
    found = binaries.ensure(programs.CLUSTER, progress=progress)
    prepared = script.prepare(THEIRS, found, plugins)
    with tempfile.TemporaryDirectory(prefix="stackwright-benchmark-") as folder:
        archives = Path(folder)
        script.write_archives(archives, found)
        benchmark = Benchmark(prepared, archives, progress)
        asyncio.run(benchmark.run(rounds))
    return benchmark


def main() -> int:
    """Read the command line, measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each is brought up (default: 3)")
    rounds = max(1, parser.parse_args().rounds)
    if os.geteuid() != 0:
        print("Error: a cluster needs namespaces and mounts, which root alone may make; use sudo.", file=sys.stderr)
        return 1
    try:
        with Shown() as progress:
            benchmark = _run(rounds, progress)
    except (KubeError, LocalError, ProgramFailed) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    shares = ", ".join(f"{name} {size:.0f}" for name, size in benchmark.programs.items())
    print(f"Memory (PSS) by program in the last round of ours, MB: {shares}")
    return report.finish("local", f"Medians of {rounds} rounds, ours and the script in turn", benchmark.figures())

"""Measures `stackwright up`, from a cluster to a server, beside a hand-written script with the same containers.

Both begin with a new cluster that has all images, and with a registry that has those of machines. Ours is the command
itself: it installs the operators, deploys the cloud of `make up` with two machines, and creates a server. The script
has its manifests written, and does the same with the same charts, playbooks and programs. Both end when the server is
active.
"""

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.first_server_parts import manifests
from benchmarks.keystone_parts.cluster import Cluster
from benchmarks.parts import report
from benchmarks.parts.report import Figure
from stackwright.cli import machines
from stackwright.controllers.dataplane.preparation import IMAGE as EXECUTION
from stackwright.local import binaries, first_server, journey, programs
from stackwright.local.cluster import lifecycle
from stackwright.local.cluster.spare_network import SpareNetwork
from stackwright.local.errors import LocalError
from stackwright.local.images import building, pushing
from stackwright.local.machine import keys
from stackwright.local.machine.lifecycle import KEY
from stackwright.local.progress import Progress, Shown
from stackwright.local.registry import serving

ROOT = Path(__file__).parents[2]
NAME, NAMESPACE = "bench-first", "openstack"
MACHINES = ("compute-0", "compute-1")
GOAL = 1.2
DEADLINE = 1800.0
SCRIPT = ROOT / "benchmarks" / "first_server_script.sh"
STACKWRIGHT = Path(sys.executable).parent / "stackwright"
# What `stackwright up` says when the server is active; it goes on, and waits for an answer to a ping.
ACTIVE = " is active on "


@dataclass(frozen=True)
class Ground:
    """A new cluster, in which nothing of ours is but images."""

    kubectl: Path
    kubeconfig: Path
    address: str
    spare: SpareNetwork
    key: Path
    images: dict[str, str]


@contextmanager
def ground(progress: Progress) -> Iterator[Ground]:
    """Bring up a cluster with all images, for the time of a block; the machines' registry has theirs."""
    known = building.catalogue()
    beside = machines.images_beside(known)
    try:
        found = journey.travel(
            NAME, ask=lambda _: True, progress=progress, also=[EXECUTION, first_server.IMAGE], beside=beside
        )
        machines.prepare(lambda _: True, progress)
        images = [image for image in building.catalogue().images.values() if image.name in machines.components()]
        target = pushing.parse(serving.serve(NAME, progress=progress), plain_http=True)
        asyncio.run(pushing.push(images, target, login=None, progress=progress))
        place, settings = found.cluster.layout, found.cluster.settings
        kubectl = binaries.ensure(programs.ALL)["kubectl"]
        references = {name: image.reference for name, image in building.catalogue().images.items()}
        key = place.machines / KEY
        yield Ground(kubectl, place.kubeconfig, settings.address, settings.network.spare, key, references)
    finally:
        lifecycle.down(NAME, keep_data=False, progress=progress)


def ours(_: Ground) -> float:
    """Return the seconds from the command to an active server."""
    command = [str(STACKWRIGHT), "up", "--yes", "--name", NAME, "--namespace", NAMESPACE]
    began, took, said = time.monotonic(), 0.0, ""
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said += line
            print(f"  {line}", end="", flush=True)
            if ACTIVE in line:
                took = time.monotonic() - began
    if process.returncode or not took:
        raise LocalError(f"stackwright up ended with {process.returncode}:\n{said}")
    return took


def theirs(found: Ground) -> float:
    """Return the seconds that the script takes to an active server."""
    cluster = Cluster(found.kubectl, found.kubeconfig, Path())
    cluster.run("create", "namespace", NAMESPACE)
    cluster.run("label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=privileged")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        manifests.write(folder, NAMESPACE, found.address, found.images, MACHINES)
        public = keys.read(folder / "first-server").public
        manifests.write_server(folder, NAMESPACE, found.images[first_server.IMAGE], found.spare, public)
        words = (found.kubectl, found.kubeconfig, NAMESPACE, folder, NAME, found.key, *MACHINES)
        environment = {**os.environ, "STACKWRIGHT": str(STACKWRIGHT)}
        began = time.monotonic()
        run_whole(["bash", str(SCRIPT), *map(str, words)], environment)
        return time.monotonic() - began


def run_whole(command: list[str], environment: dict[str, str]) -> None:
    """Run a program; nothing that it started is left when it is over, so that no client outlives the cluster."""
    with subprocess.Popen(command, env=environment, start_new_session=True) as process:
        try:
            code = process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            raise LocalError(f"{command[1]} is not done after {DEADLINE:.0f} s") from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    if code:
        raise LocalError(f"{command[1]} ended with {code}")


def measure(rounds: int, ways: dict[str, Callable[[Ground], float]], progress: Progress) -> dict[str, list[float]]:
    """Measure each way in turn, on a cluster of its own."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds):
        for name, one in ways.items():
            with ground(progress) as found:
                times[name].append(one(found))
            print(f"round {number + 1}, {name}: {times[name][-1]:.1f} s", flush=True)
    return times


def main() -> int:
    """Run the benchmark on clusters of its own, and take them down again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1)
    asked = parser.parse_args()
    try:
        with Shown() as progress:
            times = measure(asked.rounds, {"ours": ours, "script": theirs}, progress)
    except LocalError as error:
        print(error, file=sys.stderr)
        return 1
    figure = Figure("a cluster to an active server", "s", times["ours"], times["script"], "the script", GOAL)
    return report.finish("first-server", f"`stackwright up` to a first server, {asked.rounds} rounds", [figure])

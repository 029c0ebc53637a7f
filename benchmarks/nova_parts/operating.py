"""The operator that is measured: a process of its own, with Nova's controllers and a name that the audit log shows."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from benchmarks.keystone_parts.cluster import Cluster
from benchmarks.parts.running import ROOT, ProgramFailed
from stackwright.adapters.helm.programs import PROGRAM

SYSTEM = "stackwright-system"
ACCOUNT = "nova"
STARTING = 60.0
ENDING = 30.0
# No pod is started, so any image will do.
IMAGES = {"registry": "registry.example.com/openstack", "tag": "1"}


@dataclass(frozen=True)
class Usage:
    """What the operator used: seconds of processor time, of helm too, and the most mebibytes."""

    cpu: float
    helm: float
    peak: float


@dataclass(frozen=True)
class Operator:
    """An operator that runs."""

    pid: int

    def cpu(self) -> tuple[float, float]:
        """Return the processor time of the process until now, and that of the programs that it ran or still runs."""
        own, ended = _seconds(self.pid)
        listed = [path.read_text().split() for path in Path(f"/proc/{self.pid}/task").glob("*/children")]
        return own, ended + sum(sum(_seconds(int(pid))) for pids in listed for pid in pids)

    def peak(self) -> float:
        """Return the most memory that it ever had, in mebibytes."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024

    def used_since(self, before: tuple[float, float]) -> Usage:
        """Return what was used since then."""
        own, helm = (now - then for now, then in zip(self.cpu(), before, strict=True))
        return Usage(own + helm, helm, self.peak())


def make_account(cluster: Cluster, directory: Path) -> Path:
    """Make the operator's account, and return a kubeconfig for it: the audit log tells it from everybody else."""
    cluster.run("create", "namespace", SYSTEM)
    cluster.run("create", "serviceaccount", ACCOUNT, f"--namespace={SYSTEM}")
    whole = ("--clusterrole=cluster-admin", f"--serviceaccount={SYSTEM}:{ACCOUNT}")
    cluster.run("create", "clusterrolebinding", ACCOUNT, *whole)
    token = cluster.run("create", "token", ACCOUNT, f"--namespace={SYSTEM}", "--duration=24h").strip()
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    for user in config["users"]:
        user["user"] = {"token": token}
    path = directory / "operator.kubeconfig"
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(config))
    return path


@contextlib.asynccontextmanager
async def operating(
    kubeconfig: Path, namespace: str, found: Mapping[str, Path], directory: Path
) -> AsyncIterator[Operator]:
    """Run an operator with Nova's controllers in a namespace, for the time of a block."""
    images, log, port = directory / "images.yaml", directory / "operator.log", _free_port()
    images.write_text(yaml.safe_dump(IMAGES | {"components": {"nova": {"name": "nova"}}}))
    words = ["operator", "--services=nova", f"--namespace={namespace}", f"--kubeconfig={kubeconfig}"]
    words += ["--webhooks=off", "--no-leader-election", f"--health-port={port}", f"--images={images}"]
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "stackwright.cli", *words),
            cwd=ROOT,
            env={**os.environ, PROGRAM: str(found["helm"])},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        await _ready(process, port, log)
        yield Operator(process.pid)
    finally:
        await end(process)


async def end(process: asyncio.subprocess.Process) -> None:
    """End a process, by force if it does not go by itself."""
    if process.returncode is None:
        process.send_signal(signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait(), ENDING)
    except TimeoutError:
        process.kill()
        await process.wait()


async def _ready(process: asyncio.subprocess.Process, port: int, log: Path) -> None:
    for _ in range(int(STARTING / 0.1)):
        if process.returncode is not None:
            break
        if await asyncio.to_thread(_answers, port):
            return
        await asyncio.sleep(0.1)
    said = await asyncio.to_thread(log.read_text, errors="replace")
    raise ProgramFailed(f"the operator did not become ready. Its log:\n{said[-4000:]}")


def _seconds(pid: int) -> tuple[float, float]:
    """Return the processor time of a process, and that of its children that have ended."""
    # The name of the program is in parentheses and may hold anything; what follows it is numbers.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own, ended = (sum(map(int, fields[first : first + 2])) / os.sysconf("SC_CLK_TCK") for first in (11, 13))
    return own, ended


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

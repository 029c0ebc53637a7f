"""Measures one resource to a token beside a hand-written script with the same images and commands, in turn.

Both begin with a cluster that is up and has all images; ours has its operators running, the script its manifests
written. Ours gets one OpenStackControlPlane, the script applies all objects of the same charts at once. Both end with
the first token. How many writes the operators made for it is told too.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from benchmarks.keystone_parts import script
from benchmarks.parts import report
from benchmarks.parts.report import Figure
from stackwright.local import binaries, programs
from stackwright.local.cluster import layout, lifecycle
from stackwright.local.errors import LocalError
from stackwright.local.progress import Shown

ROOT = Path(__file__).parents[2]
NAME = "bench-cloud"
GOAL = 1.2
DEADLINE = 300.0
RESTRICTED = "pod-security.kubernetes.io/enforce=restricted"


class Cluster:
    """The cluster of the measurement, by kubectl."""

    def __init__(self, kubectl: Path, kubeconfig: Path) -> None:
        self.kubectl = kubectl
        self.kubeconfig = kubeconfig

    def run(self, *arguments: str, given: str = "") -> str:
        """Run kubectl and return what it printed."""
        command = [str(self.kubectl), f"--kubeconfig={self.kubeconfig}", *arguments]
        return subprocess.run(command, input=given, check=True, capture_output=True, text=True).stdout

    def make_namespace(self, name: str) -> None:
        """Make a namespace that is held to the restricted profile."""
        self.run("create", "namespace", name)
        self.run("label", "namespace", name, RESTRICTED)

    def writes(self) -> int:
        """Return how many writes the operator has made since it started."""
        pod = self.run(
            "get", "pods", "--namespace=stackwright-system", "--output=jsonpath={.items[0].status.podIP}"
        ).strip()
        with urllib.request.urlopen(f"http://{pod}:8080/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        counted = (line for line in lines if line.startswith("rest_client_requests_total{"))
        writes = (line for line in counted if 'method="GET"' not in line)
        return sum(int(float(line.rsplit(" ", 1)[1])) for line in writes)


def ours(cluster: Cluster, namespace: str, folder: Path) -> float:
    """Return the seconds from the resource to a token."""
    example = (ROOT / "examples" / "cloud" / "keystone.yaml").read_text()
    began = time.monotonic()
    cluster.run("apply", f"--namespace={namespace}", "--filename=-", given=example)
    cluster.run("wait", f"--namespace={namespace}", "--for=create", "secret/osp-secret", "--timeout=60s")
    encoded = '{{index .data "AdminPassword" | base64decode}}'
    password = cluster.run("get", f"--namespace={namespace}", "secret", "osp-secret", f"--template={encoded}")
    login = script.login(folder, password)
    cluster.run(
        "wait", f"--namespace={namespace}", "--for=condition=Ready", "openstackcontrolplane", "--all", "--timeout=300s"
    )
    address = cluster.run(
        "get", f"--namespace={namespace}", "service", "keystone-internal", "--output=jsonpath={.spec.clusterIP}"
    )
    _token(f"http://{address}:5000", login)
    return time.monotonic() - began


def theirs(cluster: Cluster, namespace: str, folder: Path) -> float:
    """Return the seconds that the script takes."""
    prepared = script.prepare(folder, namespace)
    words = [cluster.kubectl, cluster.kubeconfig, namespace, prepared.manifests, prepared.login]
    began = time.monotonic()
    subprocess.run(["bash", str(script.SCRIPT), *map(str, words)], check=True, timeout=DEADLINE)
    return time.monotonic() - began


def _token(url: str, login: Path) -> None:
    deadline = time.monotonic() + DEADLINE
    while True:
        request = urllib.request.Request(  # noqa: S310  our own cloud
            f"{url}/v3/auth/tokens", login.read_bytes(), {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=30):  # noqa: S310  likewise
                return
        except (urllib.error.URLError, OSError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def measure(rounds: int) -> int:
    """Measure both in turn, and print what came out."""
    found = binaries.ensure(programs.ALL)
    command = [sys.executable, "-m", "stackwright.cli", "up", "--name", NAME, "--cloud", "none", "--yes"]
    subprocess.run(command, cwd=ROOT, check=True)
    cluster = Cluster(found["kubectl"], layout.of(NAME).kubeconfig)
    times: dict[str, list[float]] = {"ours": [], "script": []}
    writes: list[int] = []
    for number in range(rounds):
        for name, one in (("ours", ours), ("script", theirs)):
            namespace = f"{name}-{number}"
            cluster.make_namespace(namespace)
            before = cluster.writes()
            with tempfile.TemporaryDirectory() as folder:
                times[name].append(one(cluster, namespace, Path(folder)))
            if name == "ours":
                writes.append(cluster.writes() - before)
            print(f"round {number + 1}, {name}: {times[name][-1]:.1f} s", flush=True)
            cluster.run("delete", "namespace", namespace)
    print(f"writes of the operator for one cloud: {json.dumps(writes)}", flush=True)
    figure = Figure("one resource to a token", "s", times["ours"], times["script"], "the script", GOAL)
    return report.finish("keystone", f"Keystone, {rounds} rounds", [figure])


def main() -> int:
    """Run the benchmark on a cluster of its own, and take that down again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    try:
        return measure(rounds)
    except LocalError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        with Shown() as progress:
            lifecycle.down(NAME, keep_data=False, progress=progress)

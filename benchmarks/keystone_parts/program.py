"""Measures one resource to a token beside a hand-written script with the same images and commands, in turn.

Both begin with a cluster that is up and has all images; ours has its operators running, the script its manifests
written. Ours gets one OpenStackControlPlane, the script applies all objects of the same charts at once. Both end with
the first token. How many writes the operators made for it is told too, and at the end one further cloud, with a broker,
is left alone for some minutes: the API server's audit log tells whether anything was written for it meanwhile.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime
from pathlib import Path

import yaml

from benchmarks.keystone_parts import quiet, script
from benchmarks.keystone_parts.cluster import Cluster, Request
from benchmarks.parts import report
from benchmarks.parts.report import Figure
from stackwright.local import binaries, programs
from stackwright.local.cluster import layout, lifecycle
from stackwright.local.errors import LocalError
from stackwright.local.progress import Shown

ROOT = Path(__file__).parents[2]
NAME = "bench-cloud"
GOAL = 1.2
# How often the operators may write for one cloud: each object once, and statuses without a write for every flicker.
WRITES = 60
DEADLINE = 300.0
EXAMPLE = ROOT / "examples" / "cloud" / "keystone.yaml"


def ours(cluster: Cluster, namespace: str, folder: Path) -> float:
    """Return the seconds from the resource to a token."""
    began = time.monotonic()
    cluster.run("apply", f"--namespace={namespace}", f"--filename={EXAMPLE}")
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


def bring_up() -> Cluster:
    """Bring up a cluster that has all images, runs the operators, and writes down what is written."""
    found = binaries.ensure(programs.ALL)
    with Shown() as progress:
        lifecycle.up(NAME, progress=progress, ask=lambda _: True, audit=True)
    # Every run has a namespace of its own.
    command = [sys.executable, "-m", "stackwright.cli", "up", "--name", NAME, "--cloud", "none", "--yes"]
    command.append("--cluster-wide")
    subprocess.run(command, cwd=ROOT, check=True)
    place = layout.of(NAME)
    return Cluster(found["kubectl"], place.kubeconfig, place.audit_log)


def measure(cluster: Cluster, rounds: int) -> list[Figure]:
    """Measure both in turn, and print what came out."""
    times: dict[str, list[float]] = {"ours": [], "script": []}
    writes: list[list[Request]] = []
    told: list[str] = []
    for number in range(rounds):
        for name, one in (("ours", ours), ("script", theirs)):
            namespace = f"{name}-{number}"
            cluster.make_namespace(namespace)
            began = datetime.now(UTC)
            with tempfile.TemporaryDirectory() as folder:
                times[name].append(one(cluster, namespace, Path(folder)))
            if name == "ours":
                written = cluster.written_down(began, datetime.now(UTC))
                writes.append([request for request in written if quiet.is_loud(request, (quiet.OPERATORS,))])
                told = cluster.events(namespace)
            print(f"round {number + 1}, {name}: {times[name][-1]:.1f} s", flush=True)
            cluster.remove_namespace(namespace)
    counts = [len(entry) for entry in writes]
    print(
        f"writes of the operators for one cloud, by round: {json.dumps(counts)}; those of the last round:", flush=True
    )
    report.wide_console().print(quiet.table(writes[-1]))
    # An event is created without a name in its path, so the audit log does not say what it was about.
    print("\n".join(("the events among them:", *(f"  {event}" for event in told))), flush=True)
    return [
        Figure("one resource to a token", "s", times["ours"], times["script"], "the script", GOAL),
        Figure("one cloud", "writes", counts, [WRITES] * len(counts), "at most", 1.0),
    ]


def is_quiet(cluster: Cluster, minutes: float) -> bool:
    """Return whether nothing is written for a settled cloud with all that we deploy."""
    namespace = "quiet"
    cluster.make_namespace(namespace)
    body = yaml.safe_load(EXAMPLE.read_text())
    body["spec"]["notificationsBus"] = {"cluster": "rabbitmq"}
    cluster.run("apply", f"--namespace={namespace}", "--filename=-", given=yaml.safe_dump(body))
    ready = ("--for=condition=Ready", "openstackcontrolplane", "--all", "--timeout=300s")
    cluster.run("wait", f"--namespace={namespace}", *ready)
    return quiet.observe(cluster, namespace, minutes)


def main() -> int:
    """Run the benchmark on a cluster of its own, and take that down again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quiet-minutes", type=float, default=5.0, help="0 leaves this part out")
    asked = parser.parse_args()
    try:
        cluster = bring_up()
        figures = measure(cluster, asked.rounds) if asked.rounds else []
        silent = is_quiet(cluster, asked.quiet_minutes) if asked.quiet_minutes else True
        held = report.finish("keystone", f"Keystone, {asked.rounds} rounds", figures)
        return held if silent else 1
    except LocalError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        with Shown() as progress:
            lifecycle.down(NAME, keep_data=False, progress=progress)

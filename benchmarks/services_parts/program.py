"""Measures one resource to all APIs beside a hand-written script with the same containers and commands, in turn.

Both begin with a cluster that is up and has all images; ours has its operator running, the script its manifests
written. Ours gets one OpenStackControlPlane, the script applies all objects of the same charts at once. Both end when
every service answers a request that it asks Keystone about. The most memory that the operator's process ever took is
told at the end.

Both deploy RabbitMQ, Nova with a cell and a fake compute, Neutron and OVN as well, and end when the compute service is
up, too. With `--without-networks` they do not, and the figures can be compared with those of earlier commits.
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

import yaml

from benchmarks.keystone_parts import script
from benchmarks.keystone_parts.cluster import Cluster
from benchmarks.parts import report
from benchmarks.parts.report import Figure
from benchmarks.services_parts import networks
from stackwright.local import binaries, programs
from stackwright.local.cluster import layout, lifecycle
from stackwright.local.errors import LocalError
from stackwright.local.progress import Shown

ROOT = Path(__file__).parents[2]
NAME = "bench-all"
GOAL = 1.2
DEADLINE = 300.0
MEMORY_GOAL = 150.0
MANIFEST = Path(__file__).parent / "cloud.yaml"
SCRIPT = ROOT / "benchmarks" / "services_script.sh"
# The Service of each API, its port, and what is asked with a token.
APIS = (
    ("placement-internal", 8778, "/resource_providers"),
    ("glance-default-internal", 9292, "/v2/images"),
    ("glance-default-public", 9292, "/v2/images"),
)
# Glance's internal API is for the pods of its namespace; here it is asked from outside of the cluster.
WAY = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "glance-from-outside"},
    "spec": {
        "podSelector": {"matchLabels": {"app.kubernetes.io/name": "glance"}},
        "policyTypes": ["Ingress"],
        "ingress": [{"ports": [{"port": 9292}]}],
    },
}


def ours(cluster: Cluster, namespace: str, folder: Path, *, wide: bool) -> float:
    """Return the seconds from the resource to answers of all APIs."""
    began = time.monotonic()
    manifest = networks.MANIFEST if wide else MANIFEST
    cluster.run("apply", f"--namespace={namespace}", f"--filename={manifest}")
    cluster.run("wait", f"--namespace={namespace}", "--for=create", "secret/osp-secret", "--timeout=60s")
    encoded = '{{index .data "AdminPassword" | base64decode}}'
    password = cluster.run("get", f"--namespace={namespace}", "secret", "osp-secret", f"--template={encoded}")
    ready = ("--for=condition=Ready", "openstackcontrolplane", "--all", f"--timeout={_deadline(wide=wide):.0f}s")
    cluster.run("wait", f"--namespace={namespace}", *ready)
    answered(cluster, namespace, script.login(folder, password, project="admin"), wide=wide)
    return time.monotonic() - began


def theirs(cluster: Cluster, namespace: str, folder: Path, *, wide: bool) -> float:
    """Return the seconds that the script takes to the same answers."""
    manifests, login = prepare(folder, namespace, wide=wide)
    began = time.monotonic()
    words = (cluster.kubectl, cluster.kubeconfig, namespace, folder if wide else manifests)
    program = networks.SCRIPT if wide else SCRIPT
    subprocess.run(["bash", str(program), *map(str, words)], check=True, timeout=_deadline(wide=wide))
    answered(cluster, namespace, login, wide=wide)
    return time.monotonic() - began


def _deadline(*, wide: bool) -> float:
    return networks.DEADLINE if wide else DEADLINE


def prepare(folder: Path, namespace: str, *, wide: bool) -> tuple[Path, Path]:
    """Write the manifests of all services, whose Jobs make what they need, and the administrator's login."""
    named = networks.naming(namespace)
    keys = ("AdminPassword", "PlacementPassword", "GlancePassword", *(networks.PASSWORDS if wide else ()))
    secret = {
        "metadata": {"name": "osp-secret", "namespace": namespace},
        "stringData": dict.fromkeys(keys, script.PASSWORD),
    }
    service: dict[str, object] = {"databaseInstance": "openstack", "secret": "osp-secret"}
    resources = [
        {"apiVersion": "v1", "kind": "Secret", **secret},
        named("Galera", "mariadb", "openstack", {"storageClass": "local", "storageRequest": "10G"}),
        named("Memcached", "memcached", "memcached", {}),
        named("KeystoneAPI", "keystone", "keystone", service),
        named("PlacementAPI", "placement", "placement", service),
        named("Glance", "glance", "glance", {**service, "storage": {"storageClass": "local", "storageRequest": "5G"}}),
    ]
    path = folder / "resources.yaml"
    path.write_text("---\n".join(yaml.safe_dump(body) for body in resources))
    names = ("mariadb", "memcached", "keystone", "placement", "glance")
    manifests = folder / "manifests.yaml"
    manifests.write_text("---\n".join(script.rendered(name, path, namespace) for name in names))
    if wide:
        cloud = networks.Cloud(named, networks.resources(named, service))
        networks.write(folder, namespace, manifests.read_text(), path, cloud)
    return manifests, script.login(folder, script.PASSWORD, project="admin")


def answered(cluster: Cluster, namespace: str, login: Path, *, wide: bool) -> None:
    """Return when every API answers with a token."""
    services = json.loads(cluster.run("get", "services", f"--namespace={namespace}", "--output=json"))["items"]
    address = {item["metadata"]["name"]: item["spec"]["clusterIP"] for item in services}
    headers = {"Content-Type": "application/json"}
    _, given = _ask(f"http://{address['keystone-internal']}:5000/v3/auth/tokens", headers, login.read_bytes())
    token = given["X-Subject-Token"]
    for name, port, path in (*APIS, *(networks.APIS if wide else ())):
        _ask(f"http://{address[name]}:{port}{path}", {"X-Auth-Token": token})
    if wide:
        networks.compute_is_up(address["nova-api-internal"], token)


def _ask(url: str, headers: dict[str, str], body: bytes | None = None) -> tuple[int, dict[str, str]]:
    deadline = time.monotonic() + DEADLINE
    while True:
        request = urllib.request.Request(url, body, headers)  # noqa: S310  our own cloud
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310  likewise
                return answer.status, dict(answer.headers)
        except (urllib.error.URLError, OSError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def memory(cluster: Cluster) -> float:
    """Return the most megabytes that the operator's process ever took."""
    command = ("sh", "-c", "cat /proc/[0-9]*/status")
    place = ("exec", "--namespace=stackwright-system", "deployment/stackwright-operator", "--")
    lines = cluster.run(*place, *command).splitlines()
    return max(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1000


def bring_up() -> Cluster:
    """Bring up a cluster that has all images and runs the operator."""
    found = binaries.ensure(programs.ALL)
    # Every run has a namespace of its own.
    command = [sys.executable, "-m", "stackwright.cli", "up", "--name", NAME, "--cloud", "none", "--yes"]
    command.append("--cluster-wide")
    subprocess.run(command, cwd=ROOT, check=True)
    place = layout.of(NAME)
    return Cluster(found["kubectl"], place.kubeconfig, place.audit_log)


def measure(cluster: Cluster, rounds: int, *, wide: bool) -> Figure:
    """Measure both in turn."""
    ways = [WAY, *(networks.way(name, port) for name, port in networks.OPENED.items() if wide)]
    times: dict[str, list[float]] = {"ours": [], "script": []}
    for number in range(rounds):
        for name, one in (("ours", ours), ("script", theirs)):
            namespace = f"{name}-{number}"
            cluster.make_namespace(namespace)
            for way in ways:
                cluster.run("apply", f"--namespace={namespace}", "--filename=-", given=json.dumps(way))
            with tempfile.TemporaryDirectory() as folder:
                times[name].append(one(cluster, namespace, Path(folder), wide=wide))
            print(f"round {number + 1}, {name}: {times[name][-1]:.1f} s", flush=True)
            cluster.remove_namespace(namespace)
    return Figure("one resource to all APIs", "s", times["ours"], times["script"], "the script", GOAL)


def main() -> int:
    """Run the benchmark on a cluster of its own, and take that down again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--without-networks", action="store_true", help="leave out RabbitMQ, Nova, Neutron and OVN")
    asked = parser.parse_args()
    wide = not asked.without_networks
    try:
        cluster = bring_up()
        taken = measure(cluster, asked.rounds, wide=wide)
        most = Figure("memory of the operator, at most", "MB", [memory(cluster)], [MEMORY_GOAL], "the limit", 1.0)
        name, what = ("services-with-networks", " with networks") if wide else ("services", "")
        return report.finish(name, f"All services{what}, {asked.rounds} rounds", [taken, most])
    except LocalError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        with Shown() as progress:
            lifecycle.down(NAME, keep_data=False, progress=progress)

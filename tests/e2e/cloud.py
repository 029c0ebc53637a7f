"""A whole cloud in the cluster of this run: brought up as a newcomer would, and asked with the real client."""

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackwright.local import binaries, programs
from stackwright.local.cluster.lifecycle import Cluster
from tests.e2e import history
from tests.e2e.clusters import NAME, Kubectl
from tests.e2e.history import History
from tests.e2e.waiting import eventually

ROOT = Path(__file__).parents[2]
NAMESPACE = "openstack"
OPERATORS = "stackwright-system"
EVERYTHING = Path(__file__).parent / "cloud.yaml"
# How long a machine under load may take to bring the cloud to where a test asked it to; a healthy one takes a tenth.
PATIENT = "540s"
# The name of user and project, and of their domain.
ADMINISTRATOR = ("admin", "Default")


@dataclass(frozen=True)
class Installation:
    """What was seen of a cloud's installation, before any test changed anything."""

    history: History
    """What every condition said, one after the other."""
    releases: Mapping[str, tuple[str, str]]
    """Status and revision of each Helm release, as the real helm lists them."""
    replica_sets: tuple[str, ...]
    """The Deployment of each ReplicaSet."""


@dataclass(frozen=True)
class Cloud:
    """The cloud: kubectl in its namespace, our own program, and a pod with the real client in it."""

    kubectl: Kubectl
    helm: Path
    installation: Installation

    def stackwright(self, *arguments: str, code: int = 0) -> str:
        """Run our own program on the cluster of this run; return what it printed."""
        return stackwright(*arguments, code=code)

    def with_client(self) -> None:
        """Start the pod of the client, with the login as it is now."""
        image = self.kubectl.get("deployment/keystone", "{.spec.template.spec.containers[0].image}")
        self.kubectl("delete", "pod", "client", "--ignore-not-found")
        self.kubectl.apply(client_pod(image))
        self.kubectl.wait("pod/client", "condition=Ready")

    def openstack(self, *arguments: str) -> Any:
        """Run the real client in its pod; return what it answered."""
        printed = self.kubectl("exec", "client", "--", "openstack", *arguments, "--format", "json")
        return json.loads(printed) if printed.strip() else None

    def ask(self, **sections: Any) -> None:
        """Say what the control plane has of some services; of a section None takes it out."""
        patch = json.dumps({"spec": sections})
        self.kubectl("patch", "openstackcontrolplane", "openstack", "--type=merge", f"--patch={patch}")

    def ready(self, kind: str, name: str, listed: str) -> None:
        """Wait until a service is there, is ready, its control plane says so, and it is listed in the catalog."""
        self.kubectl.wait(f"{kind}/{name}", "create")
        self.kubectl.wait(f"{kind}/{name}", "condition=Ready")
        # Upstream calls the conditions like the kinds, all but this one.
        plane = f"condition=OpenStackControlPlane{'Neutron' if kind == 'NeutronAPI' else kind}Ready"
        self.kubectl.wait("openstackcontrolplane/openstack", plane)
        # At once, unless the cache did not answer Keystone in time on a loaded machine: then as soon as it expires.
        eventually(lambda: listed in self.catalog(), f"{listed} is in the catalog")

    def settle(self) -> None:
        """Wait until everything that was asked for is ready."""
        self.stackwright("status", "--wait", "--timeout", PATIENT)

    def act(self, service: str, action: str, name: str) -> None:
        """Ask a service for an action under a name of its own, and wait until it has succeeded."""
        self.stackwright("action", "run", service, action, "--id", name, "--timeout", PATIENT)

    def catalog(self) -> list[str]:
        """Return which types of services there are in the catalog."""
        return sorted(entry["Type"] for entry in self.openstack("catalog", "list"))

    def endpoint(self, interface: str) -> str:
        """Return a URL of Keystone."""
        return self.kubectl.get("keystoneapi/keystone", f"{{.status.apiEndpoints.{interface}}}")

    def password(self) -> str:
        """Return the administrator's password."""
        return secret(self.kubectl, "osp-secret", "AdminPassword")

    def reached(self) -> None:
        """Wait until this machine reaches the public endpoint: kube-proxy is a moment behind what is ready."""

        def answers() -> bool:
            try:
                with urllib.request.urlopen(f"{self.endpoint('public')}/v3", timeout=10):  # noqa: S310  our own cloud
                    return True
            except OSError:
                return False

        eventually(answers, "the public endpoint answers", 30.0)

    def token(self) -> str:
        """Log in from this machine, and return the token."""
        self.reached()
        return log_in(f"{self.endpoint('public')}/v3", password=self.password())

    def make_project(self, token: str, name: str) -> float:
        """Make a project from this machine, and return how many seconds that took."""
        headers = {"X-Auth-Token": token, "Content-Type": "application/json"}
        body = json.dumps({"project": {"name": name}}).encode()
        url = f"{self.endpoint('public')}/v3/projects"
        began = time.monotonic()
        request = urllib.request.Request(url, body, headers)  # noqa: S310  our own cloud
        with urllib.request.urlopen(request, timeout=60):  # noqa: S310  likewise
            return time.monotonic() - began

    def is_valid(self, token: str) -> bool:
        """Return whether Keystone accepts a token."""
        headers = {"X-Auth-Token": token, "X-Subject-Token": token}
        request = urllib.request.Request(f"{self.endpoint('public')}/v3/auth/tokens", headers=headers)  # noqa: S310  our own cloud
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310  our own cloud
                return bool(answer.status == 200)
        except urllib.error.HTTPError as error:
            if error.code in {401, 403, 404}:
                return False
            raise


def log_in(
    url: str, *, password: str, user: tuple[str, str] = ADMINISTRATOR, project: tuple[str, str] = ADMINISTRATOR
) -> str:
    """Log in from this machine, and return the token; user and project are names with their domains'."""
    account = {"name": user[0], "domain": {"name": user[1]}, "password": password}
    identity = {"methods": ["password"], "password": {"user": account}}
    scope = {"project": {"name": project[0], "domain": {"name": project[1]}}}
    body = json.dumps({"auth": {"identity": identity, "scope": scope}}).encode()
    request = urllib.request.Request(f"{url}/auth/tokens", body, {"Content-Type": "application/json"})  # noqa: S310  our own cloud
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310  likewise
        return str(answer.headers["X-Subject-Token"])


def stackwright(*arguments: str, code: int = 0) -> str:
    """Run our own program on the cluster of this run; return what it printed."""
    command = [sys.executable, "-m", "stackwright.cli", *arguments, "--name", NAME]
    # All services at once take minutes to come up; the command ends by itself, and says what it waited for.
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == code, f"stackwright {' '.join(arguments)}: {done.stdout}{done.stderr}"
    return done.stdout


@contextmanager
def raised(cluster: Cluster, manifest: Path | None) -> Iterator[Cloud]:
    """Have the cloud that `stackwright up` makes of a manifest, for the time of the block.

    Without a manifest it is the one of `make up`, with machines beside the cluster and a server.
    """
    found = binaries.ensure(programs.ALL)
    kubectl = Kubectl(found["kubectl"], cluster.layout.kubeconfig, NAMESPACE)
    # The kinds come with the operators, and who wants to see everything looks before there is anything.
    stackwright("up", "--yes", "--cloud", "none")
    try:
        with history.recorded(kubectl) as seen:
            stackwright("up", "--yes", *(("--cloud", str(manifest)) if manifest is not None else ()))
        owner = "{.items[*].metadata.ownerReferences[0].name}"
        replica_sets = tuple(sorted(kubectl.get("replicasets", owner).split()))
        yield Cloud(kubectl, found["helm"], Installation(seen, _releases(found["helm"], kubectl), replica_sets))
    finally:
        # Nobody needs the place again, and a namespace with MariaDB in it takes a minute to go.
        kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=false")


def _releases(helm: Path, kubectl: Kubectl) -> dict[str, tuple[str, str]]:
    command = [str(helm), "list", "--namespace", kubectl.namespace, "--output=json"]
    environment = {"KUBECONFIG": str(kubectl.kubeconfig), "HOME": "/tmp", "PATH": ""}
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    return {entry["name"]: (entry["status"], entry["revision"]) for entry in json.loads(printed)}


def secret(kubectl: Kubectl, name: str, key: str) -> str:
    """Return a value of a Secret."""
    return kubectl("get", "secret", name, f"--template={{{{index .data {json.dumps(key)} | base64decode}}}}")


def answers(address: str, port: int) -> bool:
    """Return whether somebody listens there, for us."""
    try:
        socket.create_connection((address, port), timeout=10).close()
    except ConnectionRefusedError:
        return False
    return True


def client_pod(image: str) -> dict[str, Any]:
    """Return a pod with the real client, and the cloud's own clouds.yaml in it."""
    # The command that pod/client.py makes comes before the one that would load everything again.
    path = "/tmp/bin:/opt/openstack/bin:/usr/local/bin:/usr/bin:/bin"
    variables = {"OS_CLOUD": "default", "HOME": "/tmp", "PATH": path}
    sources = [{"configMap": {"name": "openstack-config"}}, {"secret": {"name": "openstack-config-secret"}}]
    container = {
        "name": "client",
        "image": image,
        "command": ["python3", "-c", (Path(__file__).parent / "pod" / "client.py").read_text(encoding="utf-8")],
        "env": [{"name": name, "value": value} for name, value in variables.items()],
        "readinessProbe": {
            "exec": {"command": ["test", "-S", "/tmp/client"]},
            "periodSeconds": 1,
            "timeoutSeconds": 10,
        },
        "volumeMounts": [{"name": "clouds", "mountPath": "/etc/openstack"}],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    user = {"runAsNonRoot": True, "runAsUser": 42425, "fsGroup": 42425, "seccompProfile": {"type": "RuntimeDefault"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "client"},
        "spec": {
            "terminationGracePeriodSeconds": 1,
            "securityContext": user,
            "containers": [container],
            "volumes": [{"name": "clouds", "projected": {"sources": sources}}],
        },
    }

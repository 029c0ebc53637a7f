"""A cloud of an earlier version is upgraded under load: no request fails, and each service restarts once at most."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright.local import binaries, programs
from stackwright.local.cluster import layout
from stackwright.local.operator_chart import NAMESPACE as SYSTEM
from tests.chaos import history
from tests.chaos.load import Request, Send, log_in, repeat
from tests.e2e.cloud import ADMINISTRATOR, NAMESPACE, ROOT, secret
from tests.e2e.clusters import Kubectl, take_down
from tests.e2e.waiting import eventually

# All services that there are, each API once, which is the hardest to restart unnoticed. What holds data may have to
# restart as well, for programs of its pods that change: it has three members, as clouds in production do.
MANIFEST = ROOT / "tests" / "e2e" / "cloud.yaml"
THREE = ROOT / "tests" / "chaos" / "upgrade.yaml"
NAME = "upgrade"
# Logging in by password is work on purpose: more clients would only measure the machine.
CLIENTS = 2
# All operators look at everything again within a minute; a restart that is too much would come by then.
SETTLED = 75.0
KINDS = "deployments,statefulsets,controllerrevisions,pods,secrets,persistentvolumeclaims,services"
# What holds data; each of these is a StatefulSet.
HOLDING_DATA = ("memcached", "openstack-galera", "ovsdbserver-nb", "ovsdbserver-sb", "rabbitmq-server")
# It has one member, and may not restart at all.
ALONE = "memcached"
# Each is removed by the test, and only an operator of its service makes it again.
POLICIES = (
    *("barbican", "glance", "keystone", "memcached", "neutron", "nova", "nova-api", "openstack"),
    *("ovncontroller", "ovndbcluster-nb", "ovnnorthd", "placement", "rabbitmq"),
)

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Kept:
    """What an upgrade must not change."""

    restarts: dict[str, Any]
    template: dict[str, Any]
    secrets: dict[str, Any]
    claims: dict[str, Any]
    addresses: dict[str, Any]
    catalog: list[tuple[str, str, str]]

    def changes(self, after: "Kept") -> list[str]:
        """Return what is no longer as it was, and is not only new; of Secrets the names, not what is in them."""
        changed = []
        for field in fields(self):
            old, new = getattr(self, field.name), getattr(after, field.name)
            if isinstance(old, dict):
                changed += [f"{field.name}: {key}" for key, value in old.items() if new.get(key) != value]
            elif old != new:
                changed += [f"{field.name}: {old} became {new}"]
        return changed


@dataclass(frozen=True)
class Cloud:
    """The cloud that is upgraded, and who visits it."""

    kubectl: Kubectl

    def objects(self) -> dict[tuple[str, str], Any]:
        """Return what there is, by kind and name."""
        items = json.loads(self.kubectl("get", KINDS, "--output=json"))["items"]
        return {(item["kind"], item["metadata"]["name"]): item for item in items}

    def kept(self) -> Kept:
        """Read what an upgrade must not change."""
        return Kept(**kept_of(self.objects()), catalog=self.catalog())

    def revisions(self) -> dict[str, int]:
        """Return for each workload how many pod templates it has had."""
        return revisions_of(self.objects())

    def operators(self) -> set[str]:
        """Return which pods hold the operators' leases."""
        leases = json.loads(self.kubectl("get", "leases", f"--namespace={SYSTEM}", "--output=json"))["items"]
        return {lease["spec"].get("holderIdentity", "").rpartition("_")[0] for lease in leases}

    def log_in(self) -> Request:
        """Return the request for a token of the administrator."""
        name, domain = ADMINISTRATOR
        account = {
            "name": name,
            "domain": {"name": domain},
            "password": secret(self.kubectl, "osp-secret", "AdminPassword"),
        }
        scope = {"project": {"name": name, "domain": {"name": domain}}}
        url = self.kubectl.get("keystoneapi/keystone", "{.status.apiEndpoints.public}")
        return log_in(url, {"methods": ["password"], "password": {"user": account}}, scope)

    def catalog(self) -> list[tuple[str, str, str]]:
        """Return the types, interfaces and URLs of the catalog."""
        answer = self.log_in().send()
        assert not answer.trouble, answer
        entries = json.loads(answer.body)["token"]["catalog"]
        return sorted(
            (entry["type"], each["interface"], each["url"]) for entry in entries for each in entry["endpoints"]
        )

    def visit(self) -> Callable[[Send], None]:
        """Return what a client does: it logs in, reads the catalog, and lists what each service has."""
        entrance = self.log_in()
        public = {kind: url for kind, interface, url in self.catalog() if interface == "public"}
        questions = {
            "catalog": f"{public['identity']}/v3/auth/catalog",
            "images": f"{public['image']}/v2/images",
            "resource providers": f"{public['placement']}/resource_providers",
            "secrets": f"{public['key-manager']}/v1/secrets",
            "servers": f"{public['compute']}/servers",
            "networks": f"{public['network']}/v2.0/networks",
        }

        def once(send: Send) -> None:
            token = send("token", entrance).token
            if token:
                for name, url in questions.items():
                    send(name, Request(url, {"X-Auth-Token": token, "Accept": "application/json"}))

        return once


def revisions_of(found: dict[tuple[str, str], Any]) -> dict[str, int]:
    """Return how many pod templates each workload has had, of all objects. Pure."""
    revisions: dict[str, int] = {}
    for (kind, name), item in found.items():
        if kind == "Deployment":
            revisions[name] = int(item["metadata"]["annotations"]["deployment.kubernetes.io/revision"])
        if kind == "ControllerRevision":
            owner = item["metadata"]["ownerReferences"][0]["name"]
            revisions[owner] = max(revisions.get(owner, 0), item["revision"])
    return revisions


def kept_of(found: dict[tuple[str, str], Any]) -> dict[str, dict[str, Any]]:
    """Return what must be equal before and after, of all objects. Pure."""

    def of(kind: str, take: Callable[[Any], Any]) -> dict[str, Any]:
        taken = {name: take(item) for (each, name), item in found.items() if each == kind}
        return {name: value for name, value in taken.items() if value is not None}

    def restarts(pod: Any) -> Any:
        # A pod that was replaced in its turn has the same name, and begins at none.
        owners = {owner["name"] for owner in pod["metadata"].get("ownerReferences", ())}
        counts = [container["restartCount"] for container in pod["status"].get("containerStatuses", ())]
        return counts if owners & set(HOLDING_DATA) else None

    def template(workload: Any) -> Any:
        return workload["spec"]["template"] if workload["metadata"]["name"] == ALONE else None

    def data(item: Any) -> Any:
        # Helm's records and the configuration are written by each version in its own way.
        generated = item["type"].startswith("helm.sh/") or "-config-data" in item["metadata"]["name"]
        return None if generated else item.get("data", {})

    def address(service: Any) -> Any:
        ports = {port["name"]: (port["port"], port.get("nodePort")) for port in service["spec"]["ports"]}
        return service["spec"]["clusterIP"], ports

    return {
        "restarts": of("Pod", restarts),
        "template": of("StatefulSet", template),
        "secrets": of("Secret", data),
        "claims": of("PersistentVolumeClaim", lambda item: (item["metadata"]["uid"], item["spec"])),
        "addresses": of("Service", address),
    }


def merged(base: Any, over: Any) -> Any:
    """Return a manifest with another one laid over it. Pure."""
    if not isinstance(base, dict) or not isinstance(over, dict):
        return over
    return {**base, **{key: merged(base.get(key), value) for key, value in over.items()}}


def up(checkout: Path, manifest: Path) -> None:
    """Run `stackwright up` of a checkout, as a person does there."""
    command = [sys.executable, "-m", "stackwright.cli", "up", "--yes", "--name", NAME, "--cloud", str(manifest)]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    done = subprocess.run(
        command, cwd=checkout, env=environment, capture_output=True, text=True, check=False, timeout=1500
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def earlier(tmp_path: Path, tell: Tell) -> Path:
    """A checkout of the earlier version."""
    try:
        commit = history.earlier(ROOT)
        tell(f"upgraded from {history.describe(ROOT, commit)}")
        return history.check_out(ROOT, commit, tmp_path / "earlier")
    except history.Missing as error:
        pytest.skip(str(error))


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """The cloud of the end-to-end tests, with three members of what holds data."""
    path = tmp_path / "cloud.yaml"
    path.write_text(yaml.safe_dump(merged(*(yaml.safe_load(each.read_text()) for each in (MANIFEST, THREE)))))
    return path


@pytest.fixture
def cloud(earlier: Path, manifest: Path) -> Iterator[Cloud]:
    """A cloud of all services, deployed by the earlier version in a cluster of its own."""
    if os.geteuid() != 0:
        pytest.skip("a cluster needs root")
    take_down(NAME)
    try:
        up(earlier, manifest)
        kubectl = Kubectl(binaries.ensure(programs.CLUSTER)["kubectl"], layout.of(NAME).kubeconfig, NAMESPACE)
        yield Cloud(kubectl)
    finally:
        take_down(NAME)


def test_an_upgrade_fails_no_request_and_restarts_each_service_once_at_most(
    cloud: Cloud, manifest: Path, tell: Tell
) -> None:
    kubectl = cloud.kubectl
    kept, revisions, operators = cloud.kept(), cloud.revisions(), cloud.operators()
    token = cloud.log_in().send().token
    with repeat(cloud.visit(), CLIENTS) as seen:
        eventually(lambda: seen.answered > 50, "the load has begun")
        began = time.monotonic()
        up(ROOT, manifest)
        took = time.monotonic() - began
        look_anew(cloud, operators)
        for workload in workloads(cloud):
            kubectl("rollout", "status", workload, "--timeout=600s")
        time.sleep(SETTLED)
    rolled = {name: count - revisions.get(name, count) for name, count in cloud.revisions().items()}
    tell(f"upgraded in {took:.0f} s: {seen.summary()}; of each: {dict(seen.names)}; restarts: {rolled}")
    # All of it at once: a run takes ten minutes.
    often = {name: count for name, count in rolled.items() if count > 1}
    assert (seen.lost, kept.changes(cloud.kept()), often) == ([], [], {})
    kubectl("wait", "openstackcontrolplane", "--all", "--for=condition=Ready", "--timeout=1s")
    check = Request(cloud.log_in().url, {"X-Auth-Token": token, "X-Subject-Token": token})
    assert check.send().trouble == "", "a token from before the upgrade is still valid"


def workloads(cloud: Cloud) -> list[str]:
    """Return all workloads, by kind and name."""
    return cloud.kubectl("get", "deployments,statefulsets,daemonsets", "--output=name").split()


def look_anew(cloud: Cloud, before: set[str]) -> None:
    """Wait until each of the new operators has done something for its service, and all services are ready."""
    kubectl = cloud.kubectl
    eventually(lambda: not cloud.operators() & before, "the new operators hold all leases")
    kubectl("delete", *(f"networkpolicy/{name}" for name in POLICIES))
    for name in POLICIES:
        kubectl("wait", "--for=create", f"networkpolicy/{name}", "--timeout=120s")
    resources = (
        "openstackcontrolplanes,keystoneapis,glances,placementapis,barbicans,nova,neutronapis,"
        "ovndbclusters,ovnnorthds,ovncontrollers,galeras,rabbitmqs,memcacheds"
    )
    # All services may roll at once, on as few as two cores, beside the load.
    kubectl("wait", resources, "--all", "--for=condition=Ready", "--timeout=600s")

"""A service is a folder and a chart: one that nobody knows is put into a checkout, and all that follows is there."""

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright import services
from stackwright.adapters.identity import Credentials, Keystone, Session
from stackwright.kube.builtin import Deployment, Job, Secret
from stackwright.kube.builtin import Service as KubernetesService
from stackwright.kube.client import Client
from stackwright.kube.conditions import is_true
from stackwright.kube.resource import JsonObject
from stackwright.local.apiserver.server import ApiServer
from stackwright.services.mariadb.kinds import Galera
from stackwright.simulator import Script, simulated
from tests.fakes.running import fake
from tests.functional import neighbours
from tests.functional.cloud import ROOT
from tests.functional.watching import eventually

TEAPOT = Path(__file__).parent / "teapot"
ADMIN = Credentials("admin", "wonderland", "admin")
UMBRELLA = services.control_plane()
WHO = "teapot-operator"


@dataclass(frozen=True)
class Checkout:
    """A copy of what we have, with one service more, and our program in it."""

    root: Path
    kubeconfig: Path

    def words(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", *arguments]

    def run(self, *arguments: str, path: Path | None = None) -> str:
        environment = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"}
        words = self.words(*arguments)
        done = subprocess.run(
            words, cwd=self.root, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def checkout(private_apiserver: ApiServer, tmp_path: Path) -> Checkout:
    root = tmp_path / "checkout"
    for folder in ("stackwright", "charts", "images"):
        without = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, root / folder, symlinks=True, ignore=without)
    # This is all that it takes.
    without = shutil.ignore_patterns("__pycache__", "chart")
    shutil.copytree(TEAPOT, root / "stackwright" / "services" / "teapot", ignore=without)
    shutil.copytree(TEAPOT / "chart", root / "charts" / "teapot")
    (root / "charts" / "teapot" / "charts").mkdir()
    (root / "charts" / "teapot" / "charts" / "library").symlink_to("../../library")
    found = Checkout(root, private_apiserver.kubeconfig)
    found.run("stackwright.controllers.chart_files", "charts")
    return found


def allow(checkout: Checkout, kubectl: Path, kubeconfig: Path) -> None:
    """Give somebody the rights of the operators that work here, as they are derived, and a file to be him."""
    checkout.run("stackwright.controllers.permissions", "permissions.yaml")
    granted = yaml.safe_load((checkout.root / "permissions.yaml").read_text())["services"]
    rules = [rule for word in ("core", "keystone", "teapot") for part in granted[word].values() for rule in part]
    # Where its leases would be is part of the operators' own chart.
    rules.append({"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "create", "patch"]})
    group = "rbac.authorization.k8s.io"
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": WHO}, "rules": rules}
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": WHO},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": WHO},
        "subjects": [{"apiGroup": group, "kind": "User", "name": WHO}],
    }
    command = [str(kubectl), "--kubeconfig", str(checkout.kubeconfig), "apply", "--filename=-"]
    subprocess.run(command, input=yaml.safe_dump_all((role, binding)), text=True, check=True, capture_output=True)
    said = yaml.safe_load(checkout.kubeconfig.read_text())
    said["users"][0]["user"] |= {"as": WHO, "as-groups": ["system:authenticated"]}
    kubeconfig.write_text(yaml.safe_dump(said))


@contextlib.asynccontextmanager
async def operator(checkout: Checkout, kubeconfig: Path, namespace: str, helm: Path) -> AsyncIterator[None]:
    """The operator of the checkout, as a program, for the services that are tried."""
    images = checkout.root / "mine.yaml"
    images.write_text("registry: registry.example\ntag: '1'\n")
    words = ["--kubeconfig", str(kubeconfig), "--namespace", namespace, "--images", str(images)]
    words += ["--services", "core,keystone,teapot", "--webhooks", "off", "--no-leader-election"]
    words += ["--health-port", "0"]
    environment = {**os.environ, "PATH": f"{helm.parent}:{os.environ['PATH']}"}
    log = checkout.root / "operator.log"
    with log.open("w") as output:
        process = await asyncio.create_subprocess_exec(
            *checkout.words("stackwright.cli", "operator", *words),
            cwd=checkout.root,
            env=environment,
            stdout=output,
            stderr=output,
        )
        try:
            yield
        except BaseException:
            print(log.read_text()[-5000:])  # noqa: T201  why it failed
            raise
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.wait()


def control_plane(namespace: str, keystone: str) -> JsonObject:
    urls = {interface: {"endpointURL": keystone} for interface in ("public", "internal")}
    elsewhere = {"externalKeystoneAPI": True, "override": {"service": urls}}
    spec = {
        "secret": "osp-secret",
        "storageClass": "local",
        "keystone": {"template": elsewhere},
        "teapot": {"template": {"kettle": "silver"}},
    }
    return {"metadata": {"name": "openstack", "namespace": namespace}, "spec": spec}


async def test_a_folder_and_a_chart_are_a_service(
    private_client: Client,
    private_namespace: str,
    checkout: Checkout,
    kubernetes: dict[str, Path],
    tmp_path: Path,
) -> None:
    client, namespace = private_client, private_namespace
    checkout.run("stackwright.cli", "crds", "--install", "--kubeconfig", str(checkout.kubeconfig))
    allow(checkout, kubernetes["kubectl"], tmp_path / "kubeconfig")
    passwords = {"AdminPassword": ADMIN.password, "TeapotPassword": "earl-grey", "DbRootPassword": "root"}
    secret = {"metadata": {"name": "osp-secret", "namespace": namespace}, "stringData": passwords}
    await client.apply(Secret, secret, field_manager="user")
    with fake("tests.fakes.keystone", ADMIN.password) as keystone:
        async with (
            simulated(client, namespace, Script()),
            neighbours.schemas(client, namespace),
            operator(checkout, tmp_path / "kubeconfig", namespace, kubernetes["helm"]),
        ):
            await client.apply(UMBRELLA, control_plane(namespace, keystone.url), field_manager="user")
            # What it needs was found out from its section.
            server = await eventually(client, Galera, "openstack", namespace, lambda _: True)
            status = {"hostname": f"openstack.{namespace}.svc", "port": 3306, "bootstrapped": True}
            await neighbours.tell(client, server, status)
            await eventually(
                client,
                UMBRELLA,
                "openstack",
                namespace,
                lambda seen: is_true(seen.status.conditions, "OpenStackControlPlaneTeapotAPIReady"),
            )
        await everything_is_there(client, namespace, Keystone(Session(keystone.url, ADMIN)))


async def everything_is_there(client: Client, namespace: str, keystone: Keystone) -> None:
    config = await client.get(Secret, "teapot-config-data", namespace)
    assert {"01-teapot.conf", "02-teapot-override.conf", "api.json", "db-sync.json"} == set(config.data)
    deployment = await client.get(Deployment, "teapot", namespace)
    container: dict[str, Any] = deployment.spec["template"]["spec"]["containers"][0]
    assert container["image"] == "registry.example/openstack:1"
    jobs = await client.list(Job, namespace, labels="app.kubernetes.io/instance=teapot")
    assert [job.metadata.labels["app.kubernetes.io/component"] for job in jobs] == ["db-sync"]
    for interface in ("public", "internal"):
        service = await client.get(KubernetesService, f"teapot-{interface}", namespace)
        assert service.spec["ports"][0]["port"] == 8123
    (entry,) = await keystone.find_services("tea", "teapot")
    urls = {found.interface: found.url for found in await keystone.endpoints() if found.service_id == entry.id}
    assert urls == {name: f"http://teapot-{name}.{namespace}.svc:8123/v1" for name in ("public", "internal")}
    assert await keystone.login(Credentials("teapot", "earl-grey", "service")) is not None


def test_the_program_of_a_checkout_knows_a_service_that_was_put_there(
    checkout: Checkout, kubernetes: dict[str, Path]
) -> None:
    resource = {
        "apiVersion": "teapot.openstack.org/v1beta1",
        "kind": "TeapotAPI",
        "metadata": {"name": "teapot", "namespace": "openstack"},
        "spec": {"databaseInstance": "openstack", "secret": "osp-secret"},
    }
    (checkout.root / "teapot.yaml").write_text(yaml.safe_dump(resource))
    words = ("render", "teapot", "--file", "teapot.yaml", "--manifests", "--image", "registry.example/openstack:1")
    printed = checkout.run("stackwright.cli", *words, path=kubernetes["helm"].parent)
    rendered = {(body["kind"], body["metadata"]["name"]) for body in yaml.safe_load_all(printed) if body}
    assert {("Deployment", "teapot"), ("Service", "teapot-public"), ("Secret", "teapot-config-data")} <= rendered

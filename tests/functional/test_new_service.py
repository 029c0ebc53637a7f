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
from stackwright.adapters.identity import Credentials
from stackwright.api.keystone import KeystoneService
from stackwright.api.mariadb import MariaDBAccount
from stackwright.blueprint.use import CONTENT, READERS, noted
from stackwright.kube import config
from stackwright.kube.builtin import DaemonSet, Deployment, Job, Secret
from stackwright.kube.client import Client
from stackwright.kube.conditions import find, is_true
from stackwright.kube.errors import Invalid
from stackwright.kube.resource import JsonObject
from stackwright.local.apiserver.server import ApiServer
from stackwright.services.mariadb.kinds import Galera
from stackwright.services.memcached.kinds import Memcached
from stackwright.services.rabbitmq.kinds import RabbitMq
from stackwright.simulator import Script, simulated
from tests.fakes.running import fake
from tests.functional import neighbours
from tests.functional.cloud import ROOT, decoded
from tests.functional.conftest import fresh_namespace
from tests.functional.teapot.kinds import TeapotAPI, TeapotCell
from tests.functional.watching import eventually, gone
from tests.ports import free_port

TEAPOT = Path(__file__).parent / "teapot"
ADMIN = Credentials("admin", "wonderland", "admin")
UMBRELLA = services.control_plane()
WHO = "teapot-operator"


@dataclass(frozen=True)
class Checkout:
    """A copy of what we have, with one service more, and our program in it."""

    root: Path

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
def checkout(tmp_path: Path) -> Checkout:
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
    found = Checkout(root)
    found.run("stackwright.controllers.chart_files", "charts")
    return found


def allow(checkout: Checkout, kubectl: Path, server: ApiServer, kubeconfig: Path) -> None:
    """Give somebody the rights of the operators that work here, as they are derived, and a file to be him."""
    checkout.run("stackwright.controllers.permissions", "permissions.yaml")
    granted = yaml.safe_load((checkout.root / "permissions.yaml").read_text())["services"]
    rules = [rule for word in ("core", "keystone", "teapot") for part in granted[word].values() for rule in part]
    # Where its leases would be, and its webhooks, is part of the operators' own chart.
    webhooks = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]
    for api, resources in (("", ["namespaces"]), ("admissionregistration.k8s.io", webhooks)):
        rules.append({"apiGroups": [api], "resources": resources, "verbs": ["get", "create", "patch"]})
    group = "rbac.authorization.k8s.io"
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": WHO}, "rules": rules}
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": WHO},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": WHO},
        "subjects": [{"apiGroup": group, "kind": "User", "name": WHO}],
    }
    command = [str(kubectl), "--kubeconfig", str(server.kubeconfig), "apply", "--filename=-"]
    subprocess.run(command, input=yaml.safe_dump_all((role, binding)), text=True, check=True, capture_output=True)
    said = yaml.safe_load(server.kubeconfig.read_text())
    said["users"][0]["user"] |= {"as": WHO, "as-groups": ["system:authenticated"]}
    kubeconfig.write_text(yaml.safe_dump(said))


@contextlib.asynccontextmanager
async def operator(checkout: Checkout, kubeconfig: Path, namespace: str, helm: Path) -> AsyncIterator[None]:
    """The operator of the checkout, as a program, for the services that are tried."""
    images = checkout.root / "mine.yaml"
    images.write_text("registry: registry.example\ntag: '1'\n")
    words = ["--kubeconfig", str(kubeconfig), "--namespace", namespace, "--images", str(images)]
    words += ["--services", "core,keystone,teapot", "--no-leader-election"]
    words += ["--webhook-port", str(free_port())]
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
        "teapot": {"template": {"teapotAPI": {"kettle": "silver", "cells": {"cell1": {}}}}},
    }
    return {"metadata": {"name": "openstack", "namespace": namespace}, "spec": spec}


@pytest.mark.long
async def test_a_folder_and_a_chart_are_a_service(
    fresh_apiserver: ApiServer, checkout: Checkout, kubernetes: dict[str, Path], tmp_path: Path
) -> None:
    """That it comes up and goes, and what all services have in common, its row says (services/cases/teapot.py)."""
    kubeconfig = str(fresh_apiserver.kubeconfig)
    checkout.run("stackwright.cli", "crds", "--install", "--kubeconfig", kubeconfig)
    allow(checkout, kubernetes["kubectl"], fresh_apiserver, tmp_path / "kubeconfig")
    async with Client(config.load(fresh_apiserver.kubeconfig)) as client:
        namespace = await fresh_namespace(client, "teapot")
        passwords = {"AdminPassword": ADMIN.password, "TeapotPassword": "earl-grey", "DbRootPassword": "root"}
        secret = {"metadata": {"name": "osp-secret", "namespace": namespace}, "stringData": passwords}
        await client.apply(Secret, secret, field_manager="user")
        with fake("tests.fakes.keystone", ADMIN.password) as keystone:
            async with (
                simulated(client, namespace, Script()),
                neighbours.schemas(client, namespace),
                neighbours.broker(client, namespace),
                operator(checkout, tmp_path / "kubeconfig", namespace, kubernetes["helm"]),
            ):
                await client.apply(UMBRELLA, control_plane(namespace, keystone.url), field_manager="user")
                # What it needs was found out from its section.
                server = await eventually(client, Galera, "openstack", namespace, lambda _: True)
                status = {"hostname": f"openstack.{namespace}.svc", "port": 3306, "bootstrapped": True}
                await neighbours.tell(client, server, status)
                # So was what its cells need, which it does not need itself.
                cache = await eventually(client, Memcached, "memcached", namespace, lambda _: True)
                servers = [f"memcached-0.memcached.{namespace}.svc:11211"]
                await neighbours.tell(client, cache, {"serverList": servers})
                await eventually(
                    client,
                    UMBRELLA,
                    "openstack",
                    namespace,
                    lambda seen: is_true(seen.status.conditions, "OpenStackControlPlaneTeapotReady"),
                )
                await the_program_knows_it(client, namespace)
                await a_cell_is_a_child(client, namespace)
                await machines_outside_get_what_they_reach(client, namespace)
                await a_kind_of_others_is_checked(client, namespace)
                await a_credential_goes_when_nobody_uses_it(client, namespace)
                await a_cell_works_alone(client, namespace)


async def the_program_knows_it(client: Client, namespace: str) -> None:
    config = await client.get(Secret, "teapot-config-data", namespace)
    ours = {"01-teapot.conf", "02-teapot-override.conf", "api.json", "db-sync.json", "map-cell1.json"}
    assert set(config.data) == ours
    deployment = await client.get(Deployment, "teapot", namespace)
    container: dict[str, Any] = deployment.spec["template"]["spec"]["containers"][0]
    assert container["image"] == "registry.example/openstack:1"


async def a_cell_is_a_child(client: Client, namespace: str) -> None:
    """A cell is a resource of its own, with what its parent gave it: brewers, and a kettle on every node."""
    cell = await client.get(TeapotCell, "teapot-cell1", namespace)
    owner = cell.metadata.controller
    assert owner is not None
    assert (owner.kind, owner.name) == ("TeapotAPI", "teapot")
    kettle = await client.get(DaemonSet, "teapot-cell1-kettle", namespace)
    assert kettle.spec["template"]["spec"]["hostNetwork"] is True
    assert kettle.spec["template"]["spec"]["hostPID"] is True
    brewer = await client.get(Deployment, "teapot-cell1-brewer", namespace)
    labels = brewer.spec["template"]["metadata"]["labels"]
    assert labels["app.kubernetes.io/name"] == "teapot-cell"
    # Its connections came as a Secret, and the firewall of the servers opens to it all the same.
    assert labels["database.needs.openstack.org/openstack"] == "true"
    assert labels["broker.needs.openstack.org/rabbitmq"] == "true"
    assert labels["cache.needs.openstack.org/memcached"] == "true"
    teapot = await client.get(TeapotAPI, "teapot", namespace)
    assert is_true(teapot.status.conditions, "Cell-cell1-Ready")


async def machines_outside_get_what_they_reach(client: Client, namespace: str) -> None:
    """What is written for machines outside has an address of theirs, and there is nothing before there is one."""
    name = "teapot-cell1-pourer-config"
    assert await client.find(Secret, name, namespace) is None
    broker = await client.get(RabbitMq, "rabbitmq", namespace)
    await neighbours.tell(client, broker, {"outsideAddress": "192.0.2.7:30567"})
    outside = await eventually(client, Secret, name, namespace, lambda _: True)
    assert "@192.0.2.7:30567/" in decoded(outside)["01-teapot.conf"]


async def a_kind_of_others_is_checked(client: Client, namespace: str) -> None:
    """The API server asks Teapot about entries of the catalog, which are Keystone's."""
    spec = {"serviceName": "cup", "serviceType": "cup", "serviceUser": "cup", "secret": "osp-secret"}
    spec |= {"passwordSelector": "TeapotPassword"}
    entry = {"metadata": {"name": "somebody-cup", "namespace": namespace}, "spec": spec}
    with pytest.raises(Invalid, match="ends like a cup of Teapot; choose another name"):
        await client.apply(KeystoneService, entry, field_manager="user")


async def a_credential_goes_when_nobody_uses_it(client: Client, namespace: str) -> None:
    """Another account for a cell maps it anew and rolls its pods; the former account goes when they have rolled."""
    given = await client.get(Secret, "teapot-cell1", namespace)
    before = {job.metadata.name for job in await mappings(client, namespace)}
    template = {"cells": {"cell1": {"databaseAccount": "second"}}}
    patch = {"spec": {"teapot": {"template": {"teapotAPI": template}}}}
    await client.patch(UMBRELLA, "openstack", namespace, patch)

    assert decoded(given)["user"] == "teapot_cell1"
    second = await eventually(
        client, Secret, "teapot-cell1", namespace, lambda secret: decoded(secret)["user"] == "second"
    )
    # The cell says in its own status with what it works: the Secret names it.
    assert second.metadata.annotations[READERS] == "TeapotCell/teapot-cell1"
    works_with = {"teapot-cell1": second.metadata.annotations[CONTENT]}
    await eventually(client, TeapotCell, "teapot-cell1", namespace, lambda cell: noted(cell) == works_with)
    await gone(client, MariaDBAccount, "teapot-cell1", namespace)
    assert {job.metadata.name for job in await mappings(client, namespace)} - before, "the cell was mapped anew"


async def mappings(client: Client, namespace: str) -> list[Job]:
    return await client.list(Job, namespace, labels="app.kubernetes.io/component=map-cell1")


async def a_cell_works_alone(client: Client, namespace: str) -> None:
    """A cell needs no parent: somebody writes its Secret by hand. Here it is another part of the section."""
    template = {"kiosk": {"secret": "by-hand"}}
    kiosk = {"nodeSelector": {"kubernetes.io/os": "linux"}, "teapot": {"template": template}}
    await client.patch(UMBRELLA, "openstack", namespace, {"spec": kiosk})

    def asks(seen: Any) -> bool:
        ready = find(seen.status.conditions, "InputReady")
        return ready is not None and "Secret by-hand, which spec.secret names, does not exist" in ready.message

    found = await eventually(client, TeapotCell, "kiosk", namespace, asks)
    assert found.metadata.controller is not None
    assert found.metadata.controller.kind == "OpenStackControlPlane"
    assert found.spec.nodeSelector == {"kubernetes.io/os": "linux"}, "what the umbrella hands down to every part"
    condition = "OpenStackControlPlaneTeapotReady"

    def tells(seen: Any) -> bool:
        ready = find(seen.status.conditions, condition)
        return ready is not None and "TeapotCell kiosk" in ready.message

    await eventually(client, UMBRELLA, "openstack", namespace, tells)
    content = {"hostname": "db.example.org", "port": "3306", "database": "cups", "user": "u", "password": "p"}
    content |= {"transport_url": "rabbit://u:p@bus.example.org:5672/", "quorumqueues": "true"}
    secret = {"metadata": {"name": "by-hand", "namespace": namespace}, "stringData": content}
    await client.apply(Secret, secret, field_manager="user")
    await eventually(client, TeapotCell, "kiosk", namespace, lambda seen: is_true(seen.status.conditions))
    await eventually(client, UMBRELLA, "openstack", namespace, lambda seen: is_true(seen.status.conditions, condition))
    without = {"spec": {"teapot": {"template": {"kiosk": None}}}}
    await client.patch(UMBRELLA, "openstack", namespace, without)
    await gone(client, TeapotCell, "kiosk", namespace)
    assert await client.find(TeapotAPI, "teapot", namespace) is not None


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

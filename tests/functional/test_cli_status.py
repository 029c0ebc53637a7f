"""`stackwright status` on a real API server, with resources whose state the test writes."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from stackwright import services
from stackwright.kube.builtin import Deployment
from stackwright.kube.client import Client
from stackwright.kube.resource import owner_reference
from stackwright.local.apiserver.server import ApiServer, Shared
from stackwright.services.keystone.kinds import KeystoneAPI
from tests.functional.cli_resources import SINCE, tell
from tests.functional.commands import command, said_so_far, started
from tests.functional.definitions import defined
from tests.functional.running import lists
from tests.functional.watching import PATIENCE, until
from tests.functional.workloads import deployment

pytestmark = pytest.mark.usefixtures("kinds")


@pytest.fixture
def kubeconfig(apiserver: Shared) -> Path:
    return apiserver.kubeconfig


async def cloud(client: Client, namespace: str) -> tuple[Any, KeystoneAPI]:
    """Make a control plane with a Keystone that it owns, and pods that nobody runs."""
    spec = {"secret": "osp-secret", "storageClass": "local", "keystone": {}}
    of = services.control_plane()
    plane = await client.apply(of, {"metadata": {"name": "openstack", "namespace": namespace}, "spec": spec})
    metadata = {"name": "keystone", "namespace": namespace, "ownerReferences": [owner_reference(plane)]}
    spec = {"secret": "osp-secret", "databaseInstance": "openstack"}
    keystone = await client.apply(KeystoneAPI, {"metadata": metadata, "spec": spec})
    server = deployment("keystone", namespace)
    server["metadata"]["ownerReferences"] = [owner_reference(keystone)]
    await client.apply(Deployment, server)
    return plane, keystone


async def test_the_tree_says_what_waits_for_what(client: Client, namespace: str, kubeconfig: Path) -> None:
    plane, keystone = await cloud(client, namespace)
    await tell(client, plane, "False", "Info", "KeystoneAPI keystone: it waits")
    await tell(client, keystone, "False", "Error", "Secret osp-secret does not exist; create it")
    done = await command(kubeconfig, namespace, "status")
    assert done.exit_code == 4
    lines = done.stdout.splitlines()
    assert [line[:31].rstrip() for line in lines] == [
        "RESOURCE",
        "OpenStackControlPlane openstack",
        "└─ KeystoneAPI keystone",
        "   │",
        "   └─ Deployment keystone",
    ]
    assert "Secret osp-secret does not exist; create it" in lines[2]
    assert lines[3].endswith("needs Galera openstack (is not there), Memcached memcached (is not there)")
    assert "0 of 1" in lines[4]


async def test_exit_codes_follow_the_state(client: Client, namespace: str, kubeconfig: Path) -> None:
    empty = await command(kubeconfig, namespace, "status")
    assert (empty.exit_code, empty.stdout) == (3, "")
    assert f"There is no cloud in namespace {namespace}" in empty.stderr
    plane, keystone = await cloud(client, namespace)
    await tell(client, plane, "True")
    assert (await command(kubeconfig, namespace, "status")).exit_code == 3
    await tell(client, keystone, "True")
    assert (await command(kubeconfig, namespace, "status")).exit_code == 0
    unknown = await command(kubeconfig, namespace, "status", "glance")
    assert unknown.exit_code == 1
    assert "there are keystoneapi/keystone, openstackcontrolplane/openstack" in unknown.stderr


async def test_a_part_is_shown_as_json(client: Client, namespace: str, kubeconfig: Path) -> None:
    _, keystone = await cloud(client, namespace)
    await tell(client, keystone, "True")
    done = await command(kubeconfig, namespace, "status", "keystone", "-o", "json")
    assert done.exit_code == 0
    report = json.loads(done.stdout)
    assert (report["namespace"], report["state"]) == (namespace, "Ready")
    (node,) = report["resources"]
    assert (node["kind"], node["since"], node["reason"]) == ("KeystoneAPI", SINCE, "Told")
    assert [child["kind"] for child in node["children"]] == ["Deployment"]
    assert {"kind": "Galera", "name": "openstack", "service": True} in node["needs"]


async def test_waiting_ends_when_all_is_ready(client: Client, namespace: str, kubeconfig: Path) -> None:
    before = lists(KeystoneAPI)
    words = ("status", "keystone", "--wait", "--timeout", f"{PATIENCE:g}s")
    waiting = asyncio.create_task(command(kubeconfig, namespace, *words))
    # What does not exist yet is waited for too.
    await until(lambda: lists(KeystoneAPI) > before)
    await until(lambda: "There is no keystone here; there is nothing yet. It is waited for." in said_so_far())
    _, keystone = await cloud(client, namespace)
    await tell(client, keystone, "False", "Info", "Job keystone-db-sync is not finished")
    await until(lambda: "Job keystone-db-sync is not finished" in said_so_far())
    assert not waiting.done()
    await tell(client, keystone, "True")
    done = await waiting
    assert done.exit_code == 0
    assert "KeystoneAPI keystone" in done.stdout
    assert "KeystoneAPI keystone: Waiting: Job keystone-db-sync is not finished" in done.stderr


async def test_waiting_ends_in_time(client: Client, namespace: str, kubeconfig: Path) -> None:
    plane, keystone = await cloud(client, namespace)
    await tell(client, plane, "True")
    await tell(client, keystone, "False", "Info", "it waits")
    late = await command(kubeconfig, namespace, "status", "--wait", "--timeout", "1s")
    assert late.exit_code == 3
    await tell(client, keystone, "False", "Error", "somebody must act")
    wrong = await command(kubeconfig, namespace, "status", "--wait", "--timeout", "1s")
    assert wrong.exit_code == 4


async def test_changes_are_told_as_they_come_and_an_interrupt_ends_it(
    client: Client, namespace: str, kubeconfig: Path
) -> None:
    _, keystone = await cloud(client, namespace)
    await tell(client, keystone, "False", "Info", "it waits")
    async with started(kubeconfig, namespace, "status", "keystone", "--watch") as watching:
        await watching.until("it waits")
        await tell(client, keystone, "True")
        line = await watching.until("KeystoneAPI keystone: Ready")
        assert line[2] == ":"
        code, complaint = await watching.interrupt()
    assert (code, complaint.strip()) == (130, "")


async def test_a_namespace_that_no_operator_works_in_is_told_so(
    private_client: Client, private_namespace: str, private_apiserver: ApiServer
) -> None:
    client, namespace, kubeconfig = private_client, private_namespace, private_apiserver.kubeconfig
    await defined(client)
    await cloud(client, namespace)
    operator = deployment("operator", namespace)
    marks = {"name": "stackwright", "component": "operator", "instance": "mine"}
    operator["metadata"]["labels"] = {f"app.kubernetes.io/{name}": word for name, word in marks.items()}
    (container,) = operator["spec"]["template"]["spec"]["containers"]
    for watched, told in (("elsewhere", True), (namespace, False)):
        container["args"] = [f"--namespace={watched}"]
        await client.apply(Deployment, operator)
        for words in (["status"], ["explain", "keystone"]):
            done = await command(kubeconfig, namespace, *words)
            # Operators that other tests left on this server work elsewhere, too.
            assert bool(re.search(rf"--set 'namespaces={{(\S+,)?elsewhere,(\S+,)?{namespace}}}'", done.stderr)) is told

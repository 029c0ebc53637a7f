"""`stackwright logs` on a real API server, with a node that has logs."""

import asyncio
import shlex
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from stackwright.kube.builtin import Job
from stackwright.kube.client import Client
from stackwright.kube.resource import JsonObject, owner_reference
from stackwright.local.apiserver.server import ApiServer
from stackwright.services.keystone.kinds import KeystoneAPI
from tests.functional import workloads
from tests.functional.commands import command, started
from tests.functional.definitions import defined
from tests.functional.fake_kubelet import Kubelet, kubelet, run_pod


@pytest.fixture
async def node(private_client: Client, private_namespace: str, tmp_path: Path) -> AsyncIterator[Kubelet]:
    """A node with logs, in a cluster of its own that has a Keystone."""
    await defined(private_client)
    spec = {"secret": "osp-secret", "databaseInstance": "openstack"}
    body = {"metadata": {"name": "keystone", "namespace": private_namespace}, "spec": spec}
    await private_client.apply(KeystoneAPI, body, field_manager="user")
    async with kubelet(private_client, tmp_path) as found:
        yield found


def pod(name: str, namespace: str, component: str, **metadata: Any) -> JsonObject:
    body = workloads.pod(name, namespace)
    body["metadata"] |= metadata
    body["metadata"]["labels"] = {
        "app.kubernetes.io/name": "keystone",
        "app.kubernetes.io/instance": "keystone",
        "app.kubernetes.io/component": component,
    }
    body["spec"]["containers"][0]["name"] = component
    return body


async def test_logs_of_all_pods_are_read_and_told_apart(
    node: Kubelet, private_client: Client, private_namespace: str, private_apiserver: ApiServer
) -> None:
    client, namespace, kubeconfig = private_client, private_namespace, private_apiserver.kubeconfig
    early = await command(kubeconfig, namespace, "logs", "keystone")
    assert early.exit_code == 1
    assert "keystoneapi/keystone has no pods" in early.stderr

    await run_pod(client, pod("keystone-1", namespace, "api"))
    node.logs["keystone-1", "api"] = "first\nzweite Zeile mit ä\nlast".encode()
    alone = await command(kubeconfig, namespace, "logs", "keystone", "--tail", "5", "--since", "10m")
    assert (alone.exit_code, alone.stdout) == (0, "first\nzweite Zeile mit ä\nlast\n")
    assert (node.asked[-1]["tailLines"], node.asked[-1]["sinceSeconds"]) == ("5", "600")

    job = await client.create(Job, {**workloads.job("keystone-db-sync", namespace), "spec": _unmanaged()})
    await run_pod(client, pod("sync", namespace, "db-sync", ownerReferences=[owner_reference(job)]))
    node.logs["sync", "db-sync"] = b"migrated\n"
    both = await command(kubeconfig, namespace, "logs", "keystoneapi/keystone")
    assert both.stdout.splitlines() == [
        "[sync] migrated",
        "[keystone-1] first",
        "[keystone-1] zweite Zeile mit ä",
        "[keystone-1] last",
    ]
    chosen = await command(kubeconfig, namespace, "logs", "keystone", "-c", "db-sync")
    assert chosen.stdout == "migrated\n"
    wrong = await command(kubeconfig, namespace, "logs", "keystone", "-c", "teapot")
    assert wrong.exit_code == 2
    assert "no pod has a container teapot; there are api, db-sync" in wrong.stderr
    unknown = await command(kubeconfig, namespace, "logs", "glance")
    assert unknown.exit_code == 1
    assert "there are keystoneapi/keystone" in unknown.stderr


async def test_pods_that_come_later_are_followed_too(
    node: Kubelet, private_client: Client, private_namespace: str, private_apiserver: ApiServer
) -> None:
    client, namespace = private_client, private_namespace
    node.logs["keystone-1", "api"] = b"early\n"
    node.logs["keystone-2", "api"] = b"late\n"
    await run_pod(client, pod("keystone-1", namespace, "api"))
    async with started(private_apiserver.kubeconfig, namespace, "logs", "keystone", "-f") as following:
        assert await following.until("early") == "[keystone-1/api] early"
        await run_pod(client, pod("keystone-2", namespace, "api"))
        assert await following.until("late") == "[keystone-2/api] late"
        code, complaint = await following.interrupt()
    assert (code, complaint.strip()) == (130, "")


async def test_a_reader_that_goes_away_ends_it_without_a_traceback(
    node: Kubelet, private_client: Client, private_namespace: str, private_apiserver: ApiServer
) -> None:
    # More than fits into a pipe.
    node.logs["keystone-1", "api"] = b"a line\n" * 100_000
    node.piece = 2**16
    await run_pod(private_client, pod("keystone-1", private_namespace, "api"))
    words = [sys.executable, "-m", "stackwright.cli", "logs", "keystone", "--follow"]
    words += ["--kubeconfig", str(private_apiserver.kubeconfig), "--namespace", private_namespace]
    async with asyncio.timeout(60):
        shell = await asyncio.create_subprocess_shell(
            f"{shlex.join(words)} | head -2", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        said, complaint = await shell.communicate()
    assert (said, complaint) == (b"[keystone-1/api] a line\n" * 2, b"")


async def test_logs_of_which_none_could_be_read_are_a_failure(
    node: Kubelet, private_client: Client, private_namespace: str, private_apiserver: ApiServer
) -> None:
    for name in ("keystone-1", "keystone-2"):
        await run_pod(private_client, pod(name, private_namespace, "api"))
    done = await command(private_apiserver.kubeconfig, private_namespace, "logs", "keystone")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "keystone-1/api: " in done.stderr
    node.logs["keystone-2", "api"] = b"first\n"
    done = await command(private_apiserver.kubeconfig, private_namespace, "logs", "keystone")
    assert (done.exit_code, done.stdout) == (0, "[keystone-2] first\n")


def _unmanaged() -> JsonObject:
    """A Job that Kubernetes leaves alone: it would release a pod that does not match the Job's selector."""
    return {**workloads.job("x", "y")["spec"], "managedBy": "example.org/nobody"}


async def test_a_node_that_leaves_a_log_open_is_not_waited_for(
    node: Kubelet, private_client: Client, private_namespace: str, private_apiserver: ApiServer
) -> None:
    await run_pod(private_client, pod("keystone-1", private_namespace, "api"))
    node.logs["keystone-1", "api"] = b"first\n"
    node.answers.clear()
    words = ("logs", "keystone", "--request-timeout", "1s")
    async with asyncio.timeout(60):
        done = await command(private_apiserver.kubeconfig, private_namespace, *words)
    assert done.exit_code == 1
    assert "did not answer" in done.stderr, done.stderr
    node.answers.set()

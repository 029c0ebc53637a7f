"""What kubectl and our commands show of nodes, on a real API server."""

import asyncio
import json
from pathlib import Path

import pytest

from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.cli import exit_codes
from stackwright.controllers.dataplane import run_job
from stackwright.controllers.dataplane.run_logs import RunLogs
from stackwright.kube.client import Client
from stackwright.local.apiserver.server import ApiServer, Shared
from tests.functional import workloads
from tests.functional.commands import command
from tests.functional.crds.kubectl import Kubectl
from tests.functional.dataplane.machines import plane
from tests.functional.definitions import defined
from tests.functional.fake_kubelet import kubelet, run_pod


@pytest.mark.usefixtures("kinds")
async def test_status_and_explain_say_how_far_each_node_is(
    client: Client, namespace: str, apiserver: Shared, kubernetes: dict[str, Path], tmp_path: Path
) -> None:
    async with plane(client, namespace) as here, here.operator():
        here.machines.faults["prepare", "full"] = ("failed", "No space left on device")
        await here.role()
        for name in ("fine", "full"):
            await here.node(name)
        await here.ready(OpenStackDataPlaneNode, "fine")
        await here.says(OpenStackDataPlaneNode, "DeploymentReady", "No space left on device", "full")
        kubectl = Kubectl(kubernetes["kubectl"], apiserver.kubeconfig, tmp_path)
        shown = await asyncio.to_thread(kubectl, "get", "osdpnode", "--namespace", namespace)
        fine, full = (line.split() for line in shown.splitlines()[1:])
        assert fine[:5] == ["fine", "True", "compute", "fine.example", "Deployed"]
        assert full[:7] == ["full", "False", "compute", "full.example", "Deploying", "prepare", "ServiceFailed"]
        status = await command(apiserver.kubeconfig, namespace, "status")
        assert status.exit_code == exit_codes.IN_ERROR
        (line,) = [line for line in status.stdout.splitlines() if "OpenStackDataPlaneNode full" in line]
        assert "Deploying: Service prepare failed in task Do prepare: No space left on device" in line
        (line,) = [line for line in status.stdout.splitlines() if "OpenStackDataPlaneNode fine" in line]
        assert line.split()[-1] == "Deployed"
        # A service is there, and has nothing to wait for.
        (line,) = [line for line in status.stdout.splitlines() if "OpenStackDataPlaneService prepare" in line]
        assert "Ready" in line
        explained = await command(apiserver.kubeconfig, namespace, "explain", "node/full")
        assert "No space left on device" in explained.stdout


async def test_the_log_of_a_node_is_what_its_runs_say_of_it(
    private_client: Client, private_namespace: str, private_apiserver: ApiServer, tmp_path: Path
) -> None:
    client, namespace = private_client, private_namespace
    await defined(client)
    for name in ("one", "two"):
        wanted = {"metadata": {"name": name, "namespace": namespace}, "spec": {"role": "compute"}}
        await client.apply(OpenStackDataPlaneNode, wanted, field_manager="user")
    async with kubelet(client, tmp_path) as node:
        body = workloads.pod("prepare-1", namespace)
        body["metadata"]["labels"] = {run_job.RUN_LABEL: "prepare"}
        body["metadata"]["annotations"] = {run_job.NODES_ANNOTATION: "one,three"}
        body["spec"]["containers"][0]["name"] = run_job.CONTAINER
        pod = await run_pod(client, body)
        events = [
            {"host": "one", "status": "ok", "task": "Begin"},
            {"host": "three", "status": "failed", "task": "Begin", "message": "full"},
            {"summary": {"one": "ok", "three": "failed"}},
        ]
        log = "PLAY [all]\n" + "".join(f"{json.dumps(event)}\n" for event in events)
        node.logs["prepare-1", run_job.CONTAINER] = log.encode()
        shown = await command(private_apiserver.kubeconfig, namespace, "logs", "node/one")
        assert shown.exit_code == 0, shown.stderr
        assert shown.stdout.splitlines() == ["PLAY [all]", json.dumps(events[0]), json.dumps(events[2])]
        other = await command(private_apiserver.kubeconfig, namespace, "logs", "node/two")
        assert "openstackdataplanenode/two has no pods" in other.stderr
        # The operator reads the same log, the second time only what is new.
        logs = RunLogs()
        node.logs["prepare-1", run_job.CONTAINER] = log.rpartition('{"summary"')[0].encode()
        going = await logs.read(client, [pod], (), over=False)
        assert {name: host.state for name, host in going.hosts.items()} == {"one": "Running", "three": "Failed"}
        node.logs["prepare-1", run_job.CONTAINER] = log.encode()
        ended = await logs.read(client, [pod], (), over=False)
        assert ended.complete
        assert "sinceSeconds" in node.asked[-1]
        assert {name: host.state for name, host in ended.hosts.items()} == {"one": "Ok", "three": "Failed"}

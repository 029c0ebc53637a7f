"""The script by which a pod waits for a Job, with the rights that a chart gives it, on a real API server."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from stackwright.local.apiserver.server import Shared
from tests.charts.conftest import CHARTS, Render

SCRIPT = CHARTS / "library" / "files" / "wait_for_job.py"
PATIENCE = 30.0
Kubectl = Callable[..., str]


@pytest.fixture
def kubectl(kubernetes: dict[str, Path], apiserver: Shared, namespace: str) -> Kubectl:
    def run(*arguments: str, given: Any = None) -> str:
        command = [
            str(kubernetes["kubectl"]),
            "--kubeconfig",
            str(apiserver.kubeconfig),
            "--namespace",
            namespace,
            *arguments,
        ]
        text = yaml.safe_dump_all(given) if given else None
        return subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=60).stdout

    return run


@pytest.fixture
async def waiting(
    render: Render, kubectl: Kubectl, apiserver: Shared, namespace: str, tmp_path: Path
) -> AsyncIterator[asyncio.subprocess.Process]:
    """The script, started with a token of the chart's own account; it waits for db-sync."""
    objects = render("keystone", "--namespace", namespace)
    kinds = ("ServiceAccount", "ConfigMap", "Role", "RoleBinding")
    kubectl("apply", "--filename=-", given=[body for (kind, _), body in objects.items() if kind in kinds])
    cluster = yaml.safe_load(apiserver.kubeconfig.read_text())["clusters"][0]["cluster"]
    (tmp_path / "namespace").write_text(namespace)
    (tmp_path / "token").write_text(kubectl("create", "token", "keystone"))
    (tmp_path / "ca.crt").write_text(
        json.loads(kubectl("get", "configmap", "kube-root-ca.crt", "--output=json"))["data"]["ca.crt"]
    )
    server = urlsplit(cluster["server"])
    environment = {
        **os.environ,
        "SERVICE_ACCOUNT": str(tmp_path),
        "KUBERNETES_SERVICE_HOST": str(server.hostname),
        "KUBERNETES_SERVICE_PORT": str(server.port),
        "CONFIG_MAP": "keystone-wait",
        "JOB": "db-sync",
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, SCRIPT, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    yield process
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()


def job(name: str) -> dict[str, Any]:
    container = {"name": "one", "image": "localhost/nothing"}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    # Suspended: the controller leaves it to the test to say how it went.
    spec = {"suspend": True, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def ended(kind: str) -> str:
    now = "2026-01-01T00:00:00Z"
    before = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}[kind]
    conditions = [{"type": name, "status": "True", "lastTransitionTime": now} for name in (before, kind)]
    times = {"startTime": now, "completionTime": now} if kind == "Complete" else {"startTime": now}
    return json.dumps({"status": {**times, "conditions": conditions}})


async def says(process: asyncio.subprocess.Process, text: str) -> None:
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        lines = []
        while text not in (line := (await process.stdout.readline()).decode()):
            lines.append(line)
            assert line, f"It ended without {text!r} and said:\n{''.join(lines)}"


def end(kubectl: Kubectl, name: str, kind: str) -> None:
    kubectl("patch", "job", name, "--subresource=status", "--type=merge", "--patch", ended(kind))


async def test_it_waits_for_a_job_that_comes_later(waiting: asyncio.subprocess.Process, kubectl: Kubectl) -> None:
    await says(waiting, "Waiting for Job keystone-db-sync-abc")
    kubectl("create", "--filename=-", given=[job("keystone-db-sync-abc")])
    end(kubectl, "keystone-db-sync-abc", "Complete")
    await says(waiting, "Job keystone-db-sync-abc is complete")
    assert await waiting.wait() == 0


async def test_after_a_failed_job_it_waits_for_the_one_that_takes_its_place(
    waiting: asyncio.subprocess.Process, kubectl: Kubectl, render: Render
) -> None:
    await says(waiting, "Waiting for Job keystone-db-sync-abc")
    kubectl("create", "--filename=-", given=[job("keystone-db-sync-abc"), job("keystone-db-sync-new")])
    end(kubectl, "keystone-db-sync-abc", "Failed")
    await says(waiting, "Job keystone-db-sync-abc has failed, its log says why")
    objects = render("keystone", "--set", "jobs.db-sync.hash=new")
    kubectl("apply", "--filename=-", given=[objects["ConfigMap", "keystone-wait"], objects["Role", "keystone-wait"]])
    end(kubectl, "keystone-db-sync-new", "Complete")
    kubectl("delete", "job", "keystone-db-sync-abc")
    await says(waiting, "Job keystone-db-sync-new is complete")
    assert await waiting.wait() == 0

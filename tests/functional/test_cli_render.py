"""What `stackwright render` prints, taken by the real helm and the real kubectl."""

import asyncio
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from stackwright.cli.commands.render import render
from stackwright.kube.client import Client
from stackwright.local.apiserver.server import Shared

IMAGE = ("--image", "registry.example/a:1")


@pytest.mark.parametrize("service", ["keystone", "mariadb", "memcached", "rabbitmq"])
async def test_everything_that_is_rendered_can_be_applied(
    service: str,
    client: Client,
    namespace: str,
    apiserver: Shared,
    kubernetes: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STACKWRIGHT_HELM", str(kubernetes["helm"]))
    words = [service, "--manifests", "-n", namespace, *IMAGE]
    done = await asyncio.to_thread(CliRunner().invoke, render, words)
    assert done.exit_code == 0, done.output
    # Once all of it is there, db-sync, server and the rest find each Secret under the name that they look for.
    command = f"{kubernetes['kubectl']} --kubeconfig {apiserver.kubeconfig} apply -f - -o name"
    applied = await asyncio.to_thread(
        subprocess.run, command.split(), input=done.stdout, capture_output=True, text=True, check=False
    )
    assert applied.returncode == 0, applied.stderr
    assert applied.stderr == ""
    kinds = {line.partition("/")[0] for line in applied.stdout.splitlines()}
    assert kinds & {"deployment.apps", "statefulset.apps"}

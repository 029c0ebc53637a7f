"""The operator as a process runs it, with the rights and the certificates that its chart gives it."""

import asyncio
import contextlib
import dataclasses
import os
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from stackwright.cli.commands.crds import OLDEST_KUBERNETES
from stackwright.controllers.operator_process import Operation, operate
from stackwright.kube.config import Connection
from stackwright.local.apiserver.server import Shared
from tests.functional.cloud import environment

Helm = Callable[..., str]


RELEASE = "stackwright"


@pytest.fixture
def helm(kubernetes: dict[str, Path], apiserver: Shared, namespace: str, tmp_path: Path) -> Helm:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": str(apiserver.kubeconfig)}

    def run(*arguments: str | Path) -> str:
        command = [kubernetes["helm"], *arguments, "--namespace", namespace]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def as_operator(connection: Connection, namespace: str, word: str = "") -> Connection:
    """The way to the server with the rights of the operators' account alone, or of one service's own."""
    groups = ("system:serviceaccounts", "system:authenticated")
    account = f"system:serviceaccount:{namespace}:{RELEASE}-operator{f'-{word}' if word else ''}"
    headers = (("Impersonate-User", account), *(("Impersonate-Group", group) for group in groups))
    return dataclasses.replace(connection, namespace=namespace, impersonate=headers)


@contextlib.asynccontextmanager
async def operating(connection: Connection, operation: Operation) -> AsyncIterator[None]:
    task = asyncio.create_task(operate(connection, operation))
    try:
        yield
        assert not task.done(), task.exception()
    finally:
        task.cancel()
        await asyncio.wait((task,))


@pytest.fixture
def operation(kubernetes: dict[str, Path], namespace: str) -> Operation:
    surroundings = environment(kubernetes)
    return Operation(surroundings, namespace, OLDEST_KUBERNETES, namespaces=(namespace,), health_port=0)

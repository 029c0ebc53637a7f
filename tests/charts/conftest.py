"""Fixtures of the ring of charts: the real helm, and the functional ring's API server to ask what it would do."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from stackwright.local.apiserver.server import Shared
from tests.functional.conftest import apiserver, kubernetes

__all__ = ["apiserver", "kubernetes"]

Helm = Callable[..., str]


@pytest.fixture
def helm(kubernetes: dict[str, Path], tmp_path: Path) -> Helm:
    """Runs the real helm with directories of its own and returns what it printed."""

    def run(*arguments: str | Path, server: Shared | None = None) -> str:
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        if server is not None:
            environment["KUBECONFIG"] = str(server.kubeconfig)
        done = subprocess.run(
            [kubernetes["helm"], *arguments], env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, f"helm {' '.join(map(str, arguments))} failed:\n{done.stdout}{done.stderr}"
        return done.stdout

    return run

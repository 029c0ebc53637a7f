"""Fixtures of the ring of charts: the real helm, and the functional ring's API server to ask what it would do."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stackwright.kube import documents
from stackwright.local.apiserver.server import Shared
from tests.functional.conftest import apiserver, client, connection, kubernetes, namespace

__all__ = ["apiserver", "client", "connection", "kubernetes", "namespace"]

CHARTS = Path(__file__).parents[2] / "charts"
# What each chart has to be told, so that it renders all that it can.
VALUES = Path(__file__).parent / "values"

Helm = Callable[..., str]
# What a chart renders with further arguments of helm: the objects by kind and name.
Render = Callable[..., dict[tuple[str, str], dict[str, Any]]]
Refuse = Callable[..., str]


@pytest.fixture
def helm(kubernetes: dict[str, Path], tmp_path: Path) -> Helm:
    """Runs the real helm with directories of its own and returns what it printed."""

    def run(*arguments: str | Path, server: Shared | None = None, refused: bool = False) -> str:
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        if server is not None:
            environment["KUBECONFIG"] = str(server.kubeconfig)
        done = subprocess.run(
            [kubernetes["helm"], *arguments], env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        wrong = "succeeded" if refused else "failed"
        assert (done.returncode != 0) == refused, f"helm {arguments} {wrong}:\n{done.stdout}{done.stderr}"
        return done.stderr if refused else done.stdout

    return run


@pytest.fixture
def render(helm: Helm) -> Render:
    """Renders a chart with the values that show all of it and returns the objects by kind and name."""

    def run(chart: str, *arguments: str) -> dict[tuple[str, str], dict[str, Any]]:
        printed = helm("template", chart, CHARTS / chart, "--values", VALUES / f"{chart}.yaml", *arguments)
        return {(body["kind"], body["metadata"]["name"]): body for body in documents.read(printed)}

    return run


@pytest.fixture
def refuse(helm: Helm) -> Refuse:
    """Renders a chart that must be refused and returns what helm said."""

    def run(chart: str, *arguments: str) -> str:
        values = ["--values", str(VALUES / f"{chart}.yaml")]
        return helm("template", chart, CHARTS / chart, *values, *arguments, refused=True)

    return run

"""The programs of RabbitMQ's chart, and the nodes that they find."""

import importlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.unit.charts.rabbitmq.nodes import FILES, Nodes, Play


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ModuleType]]:
    names = ("attempts", "cluster", "flags", "hooks", "join", "peers", "prepare", "ready", "serve", "stop", "volume")
    monkeypatch.syspath_prepend(str(FILES))
    monkeypatch.setenv("POD_NAME", "rabbitmq-server-2")
    monkeypatch.setenv("POD_NAMESPACE", "openstack")
    monkeypatch.setenv("STATEFUL_SET", "rabbitmq-server")
    monkeypatch.setenv("NODES_SERVICE", "rabbitmq-nodes")
    yield {name: importlib.import_module(name) for name in names}
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture
def own(programs: dict[str, ModuleType], tmp_path: Path) -> Any:
    return programs["volume"].Volume(tmp_path, programs["cluster"].node(2))


@pytest.fixture
def play(programs: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Play:
    """Let other nodes serve, and say of their clusters what a test wants; Erlang is a program that only waits."""
    program = tmp_path / "programs" / "rabbitmq-server"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$RABBITMQ_NODE_ONLY $*" >> "$(dirname "$0")/started"\nexec sleep 60\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")

    def begin(number: int, views: dict[int, str], serving: list[int] | None = None, replicas: int = 3) -> Nodes:
        nodes = Nodes(programs, views)
        served = list(views) if serving is None else serving
        monkeypatch.setenv("POD_NAME", f"rabbitmq-server-{number}")
        monkeypatch.setattr(programs["join"], "control", nodes)
        monkeypatch.setattr(programs["cluster"], "replicas", lambda: replicas)
        hosts = [programs["cluster"].host(each) for each in served]
        monkeypatch.setattr(programs["peers"], "serves", lambda host: host in hosts)
        monkeypatch.setattr(programs["peers"], "is_blank", lambda _: True)
        monkeypatch.setattr(programs["peers"], "say_blank", lambda: None)
        monkeypatch.setattr(time, "sleep", lambda _: None)
        return nodes

    return begin

"""The programs of MariaDB's chart, and a node that runs them without a server."""

import importlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.unit.charts.mariadb.nodes import NODES, PROGRAMS, Agreement


@pytest.fixture(scope="module")
def programs() -> Iterator[None]:
    """The chart's modules can be imported, as they can from each other in a pod."""
    sys.path.insert(0, str(PROGRAMS))
    yield
    sys.path.remove(str(PROGRAMS))
    for name in ("choice", "kubernetes", "node", "server"):
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def choice(programs: None) -> ModuleType:
    return importlib.import_module("choice")


@pytest.fixture(scope="module")
def server(programs: None) -> ModuleType:
    return importlib.import_module("server")


@pytest.fixture
def node(choice: ModuleType, server: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Node 0, which joins, with a client that does what it is told and gives no answer."""
    program = tmp_path / "mariadb"
    program.write_text(f"#!/bin/sh\ncat >> {tmp_path}/said\n")
    program.chmod(0o755)
    (tmp_path / "mariadb-upgrade").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    module = importlib.import_module("node")
    # What it makes of its surroundings, only a pod has.
    node = module.Node.__new__(module.Node)
    node.name, node.prefix, node.said, node.password_file = NODES[0], "db-galera", "", tmp_path / "password"
    node.password_file.write_text("before\n")
    node.force, node.force_since, node.uid = "", 0.0, "uid"
    node.stopping, node.status = threading.Event(), server.Status()
    node.server = server.Server(tmp_path, NODES[0], run=tmp_path)
    node.map = node.pods = Agreement()
    node.record = choice.Record(NODES[0], "life", choice.JOINING)
    begun: list[Any] = []
    upgrade = node.server.upgrade

    def begin() -> Any:
        begun.append(upgrade())
        return begun[-1]

    node.server.upgrade = begin
    yield node
    for each in begun:
        each.stop()
        each.process.wait()

"""A server of MariaDB brings its own tables to its release, once in its life."""

import importlib
import json
import signal
import time
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.unit.charts.mariadb.nodes import NODES, in_cluster


@pytest.fixture
def upgrading(tmp_path: Path, node: Any) -> Path:
    """A program that brings the server's tables to its release, and ends with what is in the file; without, never."""
    program, ends = tmp_path / "mariadb-upgrade", tmp_path / "ends"
    program.unlink()
    wait = f"while [ ! -e {ends} ]; do sleep 0.02; done; exit $(cat {ends})"
    program.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/asked\n{wait}\n')
    program.chmod(0o755)
    return ends


def ended(living: Any) -> None:
    while living.upgrade.ended is None:
        time.sleep(0.02)


def test_a_server_upgrades_its_own_tables_once_in_its_life_and_serves_meanwhile(
    server: ModuleType, upgrading: Path, node: Any
) -> None:
    living = importlib.import_module("node").Living(node)
    living.look(in_cluster(server, NODES[0]))
    assert living.upgrade.ended is None
    assert json.loads(node.map.data[NODES[0]])["state"] == "Synced"
    assert living.is_active
    upgrading.write_text("0")
    ended(living)
    for _ in range(3):
        living.look(in_cluster(server, NODES[0]))
    (asked,) = (upgrading.parent / "asked").read_text().splitlines()
    assert asked.endswith("--upgrade-system-tables")


def test_an_upgrade_that_failed_is_tried_again_later(server: ModuleType, upgrading: Path, node: Any) -> None:
    module = importlib.import_module("node")
    living = module.Living(node)
    living.look(in_cluster(server, NODES[0]))
    upgrading.write_text("2")
    ended(living)
    for _ in range(3):
        living.look(in_cluster(server, NODES[0]))
    assert "those of another release" in node.said
    assert living.upgrade_due > time.monotonic() + module.AGAIN / 2
    living.upgrade_due -= module.AGAIN
    living.look(in_cluster(server, NODES[0]))
    ended(living)
    assert len((upgrading.parent / "asked").read_text().splitlines()) == 2


def test_a_node_that_fills_another_keeps_its_tables_as_they_are(server: ModuleType, upgrading: Path, node: Any) -> None:
    living = importlib.import_module("node").Living(node)
    living.look(replace(in_cluster(server, NODES[0]), state=2))
    assert living.upgrade is None
    assert not (upgrading.parent / "asked").exists()


def test_a_stop_waits_for_no_upgrade(server: ModuleType, upgrading: Path, node: Any) -> None:
    living = importlib.import_module("node").Living(node)
    living.look(in_cluster(server, NODES[0]))
    begun = living.upgrade
    living.end()
    assert begun.ended == -signal.SIGKILL


def test_who_joins_forgets_of_which_release_its_tables_are(server: ModuleType, tmp_path: Path, node: Any) -> None:
    known = node.server.data / "mariadb_upgrade_info"
    for bootstrap, stays in ((True, True), (False, False)):
        known.parent.mkdir(parents=True, exist_ok=True)
        known.write_text("11.4.2-MariaDB")
        (tmp_path / "mariadbd").write_text("#!/bin/sh\n")
        (tmp_path / "mariadbd").chmod(0o755)
        node.server.start(node.record, [], "127.0.0.1", bootstrap=bootstrap)
        node.server.process.wait()
        assert known.exists() is stays

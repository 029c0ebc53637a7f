"""What a node of MariaDB does while it waits for a cluster to form or to join."""

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.unit.charts.mariadb.nodes import NODES, UUID, data, stopped


def test_a_node_that_failed_to_look_where_its_data_ends_looks_again(
    tmp_path: Path, node: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It has no memory for the first look. Node 1 is not there, so it waits in any case.
    (tmp_path / "data" / "mysql").mkdir(parents=True)
    program = tmp_path / "mariadbd"
    program.write_text(
        f"#!/bin/sh\n[ -e {tmp_path}/once ] || {{ touch {tmp_path}/once; kill -9 $$; }}\n"
        "for each; do case $each in --log-error=*) "
        f"echo 'WSREP: Recovered position: {UUID}:42' > ${{each#*=}};; esac; done\n"
    )
    program.chmod(0o755)
    module = importlib.import_module("node")
    monkeypatch.setattr(module, "LOOK_AGAIN", 0.0)
    monkeypatch.setattr(module, "PAUSE", 0.0)
    node.map.data = data(replicas=2)
    positions = []

    def changed() -> dict[str, str]:
        positions.append(node.map.record().get("seqno"))
        if positions[-1] is not None or len(positions) > 9:
            node.stopping.set()
        return dict(node.map.data)

    node.map.changed = changed
    node.run()
    assert positions == [42]


def test_a_node_waits_on_while_nobody_says_which_pods_run(node: Any) -> None:
    error = importlib.import_module("kubernetes").Unanswered
    node.map.data = data(stopped(7), stopped(7), None)
    asked = []

    def away(_: Any) -> frozenset[str]:
        asked.append(dict(node.map.data))
        if len(asked) > 2:
            node.stopping.set()
        raise error("too many requests", 429)

    node.away = away
    node.map.changed = node.map.read
    assert node.agree() == ""
    assert len(asked) == 3


def chosen(name: str) -> str:
    return json.dumps({"pod": name, "life": f"life-of-{name}"})


@pytest.mark.parametrize(
    ("meanwhile", "move"),
    [
        pytest.param({"choice": chosen(NODES[1])}, "wait", id="another-was-chosen"),
        pytest.param({"waiting": "for nobody"}, "bootstrap", id="it-still-is-the-one"),
    ],
)
def test_a_node_forms_no_cluster_before_it_has_read_what_changed(
    choice: ModuleType, node: Any, meanwhile: dict[str, str], move: str
) -> None:
    node.map.data = data(stopped(7), stopped(7), stopped(7), choice=chosen(NODES[0]))
    state = choice.parse(node.map.data, "db-galera")
    node.record, write = state.records[NODES[0]], node.map.write
    module = importlib.import_module("kubernetes")

    refused: list[bool] = []

    def refuse_once(changes: dict[str, str | None], *, checked: bool = False) -> dict[str, str]:
        if checked and not refused:
            refused.append(True)
            node.map.data |= meanwhile
            raise module.Unanswered("PATCH: 409 Conflict", module.CONFLICT)
        return dict(write(changes))

    node.map.write = refuse_once
    assert node.decide(state) == move
    assert node.map.record()["state"] == ("Bootstrapping" if move == "bootstrap" else "Stopped")


@pytest.mark.parametrize(
    ("away", "seconds", "speaks"),
    [
        pytest.param((NODES[0],), 0.0, True, id="the-first-one-does-not-run"),
        pytest.param((), 0.0, False, id="the-first-one-runs"),
        pytest.param((), 31.0, True, id="the-first-one-says-nothing-for-too-long"),
    ],
)
def test_a_node_speaks_where_the_first_one_does_not(
    choice: ModuleType,
    node: Any,
    monkeypatch: pytest.MonkeyPatch,
    away: tuple[str, ...],
    seconds: float,
    speaks: bool,
) -> None:
    # Node 0 was drained, and its record says that it waits.
    node.map.data = data(stopped(5), stopped(7), stopped(7))
    node.name, node.record = NODES[1], choice.parse(node.map.data, "db-galera").records[NODES[1]]
    node.map.away = lambda _: frozenset(away)
    module, now = importlib.import_module("node"), 1000.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    turns: list[str] = []

    def changed() -> dict[str, str]:
        nonlocal now
        now += seconds
        turns.append("")
        if len(turns) == 3:
            node.stopping.set()
        return dict(node.map.data)

    node.map.changed = changed
    assert node.agree() == ("bootstrap" if speaks else "")
    assert ("choice" in node.map.data) is speaks


POD = {"metadata": {"uid": "before"}, "status": {"containerStatuses": [{"state": {"running": {}}}]}}


@pytest.mark.parametrize(
    ("pod", "uid", "away"),
    [
        pytest.param(POD, "before", False, id="it-runs"),
        pytest.param(POD, "another", True, id="another-one-of-its-name-has-said-nothing-yet"),
        pytest.param(POD, "", False, id="one-of-before-runs"),
        pytest.param({"metadata": {"uid": "before"}, "status": {"phase": "Pending"}}, "", True, id="nobody-runs-it"),
        pytest.param({"metadata": {"uid": "before", "deletionTimestamp": "now"}}, "before", True, id="it-is-deleted"),
        pytest.param(None, "before", True, id="it-is-gone"),
    ],
)
def test_a_pod_that_does_not_run_is_found(
    programs: None, monkeypatch: pytest.MonkeyPatch, pod: dict[str, Any] | None, uid: str, away: bool
) -> None:
    module = importlib.import_module("kubernetes")

    def call(*_: object) -> dict[str, Any]:
        if pod is None:
            raise module.Unanswered("GET: 404 Not Found", 404)
        return pod

    monkeypatch.setattr(module, "call", call)
    monkeypatch.setattr(module, "_read", lambda _: "namespace")
    assert module.Pods("label").away({NODES[0]: uid}) == frozenset(NODES[:1] if away else ())

"""What a node of MariaDB does while its server runs: it tells of itself, keeps the password, and looks for others."""

import importlib
import json
from base64 import b64encode
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from stackwright.kube.builtin import Secret
from stackwright.services.mariadb import root_password
from tests.unit.charts.mariadb.nodes import NODES, data, in_cluster, stopped


def test_the_clients_node_tells_which_password_root_has(server: ModuleType, tmp_path: Path, node: Any) -> None:
    module = importlib.import_module("node")
    agreement, password = node.map, node.password_file
    living = module.Living(node)
    status = in_cluster(server, NODES[0])
    seen = []
    for text in ("before\n", "after\n"):
        password.write_text(text)
        living.refreshed = -module.REFRESH
        assert not living.look(status)
        seen.append(agreement.record()["root"])
        assert server.digest(text.strip()) in (tmp_path / "said").read_text()
    assert seen == [server.fingerprint(text, "life") for text in ("before", "after")]
    assert not any(word in str(agreement.data) for word in ("before", "after"))
    # Where clients use another node, that one knows.
    agreement.data |= {
        "replicas": "3",
        "active": NODES[1],
        NODES[1]: json.dumps({"state": "Synced", "life": "another"}),
    }
    status = in_cluster(server, NODES[0], NODES[1])
    for _ in range(2):
        living.refreshed = -module.REFRESH
        assert not living.look(status)
    assert "root" not in agreement.record()


def test_a_node_whose_machine_is_gone_is_not_waited_for(choice: ModuleType, server: ModuleType, node: Any) -> None:
    # Node 2 died with the word that all are there; node 1 starts again, and must not wait for node 2 to see it go.
    node.map.data = data({"state": "Synced"}, stopped(5), {"state": "Synced", "members": NODES}, active=NODES[0])
    module = importlib.import_module("node")
    living = module.Living(node)
    moves = []
    for _ in range(2):
        living.refreshed = -module.REFRESH
        living.look(in_cluster(server, NODES[0]))
        moves.append(choice.move(choice.parse(node.map.data, "db-galera"), NODES[1]))
    assert moves == ["wait", "join"]
    assert json.loads(node.map.data[NODES[2]])["state"] == "Disconnected"


def test_who_forms_the_cluster_takes_away_what_forces_another(
    choice: ModuleType, server: ModuleType, node: Any
) -> None:
    node.record = choice.Record(NODES[0], "life", choice.BOOTSTRAPPING)
    left = []
    for name in NODES[:2]:
        node.map.data["force"] = name
        importlib.import_module("node").Living(node).look(server.Status())
        left.append("force" in node.map.data)
    assert left == [True, False]


def test_what_is_forced_is_heeded_once_nobody_took_it_away(
    choice: ModuleType, node: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module("node")
    node.map.data = data(stopped(5), {"state": "Synced", "members": NODES}, None, force=NODES[0])
    state, now = choice.parse(node.map.data, "db-galera"), 1000.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    seen = []
    for seconds in (0.0, module.UNHEARD - 1, 2.0):
        now += seconds
        node.heed(state.force)
        node.choose(state)
        seen.append("choice" in node.map.data)
    assert seen == [False, False, True]


@pytest.mark.parametrize(
    ("answered", "replicas", "stops"),
    [
        pytest.param(False, 1, False, id="the-only-one-is-too-busy-to-answer"),
        pytest.param(True, 1, True, id="the-only-one-that-is-left-has-no-majority"),
        pytest.param(False, 3, True, id="all-others-wait-for-it"),
        pytest.param(False, 0, False, id="it-is-too-busy-and-the-others-never-were-there"),
        pytest.param(True, 0, True, id="it-has-no-majority-and-the-others-never-were-there"),
    ],
)
def test_a_busy_server_is_stopped_only_for_others(
    choice: ModuleType, server: ModuleType, node: Any, answered: bool, replicas: int, stops: bool
) -> None:
    module = importlib.import_module("node")
    others = (stopped(5), stopped(5)) if replicas else (None, None)
    node.map.data = data({"state": "Synced"}, *others, replicas=replicas or 3, formed=NODES[0])
    node.record = choice.Record(NODES[0], "life", choice.SYNCED)
    living = module.Living(node)
    status = server.Status(answered=answered)
    assert not living.look(status)
    living.lonely_since -= module.LONELY + 1
    assert living.look(status) is stops


def test_a_server_without_a_free_connection_is_not_stopped(choice: ModuleType, server: ModuleType, node: Any) -> None:
    module = importlib.import_module("node")
    node.record = choice.Record(NODES[0], "life", choice.SYNCED)
    living = module.Living(node)
    status = server.parse_status("", "ERROR 1040 (08004): Too many connections\n")
    assert not living.look(status)
    living.lonely_since -= module.LONELY + 1
    assert not living.look(status)


@pytest.mark.parametrize("slip", [{"replicas": "three"}, {NODES[1]: '{"state": "Synced", "members": 2}'}])
def test_a_slip_in_the_config_map_ends_no_server(server: ModuleType, node: Any, slip: dict[str, str]) -> None:
    living = importlib.import_module("node").Living(node)
    node.map.data |= slip
    assert not node.attempt(living.look, in_cluster(server, NODES[0]))
    assert "nobody can read" in node.said


def test_a_node_that_came_back_is_not_taken_for_gone(server: ModuleType, node: Any) -> None:
    module = importlib.import_module("node")
    living = module.Living(node)
    for life in ("before", "after"):
        node.map.data |= {"replicas": "3", NODES[2]: json.dumps({"state": "Synced", "life": life})}
        living.refreshed = -module.REFRESH
        living.look(in_cluster(server, NODES[0]))
    assert json.loads(node.map.data[NODES[2]])["state"] == "Synced"


@pytest.mark.parametrize(
    ("rights", "kept"),
    [
        pytest.param("1", False, id="all-is-well"),
        pytest.param("0", True, id="killed-before-root-got-its-rights"),
    ],
)
def test_root_gets_its_rights_after_a_kill(
    server: ModuleType, tmp_path: Path, node: Any, rights: str, kept: bool
) -> None:
    answer = f"printf '{server.digest('before')}\\t{rights}\\n'\n"
    (tmp_path / "mariadb").write_text(f"#!/bin/sh\ncat >> {tmp_path}/said\n{answer}")
    assert node.server.keep_root("before") is kept
    assert ("GRANT ALL" in (tmp_path / "said").read_text()) is kept


def test_clients_are_let_in_where_root_cannot_get_its_password(
    server: ModuleType, tmp_path: Path, node: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As the client says it, were the server to repeat the statement.
    error = f"ERROR 1819 (HY000) at line 1: Your password is refused near '{server.digest('before')}'"
    (tmp_path / "mariadb").write_text(f'#!/bin/sh\ncat >> {tmp_path}/said\necho "{error}" >&2\nexit 1\n')
    labels: dict[str, bool] = {}

    def mark(pod: str, *, marked: bool) -> None:
        labels[pod] = marked

    monkeypatch.setattr(node.pods, "mark", mark)
    living = importlib.import_module("node").Living(node)
    for _ in range(2):
        assert not node.attempt(living.look, in_cluster(server, NODES[0]))
    assert labels[NODES[0]]
    assert (tmp_path / "said").read_text().count("JSON_VALUE") == 1, "it is not tried each second"
    assert "ERROR 1819 (HY000) at line 1: Your password is refused" in node.said
    assert server.digest("before") not in node.said


@pytest.mark.parametrize("leaves", ["Joining", "Synced"])
def test_clients_are_not_handed_to_a_node_that_is_being_filled(
    choice: ModuleType, server: ModuleType, node: Any, leaves: str
) -> None:
    living = importlib.import_module("node").Living(node)
    living.is_active, living.view = True, NODES
    node.map.data = data({"state": "Synced"}, {"state": leaves}, {"state": "Synced"}, active=NODES[0])
    living.hand_over()
    assert node.map.data["active"] == (NODES[2] if leaves == "Joining" else NODES[1])


@pytest.mark.parametrize("content", [pytest.param(b"\xff\xfe", id="no-text"), pytest.param(b"\n", id="nothing")])
def test_a_secret_without_a_password_ends_no_server(
    server: ModuleType, tmp_path: Path, node: Any, content: bytes
) -> None:
    node.password_file.write_bytes(content)
    living = importlib.import_module("node").Living(node)
    assert not node.attempt(living.look, in_cluster(server, NODES[0]))
    assert living.is_active
    assert "root" not in node.map.record()
    assert not (tmp_path / "said").exists()


def test_operators_tell_a_password_as_nodes_do(server: ModuleType) -> None:
    secret = Secret(data={"key": b64encode(b"before").decode()})
    said = {"life": "life", "root": server.fingerprint("before", "life")}
    assert not root_password.is_pending(secret, "key", said)
    assert root_password.is_pending(secret, "key", {**said, "life": "another"})

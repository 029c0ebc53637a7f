"""What the programs in RabbitMQ's pods decide, but for joins and feature flags."""

import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.unit.charts.rabbitmq.nodes import members, write_tables


def test_a_node_knows_its_number_and_the_names_of_all(programs: dict[str, ModuleType]) -> None:
    cluster = programs["cluster"]
    assert cluster.ordinal() == 2
    assert cluster.node(0) == "rabbit@rabbitmq-server-0.rabbitmq-nodes.openstack.svc"


@pytest.mark.parametrize(
    ("number", "serving", "silent", "chosen"),
    [
        pytest.param(0, [], [], [], id="node-0-begins-when-all-others-say-that-they-have-no-data"),
        pytest.param(0, [], [1], None, id="one-that-says-nothing-may-have-data"),
        pytest.param(0, [2], [1], [2], id="node-0-joins-a-cluster-that-is-there"),
        pytest.param(1, [], [], None, id="another-node-never-begins-a-cluster"),
        pytest.param(1, [], [0], None, id="another-node-waits-as-long-as-it-takes"),
        pytest.param(2, [0, 1], [], [0, 1], id="another-node-joins-who-serves"),
    ],
)
def test_who_begins_and_who_joins(
    programs: dict[str, ModuleType], number: int, serving: list[int], silent: list[int], chosen: list[int] | None
) -> None:
    assert programs["peers"].choose(number, serving, silent) == chosen


@pytest.mark.parametrize("replicas", [None, 0])
def test_nobody_begins_a_cluster_that_shall_have_no_nodes(
    programs: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, replicas: int | None
) -> None:
    monkeypatch.setattr(programs["cluster"], "replicas", lambda: replicas)
    assert programs["peers"].look(0) == (None, "Waiting: there shall be no nodes")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param((), False, id="an-empty-volume"),
        pytest.param(("cluster_nodes.config", "nodes_running_at_shutdown"), False, id="what-leaving-leaves-behind"),
        pytest.param(("schema.DAT",), True, id="a-member-s-data"),
        # RabbitMQ makes it before it looks for peers.
        pytest.param(("coordination",), False, id="one-that-was-killed-before-it-joined"),
    ],
)
def test_whether_a_node_has_data(
    programs: dict[str, ModuleType], tmp_path: Path, files: tuple[str, ...], expected: bool
) -> None:
    place = tmp_path / programs["cluster"].node(2)
    place.mkdir()
    for name in files:
        (place / name).touch()
    assert programs["volume"].Volume(tmp_path, place.name).has_data is expected


def test_the_newer_store_is_data_where_it_is_in_use(programs: dict[str, ModuleType], tmp_path: Path) -> None:
    name = programs["cluster"].node(2)
    (tmp_path / name / "coordination").mkdir(parents=True)
    (tmp_path / f"{name}-feature_flags").write_text("[khepri_db].\n")
    assert programs["volume"].Volume(tmp_path, name).has_data


def test_a_cookie_is_copied_for_its_owner_alone(programs: dict[str, ModuleType], tmp_path: Path) -> None:
    source, destination = tmp_path / "source", tmp_path / "destination"
    source.write_text("cookie")
    for _ in range(2):
        programs["prepare"].copy(source, destination)
        assert (destination.read_text(), destination.stat().st_mode & 0o777) == ("cookie", 0o400)


@pytest.mark.parametrize(
    ("printed", "results"),
    [
        pytest.param("[]", [], id="nothing-to-move"),
        pytest.param('[\n{"name":"q","result":"ok"}\n]', ["ok"], id="one-moved"),
        pytest.param('[{"result":"ok"},{"result":"error"}]', ["ok", "error"], id="one-refused"),
        pytest.param("", [], id="nothing-printed"),
        pytest.param("[broken]", ["[broken]"], id="something-else"),
    ],
)
def test_what_became_of_queues(programs: dict[str, ModuleType], printed: str, results: list[str]) -> None:
    assert [row["result"] for row in programs["stop"].rows(printed)] == results


@pytest.mark.parametrize(
    ("printed", "numbers"),
    [
        pytest.param(members(0, 1, 2), [], id="none-is-above"),
        pytest.param(members(0, 1, 2, 3, 10), [10, 3], id="two-are-above"),
        pytest.param(members(2), [], id="nobody-else-is-reached"),
        pytest.param("[]", None, id="the-list-failed"),
        pytest.param("no answer after 60 s", None, id="no-answer"),
        pytest.param(members(0, 1), None, id="not-even-itself"),
    ],
)
def test_who_leaves_first(programs: dict[str, ModuleType], printed: str, numbers: list[int] | None) -> None:
    expected = None if numbers is None else [programs["cluster"].node(number) for number in numbers]
    assert programs["stop"].above(printed) == expected


def test_a_node_that_stays_waits_for_those_alone_that_leave(programs: dict[str, ModuleType]) -> None:
    above, node = programs["stop"].above, programs["cluster"].node
    assert above(members(0, 1, 2, 3, 4), 4) == [node(4)]
    assert above(members(0, 1, 2, 3), 4) == []


class Calls:
    """What was run, and what came of it: the first answer whose words are in the command."""

    def __init__(self, **answers: str) -> None:
        self.answers, self.made = answers, list[str]()

    def __call__(self, *command: str, **_: float) -> tuple[bool, str]:
        said = " ".join(command)
        self.made.append(said)
        return True, next((answer for word, answer in self.answers.items() if word in said), "[]")


def test_one_that_leaves_while_those_that_stay_are_away_stays_a_member(
    programs: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Calls(list_running=members(1, 2))
    stop = programs["stop"]
    monkeypatch.setattr(stop, "run", calls)
    monkeypatch.setattr(stop, "LEAST", 0.01)
    stop.leave(1, 0.01)
    assert not [each for each in calls.made if "shrink" in each or "reset" in each or "stop_app" in each]


def test_one_that_was_to_leave_and_is_lost_is_forgotten(
    programs: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that stays would wait for it for ever: it is half of the members."""
    cluster, stop = programs["cluster"], programs["stop"]
    monkeypatch.setenv("POD_NAME", "rabbitmq-server-1")
    calls = Calls(**{"list_members() --": members(2), "list_running": members(0, 1), "lists:member": members(0, 1)})
    monkeypatch.setattr(stop, "run", calls)
    stop.leave(1, 0.5)
    assert f"rabbitmqctl forget_cluster_node {cluster.node(2)}" in calls.made
    assert calls.made[-1] == "rabbitmqctl reset"


@pytest.mark.parametrize(
    ("has_tables", "marked_for", "leaves"),
    [
        pytest.param(True, 0, True, id="a-member"),
        pytest.param(True, 3, True, id="one-that-gets-through-meanwhile"),
        pytest.param(False, 3, False, id="one-whose-join-is-undone"),
        pytest.param(False, 0, False, id="one-that-has-not-joined"),
        pytest.param(True, 1_000_000, False, id="one-that-is-cut-short"),
    ],
)
def test_only_a_member_leaves(
    programs: dict[str, ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    own: Any,
    has_tables: bool,
    marked_for: int,
    leaves: bool,
) -> None:
    """Who still joins is waited for: killed then, it would be missed by the others for ever."""
    if has_tables:
        write_tables(own)
    if marked_for:
        own.mark()
    waited, calls, stop = list[float](), Calls(list_running=members(0, 1, 2)), programs["stop"]

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == marked_for:
            own.unmark()

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(stop, "run", calls)
    monkeypatch.setattr(programs["volume"], "own", lambda: own)
    monkeypatch.setattr(programs["cluster"], "replicas", lambda: 1)
    monkeypatch.setattr(sys, "argv", ["stop.py", "0.5"])
    assert stop.main() == 0
    assert ("rabbitmqctl reset" in calls.made) is leaves
    assert bool(calls.made) is leaves


@pytest.mark.parametrize(
    ("status", "body", "trouble"),
    [
        pytest.param(200, {"running": True}, "", id="it-runs"),
        pytest.param(200, {"running": False}, "not running", id="it-does-not-run"),
        pytest.param(200, {"running": True, "mem_alarm": True}, "mem_alarm", id="memory-alarm"),
        pytest.param(200, {"running": True, "disk_free_alarm": True}, "disk_free_alarm", id="disk-alarm"),
        pytest.param(200, {"running": True, "partitions": ["a"]}, "partitioned from others", id="partition"),
        pytest.param(401, {}, "", id="the-default-user-was-changed-by-hand"),
        pytest.param(503, {}, "the management API answers 503", id="it-boots"),
    ],
)
def test_whether_a_node_is_ready(
    programs: dict[str, ModuleType], status: int, body: dict[str, Any], trouble: str
) -> None:
    assert programs["ready"].trouble(status, body) == trouble


@pytest.mark.parametrize("begins", [True, False])
def test_no_server_finds_peers_by_itself(
    programs: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, begins: bool
) -> None:
    monkeypatch.setattr(programs["prepare"], "CONFIGURATION", tmp_path)
    programs["prepare"].write_peers(begins=begins)
    lines = (tmp_path / "05-peers.conf").read_text().splitlines()
    alone = programs["cluster"].node(2) if begins else "rabbit@nobody.invalid"
    assert lines[:2] == [
        "cluster_formation.peer_discovery_backend = classic_config",
        f"cluster_formation.classic_config.nodes.1 = {alone}",
    ]
    assert len([line for line in lines if "nodes." in line]) == 1

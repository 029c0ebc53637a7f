"""Who forms a MariaDB cluster, who joins it, and which node the clients talk to: the programs of the chart."""

import errno
import importlib
import json
import signal
import sys
import time
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from stackwright.kube.builtin import Secret
from stackwright.services.mariadb import root_password

PROGRAMS = Path(__file__).parents[2] / "charts" / "mariadb" / "files"
UUID, OTHER = "7077dd2e-e0c0-11f1-98e2-3b696a0b4ce9", "81b2a7c4-e0c0-11f1-a3a1-0a1b2c3d4e5f"
NODES = ("db-galera-0", "db-galera-1", "db-galera-2")


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


def stopped(seqno: int | None, **more: Any) -> dict[str, Any]:
    return {"state": "Stopped", "uuid": UUID, "seqno": seqno, "members": NODES, **more}


EMPTY = {"state": "Stopped", "seqno": None, "empty": True}
SERVES = {"state": "Synced", "members": NODES}
HALF = {"state": "Stopped", "seqno": None, "interrupted": True}


def data(*nodes: dict[str, Any] | None, replicas: int = 3, **more: str) -> dict[str, str]:
    """The ConfigMap, with a record for each node that has one."""
    records = {
        name: json.dumps({"life": f"life-of-{name}", **record})
        for name, record in zip(NODES, nodes, strict=False)
        if record is not None
    }
    return {"replicas": str(replicas), **records, **more}


@pytest.mark.parametrize(
    ("said", "chosen"),
    [
        pytest.param(data(EMPTY, EMPTY, EMPTY), "db-galera-0", id="a-first-install-begins-at-node-0"),
        pytest.param(data(EMPTY, replicas=1), "db-galera-0", id="one-node-alone-begins"),
        pytest.param(data(stopped(5), stopped(7), stopped(6)), "db-galera-1", id="the-newest-data-wins"),
        pytest.param(data(stopped(0, members=NODES[:1]), replicas=1), "db-galera-0", id="position-0-is-one"),
        pytest.param(data(stopped(7), stopped(7), stopped(7)), "db-galera-0", id="of-equals-the-first-wins"),
        pytest.param(
            data(stopped(7), stopped(7, safe=True), stopped(7)), "db-galera-1", id="of-equals-the-last-to-leave-wins"
        ),
        pytest.param(
            data(stopped(4), HALF, stopped(3)), "db-galera-0", id="who-was-being-filled-has-nothing-of-its-own"
        ),
        pytest.param(
            data(stopped(4, members=NODES[:1]), EMPTY, EMPTY), "db-galera-0", id="who-never-was-in-it-may-be-empty"
        ),
        pytest.param(
            data(stopped(9), stopped(8), stopped(8), replicas=1),
            "db-galera-0",
            id="scaled-down-while-stopped-with-less",
        ),
        pytest.param(
            data(stopped(5), stopped(None), stopped(6), force="db-galera-0"), "db-galera-0", id="a-person-decides"
        ),
    ],
)
def test_who_forms_the_cluster(choice: ModuleType, said: dict[str, str], chosen: str) -> None:
    state = choice.parse(said, "db-galera")
    assert choice.choose(state) == choice.Choice(chosen, f"life-of-{chosen}")


@pytest.mark.parametrize(
    ("said", "blocked", "words"),
    [
        pytest.param(data(stopped(5), None, stopped(5)), False, "Waits for db-galera-1", id="a-node-is-missing"),
        pytest.param(
            data(stopped(5), {"state": "Recovering"}, stopped(5)), False, "Waits for db-galera-1", id="one-still-looks"
        ),
        pytest.param(
            data(stopped(5), {"state": "Disconnected"}, stopped(5)),
            False,
            "db-galera-1",
            id="one-runs-without-a-majority",
        ),
        pytest.param(
            data(stopped(5), {"state": "Joining"}, stopped(5)), False, "Waits for db-galera-1", id="one-still-joins"
        ),
        pytest.param(data(stopped(5), {"state": "Synced"}, stopped(5)), False, "is there", id="one-is-in-the-cluster"),
        pytest.param(
            data(stopped(5), stopped(None), stopped(5)),
            True,
            "where the data of db-galera-1 ends",
            id="an-unknown-position",
        ),
        pytest.param(
            data(stopped(None), replicas=1),
            True,
            "where the data of db-galera-0 ends",
            id="the-only-position-is-unknown",
        ),
        pytest.param(
            data(stopped(5), stopped(5, uuid=OTHER), stopped(5)), True, "different clusters", id="two-clusters-met"
        ),
        pytest.param(
            data(stopped(5), EMPTY, stopped(5)),
            True,
            "db-galera-1 was in the cluster and has no data",
            id="a-lost-volume",
        ),
        pytest.param(
            data(stopped(5), EMPTY, stopped(5), force="db-galera-1"),
            True,
            "db-galera-1 has no data to use, unlike db-galera-0 and db-galera-2",
            id="a-person-names-the-one-without-data",
        ),
        pytest.param(
            data(HALF, stopped(9), stopped(9), replicas=1),
            True,
            "scale up again",
            id="scaled-down-to-one-that-was-being-filled",
        ),
        pytest.param(
            data(EMPTY, stopped(9), None, replicas=1), True, "scale up again", id="scaled-down-to-one-without-data"
        ),
        pytest.param(data(EMPTY, HALF, HALF), True, "There was a cluster", id="nobody-has-the-data-any-more"),
        pytest.param(data(EMPTY, replicas=1, formed="db-galera-0"), True, "There was a cluster", id="all-volumes-lost"),
        pytest.param(
            data(stopped(5), stopped(9), stopped(9), replicas=1), True, "scale up again", id="scaled-down-while-stopped"
        ),
        pytest.param(
            data(stopped(5), None, None, replicas=1), True, "scale up again", id="scaled-down-with-unknown-others"
        ),
    ],
)
def test_nobody_guesses(choice: ModuleType, said: dict[str, str], blocked: bool, words: str) -> None:
    trouble = choice.choose(choice.parse(said, "db-galera"))
    assert isinstance(trouble, choice.Trouble)
    assert words in trouble.sentence
    assert trouble.blocked is blocked
    assert not blocked or "under the key force of ConfigMap db-galera-state" in trouble.sentence


@pytest.mark.parametrize(
    "others",
    [
        pytest.param(({"state": "Synced", "members": NODES}, stopped(5)), id="one-was-in-the-cluster"),
        pytest.param(({"state": "Bootstrapping"}, stopped(5)), id="one-formed-the-cluster"),
    ],
)
def test_a_person_may_give_up_a_node_that_is_gone(choice: ModuleType, others: tuple[dict[str, Any], ...]) -> None:
    state = choice.parse(data(*others, stopped(5), force=NODES[2]), "db-galera")
    trouble = choice.choose(state)
    assert isinstance(trouble, choice.Trouble)
    assert "unless db-galera-0 still runs" in trouble.sentence
    assert not trouble.blocked
    assert choice.choose(state, unheard=True) == choice.Choice(NODES[2], f"life-of-{NODES[2]}")


def test_a_person_may_begin_with_nothing_where_nobody_has_data(choice: ModuleType) -> None:
    state = choice.parse(data(EMPTY, HALF, EMPTY, formed=NODES[0], force=NODES[0]), "db-galera")
    assert choice.choose(state) == choice.Choice(NODES[0], f"life-of-{NODES[0]}")


@pytest.mark.parametrize(
    ("said", "speaks"),
    [
        pytest.param(data(stopped(5), stopped(5)), False, id="node-0-does"),
        pytest.param(data({"state": "Synced"}, stopped(5)), True, id="node-0-may-be-gone"),
        pytest.param(data(None, stopped(5)), True, id="node-0-never-was-there"),
        pytest.param(data(None, {"state": "Recovering"}), False, id="it-does-not-wait"),
    ],
)
def test_the_first_that_waits_says_who_forms_the_cluster(
    choice: ModuleType, said: dict[str, str], speaks: bool
) -> None:
    assert choice.speaks(choice.parse(said, "db-galera"), NODES[1]) is speaks


@pytest.mark.parametrize(
    ("records", "donors"),
    [
        pytest.param((SERVES, {"state": "Joining"}, SERVES), "db-galera-2,", id="not-the-clients-node"),
        pytest.param((SERVES, {"state": "Joining"}, stopped(5)), "", id="there-is-no-other"),
    ],
)
def test_the_clients_node_fills_another_only_if_it_must(
    choice: ModuleType, server: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, records: Any, donors: str
) -> None:
    asked = choice.donors(choice.parse(data(*records, active=NODES[0]), "db-galera"))
    assert asked == donors
    commands: list[list[str]] = []
    monkeypatch.setattr(server.subprocess, "Popen", commands.append)
    node = server.Server(tmp_path, NODES[1], run=tmp_path)
    for bootstrap in (False, True):
        node.start(choice.Record(NODES[1], "life"), ["peer"], "10.0.0.1", donors=asked, bootstrap=bootstrap)
    option = f"--wsrep-sst-donor={donors}"
    assert [option in command for command in commands] == [bool(donors), False]


def chosen(pod: str, life: str) -> str:
    return json.dumps({"pod": pod, "life": life})


@pytest.mark.parametrize(
    ("said", "move"),
    [
        pytest.param(data(stopped(5), stopped(5), stopped(5)), "wait", id="nobody-was-chosen"),
        pytest.param(
            data(stopped(5), stopped(5), choice=chosen("db-galera-1", "life-of-db-galera-1")),
            "bootstrap",
            id="it-is-me",
        ),
        pytest.param(
            data(stopped(5), stopped(5), choice=chosen("db-galera-1", "an-earlier-life")), "wait", id="it-was-me-once"
        ),
        pytest.param(
            data(stopped(5), stopped(5), choice=chosen("db-galera-0", "life-of-db-galera-0")),
            "wait",
            id="it-is-another",
        ),
        pytest.param(data({"state": "Synced"}, stopped(5), stopped(5)), "join", id="there-is-a-cluster"),
        pytest.param(
            data({"state": "Synced", "members": NODES}, stopped(5), stopped(5)), "wait", id="the-cluster-still-sees-me"
        ),
        pytest.param(
            data({"state": "Synced", "members": [NODES[0], NODES[2]]}, stopped(5), stopped(5)),
            "join",
            id="the-cluster-has-seen-me-go",
        ),
        pytest.param(
            data({"state": "Synced"}, stopped(5), choice=chosen("db-galera-1", "life-of-db-galera-1")),
            "join",
            id="a-cluster-that-is-there-goes-before-a-choice",
        ),
        pytest.param(data({"state": "Disconnected"}, stopped(5)), "wait", id="without-a-majority-it-is-no-cluster"),
        pytest.param(
            data({"state": "Synced"}, stopped(5), force="db-galera-1"),
            "wait",
            id="a-person-wants-my-data-and-not-theirs",
        ),
        pytest.param(
            data(
                {"state": "Synced", "members": NODES},
                stopped(5),
                force="db-galera-1",
                choice=chosen("db-galera-1", "life-of-db-galera-1"),
            ),
            "bootstrap",
            id="a-person-chose-me-over-one-that-is-gone",
        ),
        pytest.param(
            data(stopped(5), stopped(5), {"state": "Synced"}, replicas=2), "wait", id="one-that-should-be-gone"
        ),
    ],
)
def test_what_node_1_does(choice: ModuleType, said: dict[str, str], move: str) -> None:
    assert choice.move(choice.parse(said, "db-galera"), "db-galera-1") == move


@pytest.mark.parametrize(
    ("said", "gives_up"),
    [
        pytest.param(data(stopped(5), {"state": "Disconnected"}, stopped(5)), True, id="all-others-wait-for-it"),
        pytest.param(data(stopped(5), {"state": "Disconnected"}, {"state": "Synced"}), False, id="it-can-come-back"),
        pytest.param(data(stopped(5), {"state": "Disconnected"}, None), False, id="one-is-not-there-yet"),
        pytest.param(
            data(None, {"state": "Disconnected"}, stopped(5), force="db-galera-1"), True, id="a-person-wants-its-data"
        ),
    ],
)
def test_a_node_without_a_majority_gives_up(choice: ModuleType, said: dict[str, str], gives_up: bool) -> None:
    assert choice.gives_up(choice.parse(said, "db-galera"), "db-galera-1") is gives_up


@pytest.mark.parametrize(
    ("active", "node_0", "view", "claims"),
    [
        pytest.param("", None, NODES[1:], True, id="there-was-none"),
        pytest.param("db-galera-0", "Synced", NODES[1:], True, id="it-is-gone"),
        pytest.param("db-galera-2", None, NODES[1:], False, id="it-is-there"),
        pytest.param("", "Synced", NODES, False, id="another-goes-first"),
        pytest.param("", "Joining", NODES, True, id="who-only-joins-does-not-go-first"),
        pytest.param("db-galera-0", "Joining", NODES, True, id="it-was-killed-and-joins-again"),
        pytest.param("db-galera-0", "Synced", (), False, id="who-sees-nobody-claims-nothing"),
    ],
)
def test_node_1_claims_the_clients(
    choice: ModuleType, active: str, node_0: str | None, view: tuple[str, ...], claims: bool
) -> None:
    synced = {"state": "Synced"}
    said = data({"state": node_0} if node_0 else None, synced, synced, active=active)
    assert choice.claims(choice.parse(said, "db-galera"), "db-galera-1", view) is claims


@pytest.mark.parametrize(
    ("broken", "claims"),
    [
        pytest.param((NODES[0],), True, id="the-clients-node-is-broken"),
        pytest.param((NODES[0], NODES[1]), False, id="so-am-i"),
        pytest.param(NODES, False, id="all-are-and-the-clients-stay-where-they-are"),
        pytest.param((), False, id="nobody-is"),
    ],
)
def test_node_1_claims_the_clients_of_a_broken_one(choice: ModuleType, broken: tuple[str, ...], claims: bool) -> None:
    records = ({"state": "Synced", "broken": "x" if name in broken else ""} for name in NODES)
    said = data(*records, active="db-galera-0")
    assert choice.claims(choice.parse(said, "db-galera"), "db-galera-1", NODES) is claims


@pytest.mark.parametrize(
    ("said", "first"),
    [
        pytest.param(data({"state": "Synced"}, {"state": "Leaving"}, {"state": "Synced"}), True, id="it-leaves-alone"),
        pytest.param(data({"state": "Leaving"}, {"state": "Leaving"}, {"state": "Synced"}), True, id="before-node-0"),
        pytest.param(data({"state": "Leaving"}, {"state": "Leaving"}, {"state": "Leaving"}), False, id="after-node-2"),
        pytest.param(
            data({"state": "Synced"}, {"state": "Leaving"}, {"state": "Leaving"}, replicas=1),
            False,
            id="after-one-that-should-be-gone",
        ),
        pytest.param(data({"state": "Leaving"}, {"state": "Leaving"}, stopped(5)), True, id="node-2-has-left"),
    ],
)
def test_nodes_leave_one_by_one(choice: ModuleType, said: dict[str, str], first: bool) -> None:
    assert choice.leaves_first(choice.parse(said, "db-galera"), "db-galera-1") is first


def test_clients_are_handed_to_another(choice: ModuleType) -> None:
    assert choice.successor("db-galera", NODES, without="db-galera-0") == "db-galera-1"
    assert choice.successor("db-galera", NODES[:1], without="db-galera-0") == ""


def test_a_record_survives_the_config_map(choice: ModuleType) -> None:
    record = choice.Record("db-galera-0", "life", "Stopped", UUID, 0, safe=True, members=NODES)
    assert choice.parse({"db-galera-0": record.text()}, "db-galera").records == {"db-galera-0": record}


def test_what_is_not_readable_is_as_if_it_were_not_there(choice: ModuleType) -> None:
    state = choice.parse({"db-galera-0": "{", "choice": "[]", "other": "{}"}, "db-galera")
    assert state.choice is None
    assert list(state.records) == ["db-galera-0"]
    assert choice.choose(state).blocked


GRASTATE = "# GALERA saved state\nversion: 2.1\nuuid:    {}\nseqno:   {}\nsafe_to_bootstrap: {}\n"
NOBODY = "00000000-0000-0000-0000-000000000000"


@pytest.mark.parametrize(
    ("text", "position"),
    [
        pytest.param(GRASTATE.format(UUID, 12, 1), (UUID, 12, True), id="stopped-in-order-and-last"),
        pytest.param(GRASTATE.format(UUID, -1, 0), (UUID, None, False), id="killed"),
        pytest.param(GRASTATE.format(NOBODY, 3, 0), (NOBODY, None, False), id="of-no-cluster"),
        pytest.param("", (NOBODY, None, False), id="there-is-no-file"),
        pytest.param(GRASTATE.format(UUID, "", 0), (UUID, None, False), id="half-written"),
        pytest.param(GRASTATE.format(UUID[:9], 12, 0), (NOBODY, None, False), id="of-half-a-cluster"),
        pytest.param("\0" * 80, (NOBODY, None, False), id="what-a-loss-of-power-leaves"),
    ],
)
def test_the_saved_state_is_read(server: ModuleType, text: str, position: tuple[str, int | None, bool]) -> None:
    assert server.parse_grastate(text) == position


@pytest.mark.parametrize(
    ("text", "position"),
    [
        pytest.param(f"0 [Note] WSREP: Recovered position: {UUID}:42,0-1-7\n", (UUID, 42), id="found"),
        pytest.param(f"0 [Note] WSREP: Recovered position: {NOBODY}:-1\n", ("", None), id="data-of-no-cluster"),
        pytest.param("0 [ERROR] Aborting\n", ("", None), id="the-recovery-failed"),
    ],
)
def test_the_recovered_position_is_read(server: ModuleType, text: str, position: tuple[str, int | None]) -> None:
    assert server.parse_recovered(text) == position


def test_the_servers_status_is_read(server: ModuleType) -> None:
    lines = "wsrep_ready\tON\nwsrep_local_state\t4\nwsrep_cluster_status\tPrimary\n"
    status = server.parse_status(lines + "wsrep_incoming_addresses\tdb-galera-1:3306,db-galera-0:3306\n")
    assert status.synced
    assert status.view == NODES[:2]
    assert not server.parse_status(lines.replace("Primary", "non-Primary")).synced
    assert not server.parse_status("").synced


MISSING = "ERROR 1146 (42S02) at line 2: Table 'mysql.global_priv' doesn't exist\n"


@pytest.mark.parametrize(
    ("errors", "broken"),
    [
        pytest.param("", "", id="nothing"),
        pytest.param(f"--------------\nSELECT 1\n--------------\n\n{MISSING}", MISSING[30:-1], id="a-table-is-gone"),
        pytest.param("ERROR 1049 (42000): Unknown database 'mysql'\n", "Unknown database 'mysql'", id="all-are-gone"),
        pytest.param(
            "ERROR 145 (HY000) at line 2: Table 'db' is crashed\n", "Table 'db' is crashed", id="a-crashed-one"
        ),
        pytest.param("ERROR 1047 (08S01) at line 2: WSREP has not yet prepared node\n", "", id="it-waits-for-others"),
        pytest.param("ERROR 1205 (HY000) at line 2: Lock wait timeout exceeded\n", "", id="somebody-holds-a-lock"),
        pytest.param("ERROR 2013 (HY000) at line 2: Lost connection to server\n", "", id="it-ended-meanwhile"),
    ],
)
def test_a_server_that_cannot_read_its_own_tables_does_not_serve(server: ModuleType, errors: str, broken: str) -> None:
    lines = "wsrep_ready\tON\nwsrep_local_state\t4\nwsrep_cluster_status\tPrimary\n"
    status = server.parse_status(lines, errors)
    assert status.synced
    assert status.broken == broken
    assert status.serves is not bool(broken)


NO_ANSWER = "ERROR 2013 (HY000): Lost connection to server at 'waiting for initial communication packet'\n"


def test_a_server_that_is_too_busy_to_answer_keeps_its_clients_for_a_while(server: ModuleType) -> None:
    synced = server.parse_status("wsrep_ready\tON\nwsrep_local_state\t4\nwsrep_cluster_status\tPrimary\n")
    answers = server.Answers(0.0)
    silent = server.parse_status("", NO_ANSWER)
    assert not answers.take(silent, 1.0).serves, "it has never answered"
    said = [answers.take(status, now).serves for now, status in ((2.0, synced), (8.0, silent), (21.9, silent))]
    assert said == [True, True, True]
    assert not answers.take(silent, 22.1).serves, "that is longer than it may be busy"
    assert answers.take(synced, 23.0).serves
    left = server.parse_status("", "ERROR 1047 (08S01) at line 1: WSREP has not yet prepared node\n")
    assert not answers.take(left, 24.0).serves, "this is an answer"


@pytest.mark.parametrize("table", ["global_priv", "proc"])
def test_a_server_is_asked_for_its_own_tables_after_its_status(
    server: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    missing = MISSING.strip().replace("global_priv", table)
    # A client that answers the first statement and fails at the second one, as the real one does.
    program = tmp_path / "mariadb"
    program.write_text(
        "#!/bin/sh\nread status; read tables\nprintf 'wsrep_ready\\tON\\nwsrep_local_state\\t4\\n'\n"
        f'case "$tables" in *"mysql.{table} "*) echo "{missing}" >&2; exit 1;; esac\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    status = server.Server(tmp_path, "db-galera-0", run=tmp_path).status()
    assert (status.ready, status.state, status.broken) == (True, 4, f"Table 'mysql.{table}' doesn't exist")


class Agreement:
    """The ConfigMap of a cluster in which node 0 has the clients; no pod has a label."""

    def __init__(self) -> None:
        self.data = data({"state": "Synced"}, replicas=1, active=NODES[0])

    def read(self) -> dict[str, str]:
        """Find nothing new."""
        return self.data

    def write(self, changes: dict[str, str | None], **_: bool) -> dict[str, str]:
        said = {**self.data, **changes}
        self.data = {key: value for key, value in said.items() if value is not None}
        return self.data

    def mark(self, pod: str, **_: bool) -> None:
        """Set no label."""

    def record(self) -> dict[str, Any]:
        return dict(json.loads(self.data[NODES[0]]))


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
    node.force, node.force_since = "", 0.0
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


def in_cluster(server: ModuleType, *view: str) -> Any:
    """The status of a server that sees these nodes."""
    lines = "wsrep_ready\tON\nwsrep_local_state\t4\nwsrep_cluster_status\tPrimary\n"
    addresses = ",".join(f"{name}:3306" for name in view)
    return server.parse_status(f"{lines}wsrep_incoming_addresses\t{addresses}\n")


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
    ],
)
def test_a_busy_server_is_stopped_only_for_others(
    choice: ModuleType, server: ModuleType, node: Any, answered: bool, replicas: int, stops: bool
) -> None:
    module = importlib.import_module("node")
    node.map.data = data({"state": "Synced"}, stopped(5), stopped(5), replicas=replicas)
    node.record = choice.Record(NODES[0], "life", choice.SYNCED)
    living = module.Living(node)
    status = server.Status(answered=answered)
    assert not living.look(status)
    living.lonely_since -= module.LONELY + 1
    assert living.look(status) is stops


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


def test_marks_and_members_survive(server: ModuleType, tmp_path: Path) -> None:
    node = server.Server(tmp_path, "db-galera-0", run=tmp_path)
    assert node.record("life", print).empty
    node.set_mark("members", json.dumps(NODES))
    node.set_mark("joining")
    assert node.members() == NODES
    assert node.record("life", print).interrupted
    node.clear_mark("joining")
    assert not node.has_mark("joining")


def test_a_full_disk_costs_no_node_its_position(
    choice: ModuleType, server: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = server.Server(tmp_path, NODES[0], run=tmp_path)
    saved = tmp_path / "data" / "grastate.dat"
    saved.parent.mkdir()
    saved.write_text(GRASTATE.format(UUID, 12, 0))

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(server.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        node.start(choice.Record(NODES[0], "life"), [], "10.0.0.1", bootstrap=True)
    assert server.parse_grastate(saved.read_text()) == (UUID, 12, False)


@pytest.mark.parametrize(
    ("mark", "kept"),
    [
        pytest.param("", True, id="it-has-lost-the-servers-own-tables"),
        pytest.param("joining", False, id="it-was-being-filled-from-another"),
        pytest.param("fresh", False, id="it-never-was-whole"),
    ],
)
def test_data_of_clients_is_never_deleted_to_begin_anew(
    server: ModuleType, tmp_path: Path, mark: str, kept: bool
) -> None:
    node = server.Server(tmp_path, "db-galera-0", run=tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "ibdata1").write_text("rows of clients")
    if mark:
        node.set_mark(mark)
    node.set_aside()
    assert (tmp_path / "data.before-0" / "ibdata1").exists() is kept
    assert (tmp_path / "data" / "ibdata1").exists() is not kept


def test_data_that_stopped_in_order_needs_no_recovery(server: ModuleType, tmp_path: Path) -> None:
    node = server.Server(tmp_path, "db-galera-0", run=tmp_path)
    (tmp_path / "data" / "mysql").mkdir(parents=True)
    (tmp_path / "data" / "grastate.dat").write_text(GRASTATE.format(UUID, 12, 1))
    record = node.record("life", print)
    assert (record.uuid, record.seqno, record.safe, record.empty) == (UUID, 12, True, False)


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

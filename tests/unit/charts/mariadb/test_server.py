"""What a node of MariaDB makes of its data, and of what its server answers."""

import errno
import json
from pathlib import Path
from types import ModuleType

import pytest

from tests.unit.charts.mariadb.nodes import GRASTATE, NODES, UUID

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


@pytest.mark.parametrize(
    "error",
    [
        pytest.param("2013 (HY000): Lost connection to server at 'waiting for initial packet'", id="slow"),
        pytest.param("1040 (08004): Too many connections", id="no-connection-is-left"),
        pytest.param("1135 (HY000): Can't create a new thread (errno 11)", id="no-thread-is-left"),
    ],
)
def test_a_server_that_is_too_busy_to_answer_keeps_its_clients_for_a_while(server: ModuleType, error: str) -> None:
    synced = server.parse_status("wsrep_ready\tON\nwsrep_local_state\t4\nwsrep_cluster_status\tPrimary\n")
    answers = server.Answers(0.0)
    silent = server.parse_status("", f"ERROR {error}\n")
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


RECOVERED = f"0 [Note] WSREP: Recovered position: {UUID}:42"


@pytest.mark.parametrize(
    ("ends", "log", "seqno", "failed"),
    [
        pytest.param("exit 0", RECOVERED, 42, "", id="it-found-the-position"),
        pytest.param("exit 1", RECOVERED, 42, "", id="it-found-the-position-before-it-failed"),
        pytest.param("exit 0", "nothing", None, "", id="there-is-no-position"),
        pytest.param("kill -9 $$", "", None, "mariadbd was killed by signal 9", id="it-was-killed"),
        pytest.param(
            "exit 1",
            "0 [ERROR] InnoDB: The disk is full\n0 [ERROR] Aborting",
            None,
            "mariadbd ended with 1: InnoDB: The disk is full",
            id="it-failed",
        ),
    ],
)
def test_a_server_that_failed_to_look_is_told_from_data_without_a_position(
    server: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ends: str,
    log: str,
    seqno: int | None,
    failed: str,
) -> None:
    (tmp_path / "data" / "mysql").mkdir(parents=True)
    program = tmp_path / "mariadbd"
    program.write_text(
        f"#!/bin/sh\nfor each; do case $each in --log-error=*) printf '{log}\n' > ${{each#*=}};; esac; done\n{ends}\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    record = server.Server(tmp_path, NODES[0], run=tmp_path).record("life", print)
    assert (record.seqno, record.failed, record.empty) == (seqno, failed, False)

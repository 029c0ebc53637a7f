"""Who joins a cluster of RabbitMQ, what a join that was cut short leaves, and who keeps its data."""

import re
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.unit.charts.rabbitmq.nodes import Play, cluster_of, write_tables


def joined(words: list[str]) -> str:
    """The member that a command joins; empty for the plain server."""
    return found[1] if (found := re.search(r"Member = '([^']*)'", words[-1])) else ""


def test_a_node_without_data_joins_the_one_that_serves(programs: dict[str, ModuleType], play: Play, own: Any) -> None:
    nodes = play(2, {1: cluster_of(0, 1)})
    words, begins = programs["serve"].decide(own)
    assert (joined(words), begins) == (programs["cluster"].node(1), False)
    assert own.is_marked
    assert f'file:delete("{own.marker}")' in words[-1]
    assert not [each for each in nodes.made if "forget" in each]


def test_no_join_keeps_others_from_theirs_for_ever(programs: dict[str, ModuleType], play: Play, own: Any) -> None:
    play(2, {1: cluster_of(0, 1)})
    (words, _), join = programs["serve"].decide(own), programs["join"]
    assert f"begun -> Watch({join.JOINING})" in words[-1]
    assert f"global:set_lock(Lock, [Member], {join.TURNS})" in words[-1]
    # On average 4 s lie between two tries: whoever waits behind one that hangs gets its turn.
    assert join.TURNS * 4000 > join.JOINING


def test_only_node_0_begins_a_cluster(programs: dict[str, ModuleType], play: Play, own: Any) -> None:
    play(0, {})
    assert programs["serve"].decide(own) == (["rabbitmq-server"], True)
    assert not own.is_marked


def test_a_node_that_lost_its_volume_is_forgotten_before_it_joins(
    programs: dict[str, ModuleType], play: Play, own: Any
) -> None:
    nodes = play(2, {0: cluster_of(0, 1, 2, running=(0, 1))})
    words, _ = programs["serve"].decide(own)
    assert joined(words) == programs["cluster"].node(0)
    assert f"0: forget_cluster_node {programs['cluster'].node(2)}" in nodes.made


def test_a_node_that_shall_go_undoes_its_join_and_does_not_join_again(
    programs: dict[str, ModuleType], play: Play, own: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed while it joined again, it would be half of the members, and the other one would serve nobody."""
    own.mark()
    write_tables(own)
    nodes = play(2, {0: cluster_of(0, 2, running=(0,))}, replicas=1)
    states = list[tuple[bool, bool]]()

    def sleep(_: float) -> None:
        states.append((own.is_marked, own.has_data))
        monkeypatch.setattr(programs["cluster"], "replicas", lambda: 3)

    monkeypatch.setattr(time, "sleep", sleep)
    words, _ = programs["serve"].decide(own)
    assert f"0: forget_cluster_node {programs['cluster'].node(2)}" in nodes.made
    assert states == [(False, False)]
    # Wanted again, it joins.
    assert joined(words) == programs["cluster"].node(0)


def test_one_that_does_not_answer_is_not_joined(programs: dict[str, ModuleType], play: Play, own: Any) -> None:
    play(2, {1: cluster_of(0, 1)}, serving=[0, 1])
    assert joined(programs["serve"].decide(own)[0]) == programs["cluster"].node(1)


def test_a_join_that_was_cut_short_is_forgotten_and_wiped(
    programs: dict[str, ModuleType], play: Play, own: Any, tmp_path: Path
) -> None:
    own.mark()
    write_tables(own)
    nodes = play(2, {0: cluster_of(0, 1, 2, running=(0, 1))})
    words, _ = programs["serve"].decide(own)
    assert joined(words) == programs["cluster"].node(0)
    assert f"0: forget_cluster_node {programs['cluster'].node(2)}" in nodes.made
    assert not own.place.exists()
    assert not own.flags.exists()
    assert not (tmp_path / "programs" / "started").exists()


def test_who_waits_for_the_tables_of_a_join_is_shown_them(
    programs: dict[str, ModuleType], play: Play, own: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """While the cluster forgets the node, Erlang runs on without them."""
    own.mark()
    write_tables(own)
    nodes = play(2, {0: cluster_of(0, 2, running=(0,)), 2: "stopped"}, serving=[])
    started = tmp_path / "programs" / "started"
    host = programs["cluster"].host(0)
    monkeypatch.setattr(programs["peers"], "serves", lambda asked: asked == host and started.exists())
    words, _ = programs["serve"].decide(own)
    assert joined(words) == programs["cluster"].node(0)
    assert "try true andalso Show()" in started.read_text()
    hidden = next(place for place, each in enumerate(nodes.made) if "{hide, self()}" in each)
    assert hidden < nodes.made.index(f"0: forget_cluster_node {programs['cluster'].node(2)}")


def test_a_copy_of_tables_is_shown_to_those_alone_who_wait_for_it(
    programs: dict[str, ModuleType], play: Play, own: Any, tmp_path: Path
) -> None:
    """They may know more members than are declared; those that do not answer are waited for no longer."""
    own.mark()
    write_tables(own, 0, 2, 4)
    play(2, {}, replicas=2)
    with programs["join"].shown(own) as running:
        started = tmp_path / "programs" / "started"
        while not started.exists():
            time.sleep(0.01)
    assert running.poll() is not None
    asked, shown = started.read_text(), programs["cluster"].node
    assert f"Others = ['{shown(0)}', '{shown(1)}', '{shown(4)}']," in asked
    # Nobody else may be there to say who belongs to the cluster.
    assert "Others ++ mnesia:system_info(db_nodes)" in asked
    # It is never read, and says so before it can be seen.
    assert asked.index("lists:all(Waits, Reached)") < asked.index("mnesia:set_master_nodes(Reached)")
    assert asked.index("mnesia:set_master_nodes(schema, [])") < asked.index("mnesia:start()")


@pytest.mark.parametrize("newer", [True, False])
def test_a_person_is_told_what_alone_gets_the_newer_store_going_again(
    programs: dict[str, ModuleType],
    play: Play,
    own: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    newer: bool,
) -> None:
    own.mark()
    own.flags.write_text("[khepri_db].\n" if newer else "[].\n")
    play(2, {0: cluster_of(0), 2: "stopped"}, serving=[])
    started = tmp_path / "programs" / "started"
    monkeypatch.setattr(programs["peers"], "serves", lambda _: started.exists())
    programs["serve"].decide(own)
    assert ("force_standalone_khepri_boot" in capsys.readouterr().out) is newer


def runs(number: str) -> bool:
    """Whether a process runs, and is not only waiting for somebody to ask how it ended."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_nothing_is_left_of_what_ran_for_the_others(
    programs: dict[str, ModuleType], play: Play, own: Any, tmp_path: Path
) -> None:
    """The shell that is asked to end may be gone before Erlang is."""
    play(2, {})
    folder = tmp_path / "programs"
    (folder / "rabbitmq-server").write_text(f"#!/bin/sh\nsleep 60 &\necho $! > {folder}/erlang\nwait\n")
    with programs["join"].shown(own):
        while not (erlang := folder / "erlang").exists() or not erlang.read_text().endswith("\n"):
            time.sleep(0.01)
    # What is killed is gone a moment later.
    deadline = time.monotonic() + 10
    while runs(erlang.read_text().strip()) and time.monotonic() < deadline:
        pass
    assert not runs(erlang.read_text().strip())


def test_node_0_that_was_killed_while_it_joined_begins_where_nobody_has_data(
    programs: dict[str, ModuleType], play: Play, own: Any
) -> None:
    own.mark()
    write_tables(own)
    play(0, {})
    assert programs["serve"].decide(own) == (["rabbitmq-server"], True)
    assert not own.place.exists()
    assert not own.is_marked


def test_only_what_a_join_has_left_is_wiped(own: Any) -> None:
    write_tables(own)
    with pytest.raises(RuntimeError, match="only what a join has left"):
        own.wipe()
    assert own.has_data


@pytest.mark.parametrize(
    ("views", "serving", "aside"),
    [
        pytest.param({0: cluster_of(0, 1), 1: cluster_of(0, 1)}, None, True, id="most-serve-and-none-knows-it"),
        pytest.param({0: cluster_of(0, 1, 2), 1: cluster_of(0, 1)}, None, False, id="one-knows-it"),
        pytest.param({0: cluster_of(0), 1: cluster_of(1)}, None, False, id="they-do-not-serve-together"),
        pytest.param({0: cluster_of(0, 1)}, None, False, id="too-few-serve"),
        pytest.param({0: cluster_of(0, 1)}, [0, 1], False, id="one-does-not-answer"),
        pytest.param({}, None, False, id="nobody-serves"),
    ],
)
def test_data_are_put_aside_only_where_most_nodes_have_forgotten_them(
    programs: dict[str, ModuleType], play: Play, own: Any, views: dict[int, str], serving: list[int] | None, aside: bool
) -> None:
    write_tables(own)
    play(2, views, serving)
    words, begins = programs["serve"].decide(own)
    assert begins is False
    assert (words == ["rabbitmq-server"]) is not aside
    assert own.place.exists() is not aside
    kept = [path.read_text() for path in own.data.glob(f"{own.name}.aside-*/schema.DAT")]
    assert kept == (["tables"] if aside else [])


def test_a_node_with_data_does_not_wait_for_each_of_many_that_hang(
    programs: dict[str, ModuleType], play: Play, own: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_tables(own)
    ask = programs["join"].control
    play(2, {0: "", 1: "", 3: "", 4: ""}, replicas=5)
    monkeypatch.setattr(programs["join"], "control", ask)
    monkeypatch.setattr(programs["join"], "ANSWER", 1.0)
    program = tmp_path / "programs" / "rabbitmqctl"
    program.write_text("#!/bin/sh\nexec sleep 5\n")
    program.chmod(0o755)
    begin = time.monotonic()
    assert programs["serve"].decide(own) == (["rabbitmq-server"], False)
    assert time.monotonic() - begin < 4


@pytest.mark.parametrize("known", [(2,), ()], ids=["it-has-a-cluster-of-its-own", "it-does-not-say"])
def test_who_never_was_in_the_cluster_of_the_others_keeps_its_data(
    programs: dict[str, ModuleType], play: Play, own: Any, known: tuple[int, ...]
) -> None:
    write_tables(own, *known)
    if not known:
        (own.place / "cluster_nodes.config").unlink()
    play(2, {0: cluster_of(0, 1), 1: cluster_of(0, 1)})
    assert programs["serve"].decide(own) == (["rabbitmq-server"], False)
    assert own.place.exists()


def test_who_cannot_ask_the_api_server_goes_on_with_its_data(
    programs: dict[str, ModuleType], play: Play, own: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tables(own)
    play(2, {0: cluster_of(0, 1), 1: cluster_of(0, 1)})

    def refuse() -> int:
        raise programs["cluster"].Unanswered("no")

    monkeypatch.setattr(programs["cluster"], "replicas", refuse)
    assert programs["serve"].decide(own) == (["rabbitmq-server"], False)

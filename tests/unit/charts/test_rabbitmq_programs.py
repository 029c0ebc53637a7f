"""What the programs in RabbitMQ's pods decide."""

import importlib
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FILES = Path(__file__).parents[3] / "charts" / "rabbitmq" / "files"


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


def members(*numbers: int) -> str:
    """What Erlang prints of nodes."""
    return "[" + ",\n ".join(f"'rabbit@rabbitmq-server-{n}.rabbitmq-nodes.openstack.svc'" for n in numbers) + "]"


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


class Nodes:
    """What other nodes say of their cluster, and what this one was made to do."""

    def __init__(self, programs: dict[str, ModuleType], views: dict[int, str]) -> None:
        self.node, self.views, self.made = programs["cluster"].node, views, list[str]()

    def __call__(self, number: int, *words: str, **_: float) -> str:
        self.made.append(f"{number}: {' '.join(words)}")
        if words[0] == "forget_cluster_node" and number in self.views:
            members, running = re.findall(r"\[[^\]]*\]", self.views[number])
            self.views[number] = f"{{{members.replace(words[1], 'nobody')},{running.replace(words[1], 'nobody')}}}"
        return self.views.get(number, "") if words[0] == "eval" else ""


def cluster_of(*numbers: int, running: tuple[int, ...] | None = None) -> str:
    """What a node prints of the members of its cluster, and of those who run."""
    return f"{{{members(*numbers)},{members(*(numbers if running is None else running))}}}\n"


@pytest.fixture
def own(programs: dict[str, ModuleType], tmp_path: Path) -> Any:
    return programs["volume"].Volume(tmp_path, programs["cluster"].node(2))


def write_tables(own: Any, *numbers: int) -> None:
    """Let a node have what the member of a cluster of these nodes has, of three if none are named."""
    known = members(*(numbers or (0, 1, 2)))
    own.place.mkdir()
    (own.place / "cluster_nodes.config").write_text(f"{{{known},{known}}}.\n")
    (own.place / "schema.DAT").write_text("tables")
    own.flags.write_text("[].\n")


Play = Callable[..., Nodes]


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


def node_of(programs: dict[str, ModuleType], number: int, version: str = "4.1.0", *, running: bool = True) -> Any:
    applications = [{"name": "rabbit", "version": version, "description": "RabbitMQ"}]
    return {"name": programs["cluster"].node(number), "running": running, "applications": applications}


def test_flags_are_enabled_when_all_nodes_run_one_version(programs: dict[str, ModuleType]) -> None:
    flags = programs["flags"]
    alike = [node_of(programs, 0), node_of(programs, 1)]
    assert flags.are_alike(alike, 2)
    assert not flags.are_alike(alike, 3)
    assert not flags.are_alike([alike[0], node_of(programs, 1, "4.0.5")], 2)
    assert not flags.are_alike([alike[0], node_of(programs, 1, running=False)], 2)


class Refuses(BaseHTTPRequestHandler):
    """A node that knows no such user."""

    def do_GET(self) -> None:
        self.send_response(401)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Enough(Exception):
    """The test has seen what it wanted."""


def test_a_node_that_does_not_know_its_first_user_is_asked_seldom_and_that_is_said_once(
    programs: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said, pauses = list[str](), list[float]()

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 5:
            raise Enough

    user = tmp_path / "default_user.conf"
    user.write_text("default_user = somebody\ndefault_pass = of-old\n")
    with ThreadingHTTPServer(("127.0.0.1", 0), Refuses) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(programs["cluster"], "AMQP", server.server_port)
        monkeypatch.setattr(programs["cluster"], "replicas", lambda: 3)
        monkeypatch.setattr(programs["ready"], "MANAGEMENT", server.server_port)
        monkeypatch.setattr(programs["ready"], "USER", user)
        monkeypatch.setattr(programs["hooks"], "say", lambda _, text: said.append(text))
        monkeypatch.setattr(time, "sleep", sleep)
        with pytest.raises(Enough):
            programs["flags"].main()
        server.shutdown()
    # It may be the broker's first moment.
    assert [pause > 600 for pause in pauses] == [False, False, True, True, True]
    assert len(said) == 1
    assert "default_user.conf" in said[0]


def test_flags_that_are_an_experiment_or_a_person_s_choice_stay_disabled(programs: dict[str, ModuleType]) -> None:
    said = [
        {"name": "new", "state": "disabled", "stability": "stable"},
        {"name": "old", "state": "enabled", "stability": "required"},
        {"name": "risky", "state": "disabled", "stability": "experimental"},
        {"name": "khepri_db", "state": "disabled", "stability": "stable"},
        {"name": "changing", "state": "state_changing", "stability": "stable"},
    ]
    assert programs["flags"].missing(said) == ["new"]

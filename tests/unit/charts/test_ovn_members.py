"""What a member of OVN's databases does to its file, and in which order."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FILES = Path(__file__).parents[3] / "charts" / "ovn" / "files"
SET = "ovsdbserver-nb"
NAMES = ("member", "database", "cluster", "kubernetes", "programs")


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ModuleType]]:
    # RabbitMQ's programs have modules of the same names.
    for name in NAMES:
        sys.modules.pop(name, None)
    monkeypatch.syspath_prepend(str(FILES))
    yield {name: importlib.import_module(name) for name in NAMES}
    for name in NAMES:
        sys.modules.pop(name, None)


class Map:
    """The ConfigMap of the members, in memory. `others` write to it before a write of ours comes through."""

    def __init__(self, kubernetes: Any, **data: str) -> None:
        self.data: dict[str, str] = dict(data)
        self.there = dict(data)
        self.others: list[dict[str, str]] = []
        self._kubernetes = kubernetes

    def read(self) -> dict[str, str]:
        self.data = dict(self.there)
        return self.data

    def write(self, changes: dict[str, str | None], *, checked: bool = False) -> dict[str, str]:
        if self.others:
            self.there |= self.others.pop(0)
        if checked and self.there != self.data:
            raise self._kubernetes.Unanswered("409 Conflict", 409)
        self.there |= {key: value for key, value in changes.items() if value is not None}
        for key in (key for key, value in changes.items() if value is None):
            self.there.pop(key, None)
        return self.read()


def member_of(programs: dict[str, ModuleType], path: Path, number: int = 0, **data: str) -> Any:
    """Return a member that is not started, and what the others said."""
    found: Any = object.__new__(programs["member"].Member)
    found.pod, found.stateful_set = f"{SET}-{number}", SET
    found.database, found.path = programs["database"].DATABASES["nb"], path
    found.state = Map(programs["kubernetes"], **data)
    found.replicas, found.server, found.file = 3, None, programs["cluster"].File()
    found.ending, found.said, found.looked = False, "", 0.0
    found.settings = lambda: {"electionTimer": 1000, "logLevel": "info", "inactivityProbe": 0}
    return found


def tool(monkeypatch: pytest.MonkeyPatch, database: Any) -> None:
    """Let ovsdb-tool make files that say what they were made of."""

    def run(*command: str, seconds: float = 0) -> str:
        if "db-is-standalone" in command:
            raise database.Failed("it is of a cluster")
        if "cluster-to-standalone" in command:
            Path(command[2]).write_text(Path(command[3]).read_text())
        if "create-cluster" in command:
            Path(command[3]).write_text(f"new cluster of {Path(command[4]).read_text()}")
        return ""

    monkeypatch.setattr(database, "run", run)


def test_a_kill_while_a_cluster_is_made_of_data_never_leaves_a_member_without_a_file(
    programs: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # A member without a file that is forced makes an empty cluster, and all others put their data aside for it.
    database: Any = programs["database"]
    tool(monkeypatch, database)
    path = tmp_path / "nb.db"
    path.write_text("data")

    rename = Path.replace

    def killed(source: Path, target: Path) -> Path:
        if source.suffix == ".new":
            raise KeyboardInterrupt
        return rename(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            database.create(database.DATABASES["nb"], path, "tcp:a:6643", 1000, kept=True)
    assert path.read_text() == "data"
    database.create(database.DATABASES["nb"], path, "tcp:a:6643", 1000, kept=True)
    assert path.read_text() == "new cluster of data"
    assert {entry.name: entry.read_text() for entry in tmp_path.iterdir() if entry != path} == {"nb.db.aside": "data"}


def test_what_was_put_aside_outlives_every_try_to_join(
    programs: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    database, cluster = programs["database"], programs["cluster"]
    path = tmp_path / "nb.db"
    path.write_text("data")
    monkeypatch.setattr(database, "join", lambda *_: path.write_text("nothing yet"))
    monkeypatch.setattr(database, "read_file", lambda _: cluster.File("new"))
    member = member_of(programs, path, 2, cluster="other")
    member.file = cluster.File("old", "c")
    member.serve = member.wait_until_joined = lambda: None
    for _ in range(3):
        # A server that nobody takes in is stopped after a while, and tries anew with another id.
        member.join(aside=True)
    assert (tmp_path / "nb.db.aside").read_text() == "data"
    assert path.read_text() == "nothing yet"


@pytest.mark.parametrize("forced", [0, 2])
def test_who_has_a_leader_removes_force_whomever_it_names(
    programs: dict[str, ModuleType], tmp_path: Path, forced: int
) -> None:
    member = member_of(programs, tmp_path / "nb.db", cluster="c", force=f"{SET}-{forced}")
    member.file = programs["cluster"].File("s", "c")
    member.mind(None, programs["cluster"].Status(status="cluster member", role="follower", leader="ab12"))
    assert "force" not in member.state.there


@pytest.mark.parametrize(("image", "converted"), [("7.11.0", True), ("7.3.0", False), ("7.1.0", False)])
def test_a_leader_of_the_former_release_takes_nothing_back(
    programs: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, image: str, converted: bool
) -> None:
    database: Any = programs["database"]
    asked: list[str] = []
    # What these say is as it is with Open vSwitch: a conversion is needed in either direction.
    answers = {"needs-conversion": "yes", "get-schema-version": "7.3.0", "schema-version": image}

    def run(*command: str, seconds: float = 0) -> str:
        asked.extend(command)
        return next((answer for word, answer in answers.items() if word in command), "")

    monkeypatch.setattr(database, "run", run)
    server = object.__new__(database.Server)
    server.database = database.DATABASES["nb"]
    server.convert()
    assert ("convert" in asked) is converted


class Halted:
    """A server that runs until it is stopped."""

    def __init__(self) -> None:
        self.ended: int | None = None
        self.process = self

    def poll(self) -> int | None:
        return self.ended

    def stop(self) -> None:
        self.ended = 0


def start(member: Any, programs: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, file: Any) -> bool:
    monkeypatch.setattr(programs["database"], "read_file", lambda _: file)
    monkeypatch.setattr(programs["kubernetes"], "replicas", lambda _: 3)
    member.serve = lambda: setattr(member, "server", Halted())
    return bool(member.start())


def test_an_old_file_does_not_become_the_agreement_by_starting_first(
    programs: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # The others have the data of a newer cluster, and would put them aside for it.
    cluster = programs["cluster"]
    member = member_of(programs, tmp_path / "nb.db", 2)
    assert start(member, programs, monkeypatch, cluster.File("s", "old"))
    assert "cluster" not in member.state.there
    member.mind(None, cluster.Status(status="cluster member", role="candidate", leader="unknown"))
    assert "cluster" not in member.state.there
    member.mind(None, cluster.Status(status="cluster member", role="follower", leader="ab12"))
    assert member.state.there["cluster"] == "old"


def test_an_empty_cluster_gives_way_to_data_that_came_meanwhile(
    programs: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    member = member_of(programs, tmp_path / "nb.db", 0)
    monkeypatch.setattr(programs["database"], "create", lambda *_, **__: None)
    monkeypatch.setattr(programs["database"], "read_file", lambda _: programs["cluster"].File("new", "empty"))
    # The first write says what the member does; before the second one, another member has said that it has data.
    member.state.others = [{}, {"cluster": "full"}]
    with pytest.raises(programs["kubernetes"].Unanswered):
        member.create(kept=False)
    assert member.state.there["cluster"] == "full"


def test_no_server_goes_on_with_a_file_that_was_put_aside(
    programs: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    member = member_of(programs, tmp_path / "nb.db", 2, cluster="other")
    member.file, server = programs["cluster"].File("s", "c"), Halted()
    member.path.write_text("data")
    member.server = server
    monkeypatch.setattr(programs["database"], "join", lambda *_: server.ended is not None or pytest.fail("it runs"))
    monkeypatch.setattr(programs["database"], "read_file", lambda _: None)
    member.serve = member.wait_until_joined = lambda: None
    member.join(aside=True)


def test_two_that_leave_at_once_are_both_remembered(programs: dict[str, ModuleType], tmp_path: Path) -> None:
    # The one that is forgotten and killed before its file is gone could never come back.
    member = member_of(programs, tmp_path / "nb.db", 1, cluster="c")
    member.state.read()
    member.state.others = [{"removed": "two"}]
    member.remove("one")
    assert member.state.there["removed"] == "two,one"


def test_the_leader_notes_whom_it_removes_before_it_does_so(programs: dict[str, ModuleType], tmp_path: Path) -> None:
    # A leader that is killed in between leaves one that cannot serve, or one that joins anew.
    cluster = programs["cluster"]
    said = str(cluster.Record("ab12-full", "c"))
    member = member_of(programs, tmp_path / "nb.db", 0, **{"cluster": "c", f"{SET}-5": said})
    member.state.read()
    servers = (cluster.Server("0000", "x", is_self=True), cluster.Server("ab12", member.address(f"{SET}-5")))
    noted: list[str] = []

    class Told:
        def tell(self, *_: str) -> None:
            noted.append(member.state.there.get("removed", ""))

    member.clear(Told(), cluster.Status("cluster member", "leader", "self", servers=servers))
    assert noted == ["ab12-full"]


def test_the_cluster_is_looked_after_also_where_a_setting_is_refused(
    programs: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module: Any = programs["member"]
    member = member_of(programs, tmp_path / "nb.db", 0, cluster="c")
    status = programs["cluster"].Status("cluster member", "leader", "self")
    monkeypatch.setattr(module, "PAUSE", 0)
    monkeypatch.setattr(programs["kubernetes"], "replicas", lambda _: 3)
    minded: list[Any] = []

    def apply(*_: object) -> None:
        raise programs["database"].Failed("constraint violation")

    def mind(_: object, seen: Any) -> None:
        minded.append(seen)
        member.ending = True

    member.server, member.apply, member.mind, member.end = Halted(), apply, mind, lambda: 0
    member.server.status = lambda: status
    # Without this, nobody ever minds it and the loop goes on.
    monkeypatch.setattr(module.time, "sleep", lambda _: setattr(member, "ending", True))
    assert member.watch() == 0
    assert minded == [status]


@pytest.mark.parametrize(("removed", "advice"), [("s", f"set force to {SET}-1"), ("x", "raise replicas again, until")])
def test_one_without_data_says_how_to_get_those_of_another(
    programs: dict[str, ModuleType], tmp_path: Path, removed: str, advice: str
) -> None:
    # A member that is marked as removed would put its data aside and join: the only data that there are.
    said = str(programs["cluster"].Record("s", "c"))
    member = member_of(programs, tmp_path / "nb.db", 0, **{"cluster": "c", "removed": removed, f"{SET}-1": said})
    member.state.read()
    assert advice in member.bereft()

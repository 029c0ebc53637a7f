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

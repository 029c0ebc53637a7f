"""The cache: one entry for each content, nothing half in it."""

from pathlib import Path

import pytest

from stackwright.local import cache
from stackwright.local.progress import Silent


@pytest.fixture
def module(tmp_path: Path) -> Path:
    folder = tmp_path / "module"
    (folder / "one").mkdir(parents=True)
    (folder / "go.mod").write_text("module one\n")
    (folder / "go.sum").write_text("")
    (folder / "one" / "main.go").write_text("package main\n")
    return folder


def key(module: Path, **changed: str) -> str:
    return cache.key(module, **({"version": "v1", "architecture": "amd64", "recipe": "-s"} | changed))


@pytest.mark.parametrize("name", ["go.mod", "go.sum", "one/main.go", "two.go"])
def test_a_changed_file_is_another_entry(module: Path, name: str) -> None:
    before = key(module)
    assert key(module) == before
    (module / name).write_text("changed\n")
    assert key(module) != before


@pytest.mark.parametrize("changed", [{"version": "v2"}, {"architecture": "arm64"}, {"recipe": "-w"}])
def test_another_version_machine_or_recipe_is_another_entry(module: Path, changed: dict[str, str]) -> None:
    assert key(module, **changed) != key(module)


def test_what_moves_between_files_is_another_entry(module: Path) -> None:
    (module / "go.sum").write_text("ab")
    before = key(module)
    (module / "go.mod").write_text("module one\na")
    (module / "go.sum").write_text("b")
    assert key(module) != before


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        pytest.param("/somewhere", "/somewhere/stackwright/kubernetes", id="the-users-cache-folder"),
        pytest.param("relative", "/home/somebody/.cache/stackwright/kubernetes", id="a-relative-one-is-ignored"),
        pytest.param("", "/home/somebody/.cache/stackwright/kubernetes", id="the-default"),
    ],
)
def test_the_cache_is_where_the_convention_says(monkeypatch: pytest.MonkeyPatch, variable: str, expected: str) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("XDG_CACHE_HOME", variable)
    assert cache.root() == Path(expected)


def test_what_is_kept_is_found_and_links_with_it(tmp_path: Path) -> None:
    entry = cache.Cache(tmp_path, "entry")
    with entry.locked(Silent()), entry.staging() as staging:
        (staging / "servers").write_text("program")
        (staging / "servers").chmod(0o755)
        (staging / "etcd").symlink_to("servers")
        assert entry.find(["etcd"]) == {}
        entry.keep(staging)
    assert entry.find(["etcd", "kubelet"]) == {"etcd": tmp_path / "entry" / "etcd"}
    assert not list(tmp_path.glob("*.staging"))


def test_a_file_that_cannot_be_run_is_no_program(tmp_path: Path) -> None:
    (tmp_path / "etcd").write_text("text")
    (tmp_path / "helm").symlink_to("nothing")
    (tmp_path / "kubectl").mkdir()
    assert cache.programs_in(tmp_path, ["etcd", "helm", "kubectl", "kubelet"]) == {}


def test_what_a_killed_process_left_goes_away(tmp_path: Path) -> None:
    entry = cache.Cache(tmp_path, "entry")
    left = tmp_path / "entry.staging" / "half"
    left.parent.mkdir()
    left.write_text("half a program")
    with entry.locked(Silent()), entry.staging() as staging:
        assert list(staging.iterdir()) == []

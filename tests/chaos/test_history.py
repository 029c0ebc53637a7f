"""Which commit the test of upgrades starts from."""

import subprocess
from pathlib import Path

import pytest

from tests.chaos import history


@pytest.fixture(autouse=True)
def nobody_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(history.VARIABLE, raising=False)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone whose main has three commits: first, second, third."""
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    for name in ("first", "second", "third"):
        commit(tmp_path, name)
    return tmp_path


def git(clone: Path, *words: str) -> None:
    who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", clone, *who, *words], check=True, capture_output=True)


def commit(clone: Path, name: str, file: str = "file") -> None:
    (clone / file).parent.mkdir(exist_ok=True)
    (clone / file).write_text(name)
    git(clone, "add", file)
    git(clone, "commit", "--quiet", f"--message={name}")


def subject(clone: Path) -> str:
    return history.describe(clone, history.earlier(clone)).partition(" ")[2]


def test_on_main_it_is_the_commit_before(clone: Path) -> None:
    assert subject(clone) == "(second)"


def test_on_main_only_what_is_deployed_counts(clone: Path) -> None:
    commit(clone, "fourth", "stackwright/module.py")
    commit(clone, "fifth", "page")
    assert subject(clone) == "(third)"


def test_on_a_branch_it_is_where_the_branch_began(clone: Path) -> None:
    git(clone, "checkout", "--quiet", "-b", "branch")
    commit(clone, "fourth")
    commit(clone, "fifth")
    assert subject(clone) == "(third)"


def test_the_newest_tag_goes_before_that(clone: Path) -> None:
    git(clone, "tag", "v1", "HEAD~2")
    assert subject(clone) == "(first)"


def test_a_release_is_upgraded_from_the_one_before(clone: Path) -> None:
    git(clone, "tag", "v1", "HEAD~2")
    git(clone, "tag", "v2", "HEAD")
    assert subject(clone) == "(first)"


def test_who_names_one_gets_it(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(history.VARIABLE, "HEAD~2")
    assert subject(clone) == "(first)"


def test_a_clone_without_history_says_so(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    shallow = tmp_path_factory.mktemp("shallow") / "clone"
    command = ["git", "clone", "--quiet", "--depth=1", f"file://{clone}", str(shallow)]
    subprocess.run(command, check=True, capture_output=True)
    with pytest.raises(history.Missing, match="no commit HEAD\\^; fetch its whole history"):
        history.earlier(shallow)


def test_the_files_of_a_commit_are_put_into_a_folder(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = history.check_out(clone, history.earlier(clone), tmp_path_factory.mktemp("tree") / "earlier")
    assert (folder / "file").read_text() == "second"

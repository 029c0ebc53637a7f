"""The version that an upgrade starts from, out of the clone's own history."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

# Names another revision, such as a release or the commit before an issue was begun.
VARIABLE = "STACKWRIGHT_UPGRADE_FROM"
LANDED = ("origin/main", "main")
DEPLOYED = ("stackwright", "charts", "images")


class Missing(Exception):
    """The clone has no such commit; the text says which."""


def earlier(clone: Path) -> str:
    """Return the commit to upgrade from.

    It is the one that $STACKWRIGHT_UPGRADE_FROM names; else the newest tag before this commit; else where this branch
    left main; else, on main itself, the commit before the last one that changed what is deployed.
    """
    if named := os.environ.get(VARIABLE):
        return _commit(clone, named)
    head = _commit(clone, "HEAD")
    # A branch that is not there, or a clone without tags, only means that the next one is asked for.
    if found := next((found for found in _candidates(clone) if found and found != head), ""):
        return found
    # Between two commits with the same operators there is no upgrade.
    changed = _ask(clone, "log", "-1", "--format=%H", "HEAD", "--", *DEPLOYED)
    return _commit(clone, f"{changed or 'HEAD'}^")


def _candidates(clone: Path) -> Iterator[str]:
    tag = _ask(clone, "describe", "--tags", "--abbrev=0", "HEAD^")
    yield _ask(clone, "rev-parse", "--verify", f"{tag}^{{commit}}") if tag else ""
    for branch in LANDED:
        yield _ask(clone, "merge-base", "HEAD", branch)


def describe(clone: Path, commit: str) -> str:
    """Return a commit as people know it."""
    return _ask(clone, "show", "--no-patch", "--format=%h (%s)", commit)


def check_out(clone: Path, commit: str, folder: Path) -> Path:
    """Put the files of a commit into a new folder; return it."""
    folder.mkdir()
    archive = subprocess.run(["git", "-C", clone, "archive", commit], capture_output=True, check=True).stdout
    subprocess.run(["tar", "--extract", f"--directory={folder}"], input=archive, check=True)
    return folder


def _commit(clone: Path, revision: str) -> str:
    found = _ask(clone, "rev-parse", "--verify", f"{revision}^{{commit}}")
    if not found:
        raise Missing(f"this clone has no commit {revision}; fetch its whole history: git fetch --unshallow --tags")
    return found


def _ask(clone: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", clone, *words], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""

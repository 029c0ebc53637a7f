"""CI takes the first Python that will do, whatever comes first in PATH."""

import shlex
import subprocess
import sys
from pathlib import Path

from tests.checkout import ROOT

CHOOSE = ROOT / ".ci" / "choose-python"


def choose(*pythons: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([CHOOSE, *pythons], capture_output=True, text=True, check=False)


def python(folder: Path, name: str, before: str = "") -> Path:
    """Return a Python that runs a line of ours before what it is asked to run."""
    program = folder / name
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c "{before}\n$2"\n')
    program.chmod(0o755)
    return program


def test_the_first_that_will_do_is_taken(tmp_path: Path) -> None:
    first, second = python(tmp_path, "first"), python(tmp_path, "second")
    assert choose(first, second).stdout == f"{first}\n"


def test_one_that_is_too_old_or_lacks_venv_or_is_not_there_is_passed_over(tmp_path: Path) -> None:
    old = python(tmp_path, "old", "import sys; sys.version_info = (3, 10, 9)")
    bare = python(tmp_path, "bare", "import sys; sys.modules['venv'] = None")
    usable = python(tmp_path, "usable")
    assert choose(tmp_path / "none", old, bare, usable).stdout == f"{usable}\n"
    none = choose(old, bare)
    assert none.returncode == 1
    assert str(old) in none.stderr

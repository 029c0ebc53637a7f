"""`make everything` runs all its parts, says how each ended, and forgets no file of tests."""

import re
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.everything import __main__ as everything
from tests.everything import image_python
from tests.everything.parts import ALL, Part


def part(name: str, script: str, minutes: float = 1) -> Part:
    return Part(name, f"what {name} does", (sys.executable, "-c", script), minutes=minutes)


PASSES = part("first", "import os; assert os.environ['CI'] == 'true'")
FAILS = part("second", "import sys; sys.exit(3)")
HANGS = part("third", "import time; time.sleep(60)", minutes=0.5 / 60)


def test_what_fails_does_not_stop_the_rest_and_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    assert everything.main((), (FAILS, HANGS, PASSES)) == 1
    lines = capfd.readouterr().out.splitlines()
    summary = lines[lines.index("==> everything") + 1 :]
    assert [line.split()[0] for line in summary[:3]] == ["FAILED", "FAILED", "passed"]
    assert summary[0].endswith("second        what second does: ended with 3")
    assert "no end after" in summary[1]
    # A loaded machine may take a minute for them.
    assert re.fullmatch(r"3 of 3 parts in \d+ min, 2 failed", summary[3])


@pytest.mark.parametrize(
    ("names", "code"),
    [
        pytest.param(("first",), 0, id="one-that-passes"),
        pytest.param(("first", "second"), 1, id="one-of-them-fails"),
        pytest.param(("fist",), 2, id="no-such-part"),
    ],
)
def test_parts_are_chosen_by_name(names: tuple[str, ...], code: int) -> None:
    assert everything.main(names, (PASSES, FAILS)) == code


def test_who_is_interrupted_learns_what_did_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert everything.summed_up([everything.Result(PASSES, 60.0)], (PASSES, FAILS)) == 1
    said = capsys.readouterr().out
    assert "passed    1.0 min  first" in said
    assert "not run           second" in said


@pytest.mark.parametrize("folder", ["tests/long", "tests/chaos"])
def test_every_long_test_belongs_to_a_part(folder: str) -> None:
    words = [Path(word) for each in ALL for word in each.command if not word.startswith("-")]
    files = [path.relative_to(ROOT) for path in (ROOT / folder).glob("test_*.py")]
    assert files
    assert [path for path in files if path not in words and path.parent not in words] == []


def test_every_path_of_a_part_is_there() -> None:
    words = [word for each in ALL for word in each.command if word.startswith("tests/")]
    words += [*image_python.RINGS, *image_python.LEFT_OUT]
    assert [word for word in words if not (ROOT / word).exists()] == []


def test_the_tools_of_the_tests_are_what_the_image_does_not_have() -> None:
    lock = "Click==8.3 \\\n    --hash=sha256:1\npytest==9.2 ; sys_platform == 'linux' \\\n    --hash=sha256:2\n"
    assert (
        image_python.tools(lock, "click==8.3 \\\n    --hash=sha256:1\n") == lock.partition("\n    --hash=sha256:1\n")[2]
    )

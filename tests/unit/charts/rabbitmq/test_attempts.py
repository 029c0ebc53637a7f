"""A join that fails is tried again in the same container; all else ends it, as if nobody stood between."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.unit.charts.rabbitmq.nodes import FILES

# What stands for serve.py: a shell program in place of Erlang.
PROGRAM = """
import os, sys
sys.path.insert(0, {files!r})
import attempts, volume
from pathlib import Path
attempts.PAUSE = 0
own = volume.Volume(Path({data!r}), "rabbit@here")
sys.exit(attempts.run(lambda: os.execvp("sh", ["sh", "-c", {script!r}]), own))
"""
TRIED = "echo $$ >> tried; "


def started(folder: Path, script: str) -> subprocess.Popen[str]:
    (folder / "joining").touch()
    program = PROGRAM.format(files=str(FILES), data=str(folder), script=TRIED + script)
    return subprocess.Popen([sys.executable, "-c", program], cwd=folder, stdout=subprocess.PIPE, text=True)


def tries(folder: Path) -> int:
    return len((folder / "tried").read_text().splitlines())


@pytest.mark.parametrize(
    ("script", "code", "expected"),
    [
        pytest.param("test $(wc -l < tried) -lt 3 && exit 1; rm joining; exit 4", 4, 3, id="a-join-that-fails-twice"),
        pytest.param("rm joining; exit 4", 4, 1, id="a-server-that-ends"),
        pytest.param("exit 1", 1, 10, id="a-join-that-always-fails"),
        pytest.param("kill -KILL $$", 137, 1, id="one-that-was-killed-may-have-left-others"),
    ],
)
def test_only_a_join_that_failed_is_tried_again(tmp_path: Path, script: str, code: int, expected: int) -> None:
    running = started(tmp_path, script)
    running.communicate(timeout=60)
    assert (running.returncode, tries(tmp_path)) == (code, expected)


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_who_is_told_to_end_ends_in_its_own_time(tmp_path: Path, sent: signal.Signals) -> None:
    """Also where it is still joining: it is not tried again then."""
    script = "trap 'sleep 0.3; echo good >> ended; exit 0' TERM INT QUIT; touch ready; while :; do sleep 0.05; done"
    again = "test $(wc -l < tried) -gt 1 && exit 1; "
    running, deadline = started(tmp_path, again + script), time.monotonic() + 60
    while not (tmp_path / "ready").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    running.send_signal(sent)
    running.communicate(timeout=60)
    assert (running.returncode, tries(tmp_path)) == (0, 1)
    assert (tmp_path / "ended").read_text() == "good\n"


def test_what_goes_wrong_before_the_join_is_said_and_tried_again(tmp_path: Path) -> None:
    program = PROGRAM.replace('sh", ["sh", "-c", {script!r}]', 'no-such-program", ["x"]')
    (tmp_path / "joining").touch()
    words = [sys.executable, "-c", program.format(files=str(FILES), data=str(tmp_path), script="")]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr.count("FileNotFoundError") == 10
    assert done.stdout.count("is tried again") == 9

"""Child processes: they end with us, and are heard while they run."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from stackwright.local import process

PATIENCE = 20.0


def listen(command: list[str], heard: list[str], *, directory: Path) -> int:
    listener = process.Listener(line=heard.append, tick=lambda: None)
    return process.stream(command, directory=directory, environment=os.environ, listener=listener)


def test_a_program_is_heard_line_by_line_to_its_last_word(tmp_path: Path) -> None:
    heard: list[str] = []
    assert (
        listen(["sh", "-c", "echo one >&2; printf 'two\\nthree' >&2; echo ignored; exit 3"], heard, directory=tmp_path)
        == 3
    )
    assert heard == ["one", "two", "three"]


def test_an_interruption_ends_the_program_and_its_children(tmp_path: Path) -> None:
    pids: list[int] = []

    def interrupt(line: str) -> None:
        pids.extend(int(word) for word in line.split())
        raise KeyboardInterrupt

    listener = process.Listener(line=interrupt, tick=lambda: None)
    command = ["sh", "-c", "sleep infinity & echo $$ $! >&2; wait"]
    with pytest.raises(KeyboardInterrupt):
        process.stream(command, directory=tmp_path, environment=os.environ, listener=listener)
    assert len(pids) == 2
    assert [pid for pid in pids if not process.wait_gone(pid, PATIENCE)] == []


def test_a_program_does_not_outlive_a_parent_that_is_killed(tmp_path: Path) -> None:
    code = """
        import sys, threading
        from pathlib import Path
        from stackwright.local import process
        print(process.start(["sleep", "infinity"], log=Path(sys.argv[1])).pid, flush=True)
        threading.Event().wait()
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert not process.wait_gone(child, 0)
        parent.send_signal(signal.SIGKILL)
        assert process.wait_gone(child, PATIENCE)


def test_the_end_of_a_log_is_its_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert process.tail(log) == "(no log: No such file or directory)"
    log.write_text("")
    assert process.tail(log) == "(its log is empty)"
    log.write_text("".join(f"line {number}\n" for number in range(5000)))
    assert process.tail(log, lines=2) == "line 4998\nline 4999"


def test_output_is_added_to_the_end_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("before\n")
    child = process.start(["sh", "-c", "echo out; echo err >&2"], log=log)
    assert child.process.wait(PATIENCE) == 0
    assert log.read_text() == "before\nout\nerr\n"


def test_a_program_stands_still_when_all_of_its_threads_do() -> None:
    script = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\nprint(flush=True)\n"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as running:
        try:
            assert running.stdout is not None
            running.stdout.readline()
            assert not process.is_stopped(running.pid)
            running.send_signal(signal.SIGSTOP)
            deadline = time.monotonic() + PATIENCE
            while not process.is_stopped(running.pid):
                assert time.monotonic() < deadline
        finally:
            running.kill()
    assert process.is_stopped(running.pid)


def test_what_a_program_makes_can_be_read_by_all_whatever_the_shell_says(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        assert listen(["sh", "-c", "mkdir folder; touch file"], [], directory=tmp_path) == 0
    finally:
        os.umask(before)
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {"folder": 0o755, "file": 0o644}

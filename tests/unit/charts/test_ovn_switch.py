"""The switch of a node ends when it is asked to: as a real process, with programs that stand in for Open vSwitch's."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

FILES = Path(__file__).parents[3] / "charts" / "ovn" / "files"
SECONDS = 20.0
# The program of the container, with the folders of the node elsewhere.
PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv.pop(1))
node = Path(sys.argv.pop(1))
import switch, tenure
tenure.FILE = node / "owner"
switch.RUN = node
switch.SOCKET, switch.CONTROL, switch.FLOWS = node / "db.sock", node / "switch.ctl", node / "flows.sh"
switch.ENDED, switch.DATAPATH = node / "ended", node / "datapath"
sys.exit(switch.main())
"""
STANDS_IN = {
    "ovs-dpctl": "exit 0",
    "ovs-vsctl": "exit 0",
    "ovs-vswitchd": "touch $NODE/forwards\nexec sleep 60",
}


@pytest.fixture
def node(tmp_path: Path) -> Path:
    for name, text in STANDS_IN.items():
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        program.chmod(0o755)
    (tmp_path / "owner").write_text("one/ovncontroller", encoding="utf-8")
    (tmp_path / "settings").write_text('{"ovsLogLevel": "info"}', encoding="utf-8")
    (tmp_path / "db.sock").touch()
    (tmp_path / "switch.ctl").touch()
    return tmp_path


@pytest.fixture
def start(node: Path) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []

    def run() -> subprocess.Popen[bytes]:
        words = [sys.executable, "-c", PROGRAM, str(FILES), str(node), "switch"]
        variables = {"PATH": f"{node}:{os.environ['PATH']}", "OWNER": "one/ovncontroller", "NODE": str(node)}
        variables["SETTINGS"] = str(node / "settings")
        started.append(subprocess.Popen(words, env=variables, start_new_session=True))
        return started[-1]

    yield run
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_for(file: Path) -> None:
    end = time.monotonic() + SECONDS
    while not file.exists():
        assert time.monotonic() < end, f"there is no {file.name}"
        time.sleep(0.02)


def test_the_daemon_ends_when_the_pod_does(node: Path, start: Callable[[], subprocess.Popen[bytes]]) -> None:
    process = start()
    wait_for(node / "forwards")
    process.terminate()
    assert process.wait(SECONDS) == 0
    assert (node / "ended").exists()


def test_an_end_that_is_asked_for_during_the_start_comes_after_it(
    node: Path, start: Callable[[], subprocess.Popen[bytes]]
) -> None:
    (node / "flows.sh").write_text(
        f"touch {node}/restores\nwhile [ ! -e {node}/asked ]; do sleep 0.02; done\ntouch {node}/restored\n",
        encoding="utf-8",
    )
    process = start()
    wait_for(node / "restores")
    process.terminate()
    (node / "asked").touch()
    assert process.wait(SECONDS) == 0
    # The flows were put back before, and the script that does so is gone.
    assert [name for name in ("restored", "ended", "flows.sh") if (node / name).exists()] == ["restored", "ended"]

"""The SSH of the execution image: what a killed pod left on a machine is waited for. The machine is this one."""

import contextlib
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[3] / "images" / "ansible-runner" / "marked_ssh"
# As sshd has it: a session is a process of its own, and runs the login shell.
SSH = """\
#!/bin/sh
echo "$@" >> "$FOLDER/calls"
for word; do :; done
exec "$FOLDER/sshd-session" -c '/bin/sh -c "$1"; exit $?' session "$word"
"""
PATIENCE = 2


@dataclass
class Machine:
    """A machine, and the SSH by which pods reach it."""

    folder: Path
    program: Path
    sessions: list[subprocess.Popen[str]] = field(default_factory=list)

    def begin(self, run: str, command: str) -> subprocess.Popen[str]:
        """Begin a command in a session of its own, as the pod of a run does."""
        words = [str(self.program), "-o", "Port=2222", "machine", command]
        path = f"{self.folder}:{os.environ['PATH']}"
        own = {"PATH": path, "FOLDER": str(self.folder), "STACKWRIGHT_RUN": run, "STACKWRIGHT_PATIENCE": str(PATIENCE)}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.sessions.append(subprocess.Popen(words, env=own, text=True, start_new_session=True, **pipes))  # type: ignore[call-overload]  # of pipes
        return self.sessions[-1]

    def run(self, run: str, command: str, given: str = "") -> tuple[int, str, str]:
        """Run a command to its end; return its code, and what it said."""
        session = self.begin(run, command)
        said, told = session.communicate(given, timeout=60)
        return session.returncode, said, told

    def leave(self, run: str, command: str) -> None:
        """Let a pod be killed while its command works."""
        session = self.begin(run, f"touch {self.folder}/begun-{run}; {command}")
        self.wait_for(f"begun-{run}")
        for process, name in self.processes(session):
            if name.startswith(("sshd", PROGRAM.name)):
                os.kill(process, signal.SIGKILL)
        session.wait(10)

    def processes(self, session: subprocess.Popen[str]) -> list[tuple[int, str]]:
        """Return what a session has that lives, with the names of the programs."""
        words = ["ps", "--sid", str(session.pid), "-o", "pid=,stat=,comm="]
        listed = subprocess.run(words, capture_output=True, text=True, check=False).stdout.splitlines()
        found = (line.split() for line in listed)
        return [(int(process), name) for process, state, name, *_ in found if not state.startswith("Z")]

    def wait_for(self, name: str) -> None:
        deadline = time.monotonic() + 20
        while not (self.folder / name).exists():
            assert time.monotonic() < deadline, f"{name} is not there"
            time.sleep(0.02)

    def said(self) -> list[str]:
        path = self.folder / "log"
        return path.read_text().split() if path.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    # Other tests look at the same processes.
    text = PROGRAM.read_text().replace("stackwright-run", f"run-{uuid.uuid4().hex}").replace("GRACE=10", "GRACE=1")
    assert "GRACE=1\n" in text
    program = tmp_path / PROGRAM.name
    program.write_text(text.replace("seen=/tmp/", f"seen={tmp_path}/seen/"))
    (tmp_path / "ssh").write_text(SSH)
    for path in (program, tmp_path / "ssh"):
        path.chmod(0o755)
    (tmp_path / "sshd-session").symlink_to("/bin/sh")
    found = Machine(tmp_path, program)
    yield found
    for session in found.sessions:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(session.pid, signal.SIGKILL)
        session.communicate()


def test_a_command_is_as_without_a_mark(machine: Machine) -> None:
    for _ in range(2):
        assert machine.run("one", "cat && echo it\\'s done && exit 3", "given") == (3, "givenit's done\n", "")


def test_what_a_killed_pod_left_is_waited_for(machine: Machine) -> None:
    machine.leave("one", f"sleep 1; echo one >> {machine.folder}/log")
    code, said, told = machine.run("two", f"cat; echo two >> {machine.folder}/log", "given")
    assert (code, said, machine.said()) == (0, "given", ["one", "two"])
    assert "of an earlier run, one" in told
    assert "Waiting for process" in told


@pytest.mark.parametrize("command", ["sleep 600", "trap : TERM; while :; do sleep 600; done"])
def test_what_does_not_end_is_ended_with_all_below_it(machine: Machine, command: str) -> None:
    machine.leave("one", f"({command}); echo one >> {machine.folder}/log")
    code, _, told = machine.run("two", "true")
    assert code == 0, told
    assert machine.processes(machine.sessions[0]) == []
    assert machine.said() == []


def test_what_somebody_still_listens_to_is_left_alone(machine: Machine) -> None:
    session = machine.begin("one", f"touch {machine.folder}/begun; read word; echo $word")
    machine.wait_for("begun")
    code, said, told = machine.run("two", "echo two")
    assert (code, said) == (255, "")
    assert "Somebody is still connected to process" in told
    assert session.communicate("spoken")[0] == "spoken\n"
    assert machine.run("two", "echo two")[:2] == (0, "two\n")


def test_a_pod_does_not_wait_for_itself(machine: Machine) -> None:
    session = machine.begin("one", f"touch {machine.folder}/begun; read word; echo $word")
    machine.wait_for("begun")
    # A name that only begins like it is another one.
    assert machine.run("one", "echo again") == (0, "again\n", "")
    assert machine.run("one-more", "echo more")[0] == 255
    session.communicate("spoken")


def test_a_machine_is_looked_at_once(machine: Machine) -> None:
    assert machine.run("two", "echo two")[0] == 0
    session = machine.begin("one", f"touch {machine.folder}/begun; read word")
    machine.wait_for("begun")
    assert machine.run("two", "echo two") == (0, "two\n", "")
    session.communicate("spoken")


@pytest.mark.parametrize("words", [["-O", "stop", "machine"], ["-o", "Port=1", "machine"], ["-N", "machine", "true"]])
def test_what_runs_no_command_of_ansible_is_as_it_is(machine: Machine, words: list[str]) -> None:
    (machine.folder / "ssh").write_text('#!/bin/sh\nfor word; do echo "$word"; done\n')
    environment = {"PATH": f"{machine.folder}:{os.environ['PATH']}", "STACKWRIGHT_RUN": "one"}
    done = subprocess.run([machine.program, *words], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == words

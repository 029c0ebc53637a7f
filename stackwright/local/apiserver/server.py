"""Starts and stops an API server without nodes, for one process alone or for all workers of a test run.

    with ApiServer(directory, binaries.ensure(programs.API_SERVER)) as server:
        subprocess.run([kubectl, "--kubeconfig", server.kubeconfig, "get", "namespaces"])

Everything here blocks, a start for a few seconds; on an event loop, call it by `asyncio.to_thread`.
"""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import msgspec

from stackwright.local.apiserver.layout import Command, Layout, Settings, State
from stackwright.local.errors import ApiServerFailed
from stackwright.local.process import tail
from stackwright.local.programs import API_SERVER

# How long a supervisor that was asked to end may take; it kills its programs, so this is never reached in health.
ENDING = 30.0
# For Go's runtime in its programs: less time is spent on collecting garbage, and some hundred megabytes more are used.
RUNTIME = {"GOGC": "300"}


@dataclass(frozen=True)
class Options:
    """How an API server is run, beyond its programs."""

    audit: bool = False
    """Whether every request is written to the audit log, one JSON object a line."""
    flags: Mapping[str, list[str]] | None = None
    """Further flags by program."""
    deadline: float = 180.0
    """After how many seconds a program that is not ready has failed."""


class ApiServer:
    """An API server of our own, for as long as the block runs; it ends with this process, however that ends."""

    def __init__(self, directory: Path, binaries: Mapping[str, Path], options: Options | None = None) -> None:
        self.layout = Layout(directory)
        self._binaries = binaries
        self._options = options or Options()
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._state = State()

    def __enter__(self) -> Self:
        write_settings(self.layout, self._binaries, self._options)
        self._supervisor = start_supervisor(self.layout, master=os.getpid(), commands=True)
        try:
            self._state = self._answer()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Where the API server answers."""
        return self._state.url

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.layout.kubeconfig

    @property
    def audit_log(self) -> Path:
        """One JSON object per request, when auditing is on."""
        return self.layout.audit_log

    @property
    def pids(self) -> dict[str, int]:
        """The process ids of the programs that run, by name."""
        return dict(self._state.pids)

    @property
    def supervisor(self) -> int:
        """The process id of the supervisor."""
        return self._state.supervisor

    def kill(self, program: str) -> None:
        """End a program at once, as a crash would."""
        self._ask("kill", program)

    def stop(self, program: str) -> None:
        """Ask a program to end, as an orderly restart would."""
        self._ask("stop", program)

    def start(self, program: str) -> None:
        """Start a program that has ended, on the same port, and return when it is ready."""
        self._ask("start", program)

    def pause(self, program: str) -> None:
        """Let a program stand still: its connections stay open, and nothing answers."""
        self._ask("pause", program)

    def resume(self, program: str) -> None:
        """Let a paused program go on."""
        self._ask("resume", program)

    def close(self) -> None:
        """End the server; asking twice is harmless."""
        supervisor = self._supervisor
        if supervisor is None:
            return
        self._supervisor = None
        with supervisor:
            supervisor.send_signal(signal.SIGTERM)
            try:
                supervisor.wait(ENDING)
            except subprocess.TimeoutExpired:
                # Its programs end with it; the kernel ensures that.
                supervisor.kill()

    def _ask(self, action: Literal["kill", "stop", "start", "pause", "resume"], program: str) -> None:
        supervisor = self._supervisor
        if supervisor is None or supervisor.stdin is None:
            raise ApiServerFailed("the API server is not running; use it inside its `with` block")
        supervisor.stdin.write(msgspec.json.encode(Command(action, program)) + b"\n")
        supervisor.stdin.flush()
        self._state = self._answer()

    def _answer(self) -> State:
        return read_answer(self.layout, self._supervisor)


@dataclass(frozen=True)
class Shared:
    """An API server that others use too: where it is, and nothing to stop it by."""

    layout: Layout

    @property
    def url(self) -> str:
        """Where the API server answers."""
        return self._state().url

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.layout.kubeconfig

    @property
    def pids(self) -> dict[str, int]:
        """The process ids of the programs, by name."""
        return dict(self._state().pids)

    @property
    def supervisor(self) -> int:
        """The process id of the supervisor."""
        return self._state().supervisor

    def check(self) -> None:
        """Raise when one of its programs has ended since; cheap enough to ask before every test."""
        self._state()

    def _state(self) -> State:
        state = self.layout.read_state() or State(failure="the API server was never started")
        if state.failure:
            raise ApiServerFailed(state.failure)
        return state


def shared(directory: Path, binaries: Mapping[str, Path], *, master: int, options: Options | None = None) -> Shared:
    """Return the API server of that folder; the first caller starts it, and it ends with the process `master`.

    Callers wait while it is being started; a start that failed has failed for all of them.
    """
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    layout = Layout(directory)
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if layout.read_state() is None:
            write_settings(layout, binaries, options or Options())
            with start_supervisor(layout, master=master, commands=False) as supervisor:
                read_answer(layout, supervisor)
                # It goes on without us, and ends with the master.
                supervisor.returncode = 0
        server = Shared(layout)
        server.check()
        return server


def write_settings(layout: Layout, binaries: Mapping[str, Path], options: Options) -> None:
    """Leave in the server's folder what its supervisor needs to know."""
    if missing := [name for name in API_SERVER if name not in binaries]:
        raise ApiServerFailed(f"an API server needs {', '.join(missing)} too; get them by binaries.ensure(API_SERVER)")
    layout.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    settings = Settings(
        binaries={name: str(path) for name, path in binaries.items()},
        audit=options.audit,
        flags=dict(options.flags or {}),
        deadline=options.deadline,
    )
    layout.settings.write_bytes(msgspec.json.encode(settings))


def start_supervisor(layout: Layout, *, master: int, commands: bool) -> "subprocess.Popen[bytes]":
    """Start the process that owns the server's programs; it says its state on its output when they are ready."""
    command = [sys.executable, "-m", "stackwright.local.apiserver", "--while", str(master)]
    command += ["--directory", str(layout.directory), *(["--commands"] if commands else [])]
    with layout.log("supervisor").open("ab") as log:
        return subprocess.Popen(  # noqa: S603  our own interpreter, and no shell
            command,
            stdin=subprocess.PIPE if commands else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, **RUNTIME},
            start_new_session=True,  # Ctrl-C on the terminal is for our parent; we end when it has ended.
        )


def read_answer(layout: Layout, supervisor: "subprocess.Popen[Any] | None") -> State:
    """Wait for what the supervisor says next; raise when that is a failure, or when it says nothing any more."""
    line = supervisor.stdout.readline() if supervisor and supervisor.stdout else b""
    if not line:
        raise ApiServerFailed(f"the API server's supervisor ended. Its log:\n{tail(layout.log('supervisor'))}")
    state = msgspec.json.decode(line, type=State)
    if state.failure:
        raise ApiServerFailed(state.failure)
    return state

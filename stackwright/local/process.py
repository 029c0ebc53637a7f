"""Child processes that cannot outlive us, and the end of their logs."""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

USUAL_MASK = 0o022
"""By which files can be read by all: what is built, or runs as other users, must not depend on the mask of a shell."""

OWN_MOUNTS = ("unshare", "--mount", "--propagation", "private")
"""Before a command of root's: what it mounts is seen by itself alone, and gone with it, even when it is killed."""

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def ending_with_parent() -> Callable[[], None]:
    """Return what a child runs before its program: the kernel kills it when the thread that started it ends.

    Not even `kill -9` of the parent leaves the child behind. Give it as `preexec_fn`.
    """
    parent = os.getpid()

    def prepare() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        # The parent may have ended between the fork and the line above; then nobody would ever kill us.
        if os.getppid() != parent:
            os._exit(1)

    return prepare


def start(command: Sequence[str | Path], *, log: Path, environment: Mapping[str, str] | None = None) -> "Child":
    """Start a program whose output goes to the end of `log`, and which ends with us."""
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603  programs of ours, and no shell
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,  # Ctrl-C on the terminal is for us; we end our children in their order.
            preexec_fn=ending_with_parent(),  # noqa: PLW1509  the callers start processes from one thread
        )
    return Child(process, log)


@dataclass(frozen=True)
class Child:
    """A running program of ours."""

    process: subprocess.Popen[Any]
    log: Path

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    def send(self, number: signal.Signals) -> None:
        """Send a signal; one that has ended already does not mind."""
        self.process.send_signal(number)


def is_stopped(pid: int) -> bool:
    """Return whether every thread of a process stands still, or the process is gone."""
    states = []
    for task in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            # The name before the state may have spaces and brackets.
            states.append(task.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0])
    return all(state in "TtZX" for state in states)


def tail(log: Path, *, lines: int = 12, size: int = 8192) -> str:
    """Return the last lines of a log, or say that it is empty."""
    try:
        with log.open("rb") as source:
            source.seek(0, os.SEEK_END)
            source.seek(max(0, source.tell() - size))
            text = source.read().decode(errors="replace")
    except OSError as error:
        return f"(no log: {error.strerror})"
    return "\n".join(text.strip().splitlines()[-lines:]) or "(its log is empty)"


@dataclass(frozen=True)
class Listener:
    """Gets what a program writes to its standard error, and a call as time passes."""

    line: Callable[[str], None]
    tick: Callable[[], None]


def stream(
    command: Sequence[str | Path],
    *,
    directory: Path,
    environment: Mapping[str, str],
    listener: Listener,
    output: int | None = None,
) -> int:
    """Run a program to its end while the listener hears its standard error line by line; return its exit code.

    Whatever interrupts us ends the program and its children too.
    """
    process = subprocess.Popen(  # noqa: S603  programs of ours, and no shell
        command,
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL if output is None else output,
        stderr=subprocess.PIPE,
        start_new_session=True,
        umask=USUAL_MASK,
        preexec_fn=ending_with_parent(),  # noqa: PLW1509  the callers start processes from one thread
    )
    try:
        _listen(process, listener)
        return process.wait()
    except BaseException:
        # Also on KeyboardInterrupt; the compilers that Go started are in its group.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    finally:
        if process.stderr:
            process.stderr.close()


def _listen(process: "subprocess.Popen[Any]", listener: Listener) -> None:
    source = process.stderr
    if source is None:
        return
    waiting = b""
    while True:
        listener.tick()
        ready, _, _ = select.select([source], [], [], 0.5)
        if not ready:
            continue
        chunk = os.read(source.fileno(), 65536)
        if not chunk:
            break
        *whole, waiting = (waiting + chunk).split(b"\n")
        for line in whole:
            listener.line(line.decode(errors="replace"))
    if waiting:
        listener.line(waiting.decode(errors="replace"))


def wait_gone(pid: int, timeout: float) -> bool:
    """Return whether a process of anybody's has ended, after waiting for that at most `timeout` seconds."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, timeout))
        return bool(ready)
    finally:
        os.close(descriptor)

"""Starts and ends the first process of a machine in namespaces: the cluster's node, or a machine beside it."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from stackwright.local import process
from stackwright.local.cluster import processes
from stackwright.local.cluster.layout import CONNECTED, ProcessKey
from stackwright.local.errors import ClusterFailed
from stackwright.local.process import tail

# The namespaces that a machine has of its own.
_UNSHARE = ("unshare", "--net", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--propagation=private")
# How long a machine may take to end, when asked to and when not asked.
_ORDERLY, _AT_ONCE = 60.0, 30.0


def start(arguments: Sequence[str], *, log: Path, connect: Callable[[ProcessKey], None]) -> ProcessKey:
    """Run our own interpreter with those arguments in new namespaces, and return its process.

    `connect` is called when it is there: it gives the process its control groups and its cable. Then a line on its
    standard input tells the process so.
    """
    with log.open("ab") as output:
        keeper = subprocess.Popen(  # noqa: S603  our own interpreter, and no shell
            [*_UNSHARE, "--", sys.executable, *arguments],
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            start_new_session=True,  # The machine outlives the terminal.
            umask=process.USUAL_MASK,
            text=True,
        )
    with keeper:
        try:
            first = _read(keeper, log)
            connect(first)
            if keeper.stdin is not None:
                keeper.stdin.write(f"{CONNECTED}\n")
                keeper.stdin.flush()
        except BaseException:
            # Its child, the first process, goes with it.
            keeper.kill()
            raise
        # It goes on without us.
        keeper.returncode = 0
    return first


def announce() -> ProcessKey | None:
    """Tell the process that started us who we are; called by the first process, while /proc is still the host's."""
    first = processes.key_of(int(Path("/proc/self").readlink().name))
    if first is not None:
        print(first.pid, first.started, flush=True)  # noqa: T201  who started us reads it
    return first


def is_connected() -> bool:
    """Wait until the process that started us has connected us, and say whether it has."""
    return sys.stdin.readline().strip() == CONNECTED


def _read(keeper: "subprocess.Popen[str]", log: Path) -> ProcessKey:
    line = keeper.stdout.readline() if keeper.stdout else ""
    if not line:
        raise ClusterFailed(f"The node did not start. The end of its log:\n{tail(log)}")
    pid, started = (int(word) for word in line.split())
    return ProcessKey(pid, started)


def end(first: ProcessKey, *, asking: int | None = None) -> None:
    """End a machine; `asking` is the signal by which its first process is asked for an orderly end before."""
    with suppress(ProcessLookupError):
        if asking is not None and processes.alive(first):
            os.kill(first.pid, asking)
            process.wait_gone(first.pid, _ORDERLY)
        if processes.alive(first):
            # The kernel ends with it every process of the machine, and with those its mounts and links.
            os.kill(first.pid, signal.SIGKILL)
    if processes.alive(first) and not process.wait_gone(first.pid, _AT_ONCE):
        raise ClusterFailed(f"The node's first process {first.pid} does not end; a disk may hang. Try again later.")

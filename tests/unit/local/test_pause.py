"""The program that holds a pod's namespaces: it is a program, it sleeps, and it ignores the ends of children."""

import signal
import subprocess
import time
from pathlib import Path

import pytest

from stackwright.local import pause, versions


@pytest.mark.parametrize("architecture", ["amd64", "arm64"])
def test_it_is_a_small_static_program(architecture: str) -> None:
    program = pause.program(architecture)
    assert program.startswith(b"\x7fELF\x02\x01")
    assert len(program) < 512
    # The handler that ignores stands at the very end, whole.
    assert program.endswith(b"\x01" + bytes(31))


def test_it_sleeps_and_ignores_the_ends_of_children(tmp_path: Path) -> None:
    program = tmp_path / "pause"
    program.write_bytes(pause.program(versions.architecture()))
    program.chmod(0o755)
    ignored = 1 << (signal.SIGCHLD - 1)
    with subprocess.Popen([program]) as running:
        try:
            deadline = time.monotonic() + 10
            while not _mask(running.pid) & ignored:
                assert time.monotonic() < deadline
                assert running.poll() is None
            # A signal that the parent of the tests ignores is ignored here too; the one that ends a pod must not be.
            assert not _mask(running.pid) & (1 << (signal.SIGTERM - 1))
        finally:
            running.terminate()
    assert running.returncode == -signal.SIGTERM


def _mask(pid: int) -> int:
    """Return the signals that a process ignores."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    # Python ignores these two, and what it starts inherits that.
    inherited = 1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)
    return next(int(line.split()[1], 16) for line in lines if line.startswith("SigIgn:")) & ~inherited

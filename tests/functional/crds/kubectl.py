"""The real kubectl, as a function."""

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# How long the server may take to publish what was installed, on a loaded machine.
PATIENCE = 180.0


@dataclass(frozen=True)
class Kubectl:
    """Runs kubectl on one server, with a cache of its own."""

    program: Path
    kubeconfig: Path
    cache: Path

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        """Return what kubectl prints; fail with what it complains of."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def refused(self, *arguments: str, stdin: str = "") -> str:
        """Return what kubectl complains of; fail when it does not."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode != 0, done.stdout
        return done.stderr

    def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [str(self.program), f"--kubeconfig={self.kubeconfig}", f"--cache-dir={self.cache}", *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=PATIENCE, check=False)


def eventually(ask: Callable[[], str], words: str) -> str:
    """Return what `ask` returns once it holds `words`: what a server publishes for clients comes a little later.

    It can be asked for but not watched, so this asks again until the time is over.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            answer = ask()
            assert words in answer
        except AssertionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return answer

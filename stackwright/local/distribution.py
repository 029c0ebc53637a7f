"""Programs of the distribution that this machine lacks: installs their packages, after asking the user."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping

from stackwright.local.errors import PackagesMissing
from stackwright.local.progress import Progress

EXTRA_PATH = ":/usr/sbin:/sbin"
"""Where programs for root are; a user's path often lacks it."""

# How many seconds to wait for other installations, and what apt-get says while its lists are being updated.
PATIENCE = 600.0
LOCKED = "Could not get lock"

Ask = Callable[[str], bool]
"""Asks a question, and returns whether the answer was yes."""


def missing(programs: Mapping[str, str]) -> list[str]:
    """Return the packages of missing programs; the mapping says which package each program is in."""
    path = f"{os.environ.get('PATH', '')}{EXTRA_PATH}"
    return sorted({package for program, package in programs.items() if shutil.which(program, path=path) is None})


def ensure(programs: Mapping[str, str], *, ask: Ask, progress: Progress) -> None:
    """Install the packages that are missing, or say how the user can."""
    packages = missing(programs)
    if not packages:
        return
    names = " ".join(packages)
    if shutil.which("apt-get") is None:
        raise PackagesMissing(f"This machine has no {names}; install them with its package manager, and try again.")
    if os.geteuid() != 0:
        raise PackagesMissing(f"This machine has no {names}. Install them as root: apt-get install {names}")
    if not ask(f"This machine has no {names}. Install now?"):
        raise PackagesMissing(f"Nothing was done without {names}. To install them: apt-get install {names}")
    progress.say(f"Installing {names}.")
    for words in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        done = _apt_get(words)
        if done.returncode != 0:
            said = "\n".join(done.stderr.strip().splitlines()[-5:])
            raise PackagesMissing(f"apt-get {words[0]} did not install {names}: {said}")


def _apt_get(words: list[str]) -> subprocess.CompletedProcess[str]:
    """Run apt-get; somebody else may be installing at this moment, and that ends."""
    command = ["apt-get", "-qq", "-o", f"DPkg::Lock::Timeout={PATIENCE:g}", *words]
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    deadline = time.monotonic() + PATIENCE
    while True:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603  names of ours
        # It waits by itself for other installations, but not for updates of the lists, and nothing says when they end.
        if done.returncode == 0 or LOCKED not in done.stderr or time.monotonic() > deadline:
            return done
        time.sleep(1)

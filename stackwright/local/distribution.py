"""Programs of the distribution that this machine lacks: installs their packages, after asking who sits before it."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping

from stackwright.local.errors import PackagesMissing
from stackwright.local.progress import Progress

EXTRA_PATH = ":/usr/sbin:/sbin"
"""Where programs for root are; a user's path often lacks it."""

Ask = Callable[[str], bool]
"""Asks a question, and returns whether the answer was yes."""


def missing(programs: Mapping[str, str]) -> list[str]:
    """Return the packages of those programs that are not there; the mapping says whose package each is in."""
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
    # Somebody else may be installing at this moment; that ends.
    command = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=600"]
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        done = subprocess.run([*command, *words], env=environment, capture_output=True, text=True, check=False)  # noqa: S603  names of ours
        if done.returncode != 0:
            said = "\n".join(done.stderr.strip().splitlines()[-5:])
            raise PackagesMissing(f"apt-get {words[0]} did not install {names}: {said}")

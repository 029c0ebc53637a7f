"""Python environments for what we are compared with: one for each, apart from ours and from each other.

They are kept in the user's cache under the pinned version, so that only the first run installs.
"""

import fcntl
import subprocess
import sys
import tomllib
from pathlib import Path

from benchmarks.parts.running import ROOT, ProgramFailed
from stackwright.local import cache
from stackwright.local.progress import Progress


def pins() -> dict[str, str]:
    """Return the versions that we are compared with, by package, from the group `benchmarks` of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [requirement.partition("==") for requirement in project["optional-dependencies"]["benchmarks"]]
    return {name: version for name, _, version in wanted}


def interpreter(package: str, progress: Progress) -> Path:
    """Return a Python that has that package at its pinned version, and nothing but what it needs."""
    version = pins()[package]
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    folder = cache.root().parent / "benchmarks" / f"{package}-{version}-{python}"
    folder.mkdir(parents=True, exist_ok=True)
    found = folder / "bin" / "python"
    # The last thing that an installation does: without it the folder holds half of one.
    installed = folder / "installed"
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not installed.exists():
            progress.say(f"Installing {package} {version} into {folder}.")
            try:
                subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
                subprocess.run([found, "-m", "pip", "install", "--quiet", f"{package}=={version}"], check=True)
            except subprocess.CalledProcessError as error:
                raise ProgramFailed(f"{package} {version} cannot be installed; what pip said stands above") from error
            installed.touch()
    return found

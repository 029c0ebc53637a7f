"""What a machine has mounted stays when its folders are removed, and so does what other machines have too."""

import runpy
from pathlib import Path

import pytest

MODULE = runpy.run_path(str(Path(__file__).parents[2] / "ansible" / "plugins" / "modules" / "remove_folders.py"))
MOUNTS = MODULE["read_mounts"](
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "30 22 8:2 / /var/lib/nova rw - xfs /dev/sdb1 rw\n"
    "31 30 0:50 / /var/lib/nova/instances rw shared:7 - nfs4 192.0.2.5:/instances rw\n"
    "32 30 0:51 / /srv/with\\040space rw - fuse.glusterfs one rw\n"
)


@pytest.fixture
def nova(tmp_path: Path) -> Path:
    folder = tmp_path / "nova"
    for file in ("instances/_base/image", "instances/disk", "mnt/volume/of-another", "own"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("")
    (folder / "link").symlink_to(tmp_path)
    return folder


def remove(path: Path, *mounted: Path) -> list[str]:
    found: list[tuple[str, bool]] = list(MODULE["remove"](path, dict.fromkeys(map(str, mounted), "xfs")))
    return [name for name, gone in found if not gone]


def left(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_a_folder_is_removed_whole(nova: Path, tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    beside.mkdir()
    assert remove(nova) == []
    assert list(tmp_path.iterdir()) == [beside]
    assert remove(nova / "own") == []


def test_a_mount_point_that_is_asked_for_is_emptied(nova: Path) -> None:
    assert remove(nova, nova) == [str(nova)]
    assert left(nova) == set()
    assert nova.is_dir()


def test_what_is_mounted_below_stays_as_it_is(nova: Path) -> None:
    volume = nova / "mnt" / "volume"
    assert remove(nova, volume) == [str(volume)]
    assert left(nova) == {"mnt", "mnt/volume", "mnt/volume/of-another"}
    # The second time there is nothing to remove.
    again = list(MODULE["remove"](nova, {str(volume): "xfs"}))
    assert again == [(str(volume), False)]


def test_servers_have_a_file_system_of_their_own_within_another_one(nova: Path) -> None:
    instances = nova / "instances"
    assert remove(instances, nova, instances) == [str(instances)]
    assert remove(nova, nova, instances) == [str(nova), str(instances)]
    assert left(nova) == {"instances"}


def test_of_what_other_machines_have_too_nothing_is_removed() -> None:
    paths = ["/var/lib/nova/instances", "/var/lib/nova", "/srv/with space/one", "/etc/libvirt/qemu"]
    plan = MODULE["plan_removal"](paths, MOUNTS)
    assert plan.shared == ("/var/lib/nova/instances", "/srv/with space/one")
    assert plan.paths == ("/var/lib/nova", "/etc/libvirt/qemu")
    # Where nothing is known of file systems, nothing is removed.
    assert MODULE["plan_removal"](paths, {}).paths == ()


def test_a_place_is_found_through_links_to_its_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "lib").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "nova").symlink_to("elsewhere")
    assert MODULE["place"](f"{tmp_path}/lib/nova") == f"{tmp_path}/real/nova"

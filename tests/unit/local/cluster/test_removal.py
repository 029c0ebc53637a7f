"""What is left of a cluster that is taken down, also when that is interrupted, and what stands in the way."""

from pathlib import Path

import pytest

from stackwright.local.cluster import lifecycle, mounts, reservation
from stackwright.local.cluster.layout import Layout
from stackwright.local.progress import Silent
from tests.unit.local.cluster.samples import SETTINGS


class Interrupted:
    """Somebody who presses Ctrl-C as soon as files are removed."""

    def say(self, text: str) -> None:
        raise KeyboardInterrupt(text)

    def update(self, text: str) -> None:
        pass


def test_half_of_a_cluster_is_never_taken_for_one(tmp_path: Path) -> None:
    place, other = Layout(tmp_path / "trial"), Layout(tmp_path / "other")
    place.write_settings(SETTINGS)
    (place.etcd / "member").mkdir(parents=True)
    with pytest.raises(KeyboardInterrupt):
        lifecycle._remove(place, keep_data=False, progress=Interrupted())
    assert not place.directory.exists()
    # Its addresses are free again, and a second `down` has something to do.
    assert list(reservation._reserved(other)) == []
    assert lifecycle._left(place)
    lifecycle._remove_gone(place, Silent())
    assert list(tmp_path.iterdir()) == []


def test_the_next_of_that_name_goes_as_well(tmp_path: Path) -> None:
    place = Layout(tmp_path / "trial")
    for folder in (place.gone, place.directory):
        (folder / "etcd").mkdir(parents=True)
    lifecycle._remove(place, keep_data=False, progress=Silent())
    assert not lifecycle._left(place)


def test_one_that_somebody_put_on_another_disk_goes_with_its_link(tmp_path: Path) -> None:
    disk, place = tmp_path / "disk", Layout(tmp_path / "state" / "trial")
    (disk / "etcd").mkdir(parents=True)
    place.directory.parent.mkdir()
    place.directory.symlink_to(disk)
    lifecycle._remove(place, keep_data=False, progress=Silent())
    assert list(place.directory.parent.iterdir()) == []
    assert not disk.exists()


@pytest.mark.parametrize(
    ("mounted", "found"),
    [
        pytest.param("/state/trial/etcd", ["/state/trial/etcd"], id="in-it"),
        pytest.param("/state/trial-2", [], id="in-another"),
        pytest.param(r"/state/trial/my\040disk", ["/state/trial/my disk"], id="with-a-space"),
    ],
)
def test_what_is_mounted_in_a_folder_is_found(mounted: str, found: list[str]) -> None:
    text = f"proc /proc proc rw 0 0\n/dev/vdb {mounted} ext4 rw 0 0\n"
    assert mounts.inside(Path("/state/trial"), text) == [Path(path) for path in found]


def test_what_is_mounted_behind_a_space_in_the_folder_s_own_name_is_found() -> None:
    text = "/dev/vdb /my\\040state/trial/etcd ext4 rw 0 0\n"
    assert mounts.inside(Path("/my state/trial"), text) == [Path("/my state/trial/etcd")]

"""Machines beside a cluster: how their files go."""

from pathlib import Path

from stackwright.local.cluster import lifecycle, neighbours
from stackwright.local.cluster.layout import Layout
from stackwright.local.cluster.neighbours import Neighbour


class Told:
    """Remembers what a person would read."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.updates: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def update(self, text: str) -> None:
        self.updates.append(text.rpartition(", ")[0])


def furnish(machine: Neighbour, files: int) -> None:
    """Make the folder of a machine, with files in it, and a link out of it."""
    for number in range(files):
        folder = machine.root / f"usr/{number // 600}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(number)).touch()
    machine.settings.write_text("{}")
    (machine.root / "outside").symlink_to(machine.directory.parent.parent.parent)


def test_down_tells_how_far_it_is_with_the_files_of_machines(tmp_path: Path) -> None:
    place, told = Layout(tmp_path / "default"), Told()
    for name, files in (("one", 2400), ("two", 1)):
        furnish(Neighbour(place.machines / name), files)
    (tmp_path / "mine").touch()
    lifecycle._remove(place, keep_data=False, progress=told)
    assert told.said == [
        "Removing the files of the machine one.",
        "Removing the files of the machine two.",
        "Removing the files of the cluster default.",
    ]
    assert told.updates == ["Removed 1,200 files of the machine one", "Removed 2,400 files of the machine one"]
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_machine_goes_alone(tmp_path: Path) -> None:
    one, two = (Neighbour(tmp_path / "default/machines" / name) for name in ("one", "two"))
    furnish(one, 3)
    furnish(two, 3)
    neighbours.remove_files(one, Told())
    assert not one.directory.exists()
    assert two.settings.exists()

"""The archives of the images that every cluster needs: written once, and again when what is in them changes."""

from pathlib import Path

from stackwright.local import oci
from stackwright.local.cluster import images


def image_of(program: Path, *, command: str = "serve", tag: str = "1") -> oci.Image:
    entries = (oci.File("/tool", program),)
    return oci.Image(f"example.org/tool:{tag}", entries, entrypoint=("/tool",), command=(command,))


def test_an_archive_is_written_once(tmp_path: Path) -> None:
    program = tmp_path / "tool"
    program.write_bytes(b"one")
    first = images.archive_of(image_of(program), tmp_path / "kept")
    written = first.stat()
    again = images.archive_of(image_of(program), tmp_path / "kept")
    assert again == first
    assert again.stat().st_ino == written.st_ino


def test_another_program_gives_another_archive_in_place_of_the_old_one(tmp_path: Path) -> None:
    program = tmp_path / "tool"
    program.write_bytes(b"one")
    first = images.archive_of(image_of(program), tmp_path / "kept")
    program.write_bytes(b"another")
    second = images.archive_of(image_of(program), tmp_path / "kept")
    assert second != first
    assert b"another" in second.read_bytes()
    newer = images.archive_of(image_of(program, tag="2"), tmp_path / "kept")
    assert list((tmp_path / "kept").iterdir()) == [newer]


def test_another_command_gives_another_archive(tmp_path: Path) -> None:
    program = tmp_path / "tool"
    program.write_bytes(b"one")
    first = images.archive_of(image_of(program), tmp_path / "kept")
    assert images.archive_of(image_of(program, command="check"), tmp_path / "kept") != first


def test_the_archive_of_one_image_leaves_those_of_others_alone(tmp_path: Path) -> None:
    program = tmp_path / "tool"
    program.write_bytes(b"one")
    other = oci.Image("example.org/tool-two:1", (oci.File("/tool", program),))
    first = images.archive_of(other, tmp_path / "kept")
    images.archive_of(image_of(program), tmp_path / "kept")
    assert first.exists()

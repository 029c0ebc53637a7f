"""`stackwright crds` on the command line."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from stackwright import services
from stackwright.cli.commands.crds import HEADER, crds, files
from stackwright.kube import documents


def test_all_definitions_are_printed() -> None:
    result = CliRunner().invoke(crds)

    names = [body["metadata"]["name"] for body in documents.read(result.output)]
    assert names == [kind.kind.crd_name for kind in services.kinds()]


@pytest.mark.parametrize("name", ["OpenStackControlPlane", "openstackcontrolplane", "openstackcontrolplanes", "oscp"])
def test_one_kind_is_printed_by_any_of_its_names(name: str) -> None:
    result = CliRunner().invoke(crds, ["--kind", name])

    assert [body["spec"]["names"]["kind"] for body in documents.read(result.output)] == ["OpenStackControlPlane"]


def test_an_unknown_kind_is_answered_with_those_that_there_are() -> None:
    result = CliRunner().invoke(crds, ["--kind", "Teapot"])

    assert result.exit_code == 2
    assert "there is no kind Teapot" in result.output
    assert "KeystoneAPI" in result.output


def test_a_directory_is_made_to_hold_exactly_the_definitions_beside_the_files_of_others(tmp_path: Path) -> None:
    (tmp_path / "gone.example.org.yaml").write_text(f"{HEADER}old")
    others = {"notes.txt": "mine", "cloud.yaml": "kind: OpenStackControlPlane", "empty.yaml": ""}
    for name, text in others.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "folder.yaml").mkdir()

    assert CliRunner().invoke(crds, ["--write", str(tmp_path)]).exit_code == 0

    written = {path.name: path.read_text() for path in tmp_path.glob("*.*") if path.is_file()}
    assert written == {**files(), **others}


def test_a_directory_is_not_kept_of_some_kinds_only(tmp_path: Path) -> None:
    result = CliRunner().invoke(crds, ["--write", str(tmp_path), "--kind", "Galera"])

    assert result.exit_code == 2
    assert list(tmp_path.iterdir()) == []

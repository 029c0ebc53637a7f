"""Which programs a machine must have, and which packages they come from."""

from pathlib import Path

import pytest

from stackwright.local.cluster import packages


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    folder = tmp_path / "whole"
    folder.mkdir()
    for name in packages.CNI_PLUGINS:
        (folder / name).touch(mode=0o755)
    return folder


def test_the_first_folder_that_has_all_plugins_is_taken(tmp_path: Path, whole: Path) -> None:
    half = tmp_path / "half"
    half.mkdir()
    (half / "bridge").touch(mode=0o755)
    assert packages.plugins([tmp_path / "none", half, whole]) == whole
    assert packages.plugins([half]) is None


def test_the_package_of_plugins_is_wanted_only_where_there_are_none(tmp_path: Path, whole: Path) -> None:
    assert packages.CNI_PACKAGE not in packages.wanted([whole]).values()
    missing = packages.wanted([tmp_path / "none"])
    assert missing[str(tmp_path / "none" / "bridge")] == packages.CNI_PACKAGE

"""What a node needs to see of its machine."""

from pathlib import Path

import msgspec

from stackwright.local.cluster import node
from stackwright.local.cluster.layout import Layout
from tests.unit.local.cluster.samples import SETTINGS


def test_a_folder_is_needed_where_it_is_named_and_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "var").mkdir()
    (tmp_path / "state").symlink_to("var")
    settings = msgspec.structs.replace(SETTINGS, cni=str(tmp_path / "nowhere"))
    needed = list(node._needed(Layout(tmp_path / "state"), settings))
    assert {tmp_path / "state", tmp_path / "var"} <= set(needed)

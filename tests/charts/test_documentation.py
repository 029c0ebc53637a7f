"""Pages whose commands need no cluster: they run as they read."""

from pathlib import Path

import pytest

from tests.documentation import blocks, sessions

PAGES = blocks.run_in(__file__)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs_as_it_reads(kubernetes: dict[str, Path], tmp_path: Path, page: str) -> None:
    programs = sessions.equip(tmp_path / "programs", kubernetes)
    sessions.reader(tmp_path / "reader", programs).follow(PAGES[page])

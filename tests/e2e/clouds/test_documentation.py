"""Pages whose commands look at a cloud with Keystone in it: they run as they read, and leave the cloud as it was."""

import shutil
from pathlib import Path

import pytest

from stackwright.local import binaries, programs
from tests.documentation import blocks, sessions
from tests.e2e.cloud import Cloud

PAGES = blocks.run_in(__file__)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs_as_it_reads(cloud: Cloud, tmp_path: Path, page: str) -> None:
    if shutil.which("jq") is None:
        pytest.skip("the pages use jq; on Debian: apt-get install jq")
    path = sessions.equip(tmp_path / "programs", binaries.ensure(programs.ALL))
    sessions.reader(tmp_path / "reader", path, cloud.kubectl.kubeconfig).follow(PAGES[page])

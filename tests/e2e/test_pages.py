"""Pages whose commands use a cloud, with the client on this machine: they run as they read."""

import shutil
from pathlib import Path

import pytest

from stackwright.local.cluster.lifecycle import Cluster
from tests.documentation import blocks
from tests.e2e import readers

# Pages show the cloud as a newcomer has it: revisions, pods, keys. A page that changes it puts it right in its marks.
pytestmark = pytest.mark.as_installed

PAGES = blocks.run_in(__file__)


@pytest.fixture(scope="module")
def virtual(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cloud, and an environment of Python like that of a checkout, into which pages may install."""
    if shutil.which("jq") is None:
        pytest.skip("the pages use jq; on Debian: apt-get install jq")
    folder = tmp_path_factory.mktemp("environment") / "venv"
    install = readers.begin_environment(folder)
    try:
        request.getfixturevalue("cloud")
    finally:
        code = install.wait(300)
    assert code == 0
    return folder


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs_as_it_reads(cluster: Cluster, virtual: Path, tmp_path: Path, page: str) -> None:
    readers.reader_of(cluster, virtual, tmp_path).follow(PAGES[page])

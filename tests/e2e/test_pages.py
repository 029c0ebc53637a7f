"""Pages whose commands use a cloud, with the client on this machine: they run as they read."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stackwright.local import binaries, programs
from stackwright.local.cluster.lifecycle import Cluster
from tests.documentation import blocks, sessions
from tests.documentation.blocks import ROOT

# Pages show the cloud as a newcomer has it: revisions, pods, keys. A page that changes it puts it right in its marks.
pytestmark = pytest.mark.as_installed

PAGES = blocks.run_in(__file__)
CLIENT = ("python-openstackclient", "osc-placement")
PIP = {
    # The client and its libraries are those of the images: a new one on the package index changes no run.
    "PIP_CONSTRAINT": str(ROOT / "images" / "openstack-libraries" / "requirements.txt"),
    # What is used once needs no compiling.
    "PIP_NO_COMPILE": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}


@pytest.fixture(scope="module")
def virtual(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cloud, and an environment of Python like that of a checkout, into which pages may install."""
    if shutil.which("jq") is None:
        pytest.skip("the pages use jq; on Debian: apt-get install jq")
    folder = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=120)
    sessions.equip(folder / "bin", binaries.ensure(programs.ALL))
    # The pages say this too, and find it done, while the cloud came up.
    install = subprocess.Popen([folder / "bin" / "pip", "install", "--quiet", *CLIENT], env={**os.environ, **PIP})
    try:
        request.getfixturevalue("cloud")
    finally:
        code = install.wait(300)
    assert code == 0
    return folder


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs_as_it_reads(cluster: Cluster, virtual: Path, tmp_path: Path, page: str) -> None:
    reader = sessions.reader(tmp_path / "reader", virtual / "bin", cluster.layout.kubeconfig, **PIP)
    (reader.directory / ".venv").symlink_to(virtual)
    # The cluster has another name than the one that pages speak of.
    state = Path(reader.environment["HOME"]) / ".local" / "state" / "stackwright"
    state.mkdir(parents=True)
    (state / "default").symlink_to(cluster.layout.kubeconfig.parent)
    reader.follow(PAGES[page])

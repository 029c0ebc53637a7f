"""The charts as packages: named by their version, whole, the same for the same files."""

import asyncio
import os
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from stackwright.adapters.errors import Rejected
from stackwright.adapters.helm import packing
from stackwright.cli.main import cli
from stackwright.local.apiserver.server import Shared
from tests.charts.conftest import CHARTS, Helm
from tests.charts.installing import ALL, INSTALLED, given

VERSION = tomllib.loads((CHARTS.parent / "pyproject.toml").read_text())["project"]["version"]


@pytest.fixture(scope="module")
def packages(kubernetes: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package of every chart."""
    folder = tmp_path_factory.mktemp("packages")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STACKWRIGHT_HELM", str(kubernetes["helm"]))
        done = CliRunner().invoke(cli, ["chart", "package", "--destination", str(folder)])
    assert done.exit_code == 0, done.output
    assert done.stdout.split() == [str(path) for path in sorted(folder.iterdir(), key=lambda path: _chart(path).name)]
    return folder


def _chart(package: Path) -> Path:
    name = package.name.removesuffix(f"-{VERSION}.tgz")
    return CHARTS / name.removeprefix("stackwright-")


def package_of(packages: Path, chart: Path) -> Path:
    name = yaml.safe_load((chart / "Chart.yaml").read_text())["name"]
    return packages / f"{name}-{VERSION}.tgz"


@pytest.mark.parametrize("chart", ALL, ids=lambda chart: chart.name)
def test_all_charts_have_the_version_of_the_project(chart: Path) -> None:
    metadata = yaml.safe_load((chart / "Chart.yaml").read_text())
    assert metadata["version"] == VERSION
    assert {entry["version"] for entry in metadata.get("dependencies", [])} <= {VERSION}


def test_every_chart_has_a_package(packages: Path) -> None:
    assert {path.name for path in packages.iterdir()} == {package_of(packages, chart).name for chart in ALL}


@pytest.mark.parametrize("chart", ALL, ids=lambda chart: chart.name)
def test_a_package_passes_helms_own_checks(helm: Helm, packages: Path, chart: Path) -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", package_of(packages, chart), *given(chart))


@pytest.mark.parametrize("chart", INSTALLED, ids=lambda chart: chart.name)
def test_the_server_would_install_a_package(helm: Helm, packages: Path, chart: Path, apiserver: Shared) -> None:
    options = ["--dry-run=server", "--namespace", "default", *given(chart)]
    printed = helm("install", "test", package_of(packages, chart), *options, server=apiserver)
    assert "STATUS: pending-install" in printed


@pytest.mark.parametrize("chart", INSTALLED, ids=lambda chart: chart.name)
def test_a_package_renders_what_the_clone_renders(helm: Helm, packages: Path, chart: Path) -> None:
    package = helm("template", "test", package_of(packages, chart), *given(chart))
    assert package == helm("template", "test", chart, *given(chart))


def test_the_same_files_give_the_same_package(packages: Path, kubernetes: dict[str, Path], tmp_path: Path) -> None:
    copy = Path(shutil.copytree(CHARTS, tmp_path / "charts", symlinks=True))
    chart = copy / "memcached"
    os.utime(chart / "values.yaml", (1, 1))
    again = asyncio.run(packing.pack(chart, tmp_path, kubernetes["helm"]))
    assert again.read_bytes() == package_of(packages, chart).read_bytes()
    with (chart / "values.yaml").open("a") as file:
        file.write("# Another word.\n")
    changed = asyncio.run(packing.pack(chart, tmp_path, kubernetes["helm"]))
    assert changed.read_bytes() != package_of(packages, chart).read_bytes()


def test_a_chart_that_helm_does_not_take_is_named(kubernetes: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "Chart.yaml").write_text("apiVersion: v2\nname: bad\nversion: one\n")
    with pytest.raises(Rejected, match=r"bad: .*version"):
        asyncio.run(packing.pack(tmp_path / "bad", tmp_path, kubernetes["helm"]))

"""Every chart passes the real helm: lint, template, and an install that the server tries without keeping it."""

from pathlib import Path

import pytest
import yaml

from stackwright.local.apiserver.server import Shared
from tests.charts.conftest import Helm

CHARTS = sorted(path.parent for path in (Path(__file__).parents[2] / "charts").glob("*/Chart.yaml"))

each_chart = pytest.mark.parametrize("chart", [pytest.param(chart, id=chart.name) for chart in CHARTS])


def test_there_are_charts() -> None:
    assert "stackwright" in [chart.name for chart in CHARTS]


@each_chart
def test_lint(helm: Helm, chart: Path) -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", chart)


@each_chart
def test_template_gives_manifests_of_known_form(helm: Helm, chart: Path) -> None:
    manifests = [body for body in yaml.safe_load_all(helm("template", "test", chart, "--include-crds")) if body]
    assert manifests
    for body in manifests:
        assert {"apiVersion", "kind", "metadata"} <= body.keys()


@each_chart
def test_the_server_would_install_it(helm: Helm, chart: Path, apiserver: Shared) -> None:
    printed = helm("install", "test", chart, "--dry-run=server", "--namespace", "default", server=apiserver)
    assert "STATUS: pending-install" in printed

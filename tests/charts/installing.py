"""The charts, and the values that each needs to render all that it can."""

from pathlib import Path

import yaml

from tests.charts.conftest import CHARTS, VALUES

ALL = sorted(path.parent for path in CHARTS.glob("*/Chart.yaml"))

# A library renders nothing by itself.
INSTALLED = [chart for chart in ALL if yaml.safe_load((chart / "Chart.yaml").read_text())["type"] == "application"]


def given(chart: Path) -> list[str]:
    """What a chart has to be told, for it to render all that it can."""
    values = VALUES / f"{chart.name}.yaml"
    return ["--values", str(values)] if values.exists() else []

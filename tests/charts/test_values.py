"""The values of the charts: each is described in the schema, and shown in values.yaml."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.charts.conftest import CHARTS
from tests.charts.installing import INSTALLED

# What helm puts among the values by itself.
HELMS = {"global", "stackwright-library"}

each_chart = pytest.mark.parametrize("chart", INSTALLED, ids=lambda chart: chart.name)


def properties(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every property of a schema with its path, those of its definitions too."""
    if not isinstance(schema, dict):
        return
    for name, inner in schema.get("properties", {}).items():
        yield f"{path}.{name}", inner
        yield from properties(inner, f"{path}.{name}")
    for keyword in ("items", "additionalProperties"):
        yield from properties(schema.get(keyword), f"{path}[]")
    for name, inner in schema.get("$defs", {}).items():
        yield from properties(inner, f"${name}")


def schema_of(chart: Path) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((chart / "values.schema.json").read_text())
    return schema


def test_every_installed_chart_has_a_schema() -> None:
    assert [chart.name for chart in INSTALLED if not (chart / "values.schema.json").is_file()] == []


@each_chart
def test_every_value_is_described(chart: Path) -> None:
    silent = [
        path for path, inner in properties(schema_of(chart)) if not inner.get("description", "").endswith((".", "…"))
    ]
    assert not silent, f"{chart.name}/values.schema.json says nothing of {', '.join(silent)}"


@each_chart
def test_every_value_is_shown_in_values_yaml(chart: Path) -> None:
    text = (chart / "values.yaml").read_text()
    shown = set(re.findall(r"[\w-]+", text))
    hidden = [
        path
        for path, _ in properties(schema_of(chart))
        if path.rpartition(".")[2] not in shown | HELMS
        # Kubernetes' own words are not repeated.
        and path not in {"$resources.requests", "$resources.limits", "$resources.claims"}
    ]
    assert not hidden, f"{chart.name}/values.yaml does not show {', '.join(hidden)}"


@each_chart
def test_a_value_that_nobody_knows_is_refused(chart: Path) -> None:
    assert schema_of(chart)["additionalProperties"] is False
    assert set(yaml.safe_load((chart / "values.yaml").read_text())) <= set(schema_of(chart)["properties"])


def test_the_library_says_what_it_has() -> None:
    assert (CHARTS / "library" / "README.md").is_file()

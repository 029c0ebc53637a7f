"""How much memory results take that are remembered, with the charts that they were rendered from."""

from pathlib import Path

import pytest

from stackwright.adapters.helm import Renderer
from stackwright.adapters.helm.rendering import REMEMBERED_BYTES

HELM = "#!/bin/sh\ncat > /dev/null\nprintf 'kind: ConfigMap\\n'\n"
VERSIONS = 12


@pytest.fixture
def helm(tmp_path: Path) -> Path:
    program = tmp_path / "helm"
    program.write_text(HELM)
    program.chmod(0o755)
    return program


def large(place: Path, version: int) -> Path:
    """Return one of many versions of a large chart."""
    chart = place / f"version-{version}"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text(f"name: large\nversion: {version}\n")
    (chart / "templates" / "notes").write_bytes(bytes(4 * 2**20))
    return chart


async def test_versions_of_a_large_chart_take_a_bounded_part_of_the_memory(helm: Path, tmp_path: Path) -> None:
    renderer = Renderer(helm)
    for version in range(VERSIONS):
        await renderer.render(large(tmp_path, version), "x", "here", {})
    reached = {id(rendered.chart): rendered.chart.record for rendered, _ in renderer._done.known.values()}
    sizes = [len(entry["data"]) for record in reached.values() for entry in record["templates"]]
    assert 0 < sum(sizes) <= REMEMBERED_BYTES


async def test_a_large_chart_is_rendered_once_for_equal_questions(helm: Path, tmp_path: Path) -> None:
    renderer, chart = Renderer(helm), large(tmp_path, 1)
    first = await renderer.render(chart, "x", "here", {})
    assert await renderer.render(chart, "x", "here", {}) is first
    assert renderer.runs == 1


async def test_our_own_charts_do_not_push_out_what_was_rendered_from_them(helm: Path, tmp_path: Path) -> None:
    chart = large(tmp_path, 1)
    assert (await Renderer(helm, trusted=tmp_path)._chart(chart)).weight == 0
    assert (await Renderer(helm)._chart(chart)).weight > 4 * 2**20

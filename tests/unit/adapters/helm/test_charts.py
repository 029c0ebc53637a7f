"""Charts as they lie on disk, where helm is found, and what is made of its complaints."""

import tracemalloc
from pathlib import Path

import pytest

from stackwright.adapters.errors import Rejected, Unavailable
from stackwright.adapters.helm import charts, programs

# Ten aliases of ten aliases of ten aliases, and so on.
LAUGHS = "\n".join(["a0: &a0 x", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9))])


def chart(folder: Path) -> Path:
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: small\nversion: 0.1.0\n")
    (folder / "values.yaml").write_text("since: 2026-11-15\n")
    (folder / "templates" / "one.yaml").write_text("kind: One\n")
    return folder


def test_a_chart_is_read_as_a_record_keeps_it(tmp_path: Path) -> None:
    found = charts.read(chart(tmp_path / "small"))
    assert found.name == "small"
    # A date is a text: JSON has no dates.
    assert found.record["values"] == {"since": "2026-11-15"}
    assert found.record["templates"] == [{"name": "templates/one.yaml", "data": "a2luZDogT25lCg=="}]
    assert found.record["schema"] is None


def test_the_digest_is_of_the_content(tmp_path: Path) -> None:
    one, other = chart(tmp_path / "one"), chart(tmp_path / "other")
    assert charts.read(one).digest == charts.read(other).digest
    (other / "templates" / "one.yaml").rename(other / "templates" / "two.yaml")
    assert charts.read(one).digest != charts.read(other).digest


def test_a_link_counts_as_what_it_links_to(tmp_path: Path) -> None:
    small, library = chart(tmp_path / "small"), chart(tmp_path / "library")
    (small / "charts").mkdir()
    (small / "charts" / "library").symlink_to("../../library")
    before = charts.read(small)
    (library / "values.yaml").write_text("a: 1\n")
    assert charts.read(small).digest != before.digest
    # What another chart brings is not in the record, as helm has it.
    assert len(before.record["templates"]) == 1


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        pytest.param("Chart.yaml", "version: 0.1.0", "is not a chart", id="a-chart-without-a-name"),
        pytest.param("values.yaml", "a: 1\nb: c: d", "values.yaml is not YAML in line 2", id="broken-values"),
        pytest.param("values.yaml", f"a: [{'{},' * 2**21}]", "values.yaml of the chart is longer than", id="millions"),
        pytest.param("values.yaml", f"a: [{'{},' * 2**15}]", "values.yaml of the chart has more than", id="thousands"),
        pytest.param("values.yaml", f"a: {'[' * 2**16}", "values.yaml of the chart has values deeper", id="deep"),
        pytest.param("values.yaml", LAUGHS, "values.yaml of the chart has more than", id="aliases-of-aliases"),
        pytest.param(
            "Chart.yaml", f"name: a\na: [{'{},' * 2**21}]", "Chart.yaml of the chart is longer", id="metadata"
        ),
    ],
)
def test_what_is_wrong_with_a_chart_is_told(tmp_path: Path, name: str, content: str, said: str) -> None:
    (chart(tmp_path / "small") / name).write_text(content)
    tracemalloc.start()
    try:
        with pytest.raises(Rejected, match=said):
            charts.read(tmp_path / "small")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # A chart of a user is read in the process of all clouds: 8 MiB of text, and next to nothing beside it.
    assert peak < 24 * 2**20


def test_a_chart_weighs_what_is_kept_of_it(tmp_path: Path) -> None:
    small = chart(tmp_path / "small")
    (small / "values.yaml").write_text("a: 1\n")
    light = charts.read(small).weight
    (small / "templates" / "two.yaml").write_text("#" * 100_000)
    (small / "values.yaml").write_text(f"a: [{'{},' * 1000}]\n")
    assert charts.read(small).weight - light > 100_000 + 100 * 1000


def test_a_link_to_nothing_is_told(tmp_path: Path) -> None:
    small = chart(tmp_path / "small")
    (small / "templates" / "two.yaml").symlink_to("nowhere")
    with pytest.raises(Rejected, match="cannot be read"):
        charts.read(small)


def program(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.touch(mode=0o755)
    return path


def test_helm_is_the_one_given_then_the_one_named_then_the_one_on_the_path(tmp_path: Path) -> None:
    given, named, found = (program(tmp_path / place / "helm") for place in ("given", "named", "found"))
    path = {"PATH": str(found.parent)}
    assert programs.find(given, {**path, "STACKWRIGHT_HELM": str(named)}) == given
    assert programs.find(None, {**path, "STACKWRIGHT_HELM": str(named)}) == named
    assert programs.find(None, path) == found


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        pytest.param({}, "helm is not on the PATH; install helm 4, or name it in STACKWRIGHT_HELM", id="nowhere"),
        pytest.param({"STACKWRIGHT_HELM": "/no/helm"}, "/no/helm is not a program", id="named-and-not-there"),
    ],
)
def test_a_missing_helm_is_told(tmp_path: Path, environment: dict[str, str], said: str) -> None:
    with pytest.raises(Unavailable, match=said):
        programs.find(None, {"PATH": str(tmp_path), **environment})


@pytest.mark.parametrize(
    ("printed", "complaint"),
    [
        pytest.param(
            "Error: values don't meet the specifications\nsmall:\n- at '/replicas': got string, want integer\n\n",
            "values don't meet the specifications small: - at '/replicas': got string, want integer",
            id="several-lines-become-one",
        ),
        pytest.param("WARN x\nError: no\n\nUse --debug flag to render out\n", "no", id="advice-for-others-is-left-out"),
        pytest.param("Error: 'correct horse' is wrong", "'<value>' is wrong", id="a-value-is-hidden"),
        pytest.param("", "helm failed and did not say why", id="silence"),
    ],
)
def test_a_complaint_is_one_line_without_values(printed: str, complaint: str) -> None:
    assert programs.complaint_of(printed, '{"a": [{"b": "correct horse"}], "c": "no"}') == complaint

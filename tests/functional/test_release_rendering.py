"""Charts rendered by the real helm."""

import asyncio
import contextlib
import shutil
import stat
from pathlib import Path

import pytest

from stackwright.adapters.errors import Rejected, Unavailable
from stackwright.adapters.helm import Renderer, records
from stackwright.adapters.helm.programs import Bounds
from stackwright.kube.builtin import Secret
from stackwright.kube.client import Client
from tests.functional.releases import CHART, Hand, hand

__all__ = ["hand"]


@pytest.fixture
def renderer(kubernetes: dict[str, Path]) -> Renderer:
    return Renderer(kubernetes["helm"])


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    """A chart of the test's own, to be spoilt."""
    return Path(shutil.copytree(CHART, tmp_path / "chart"))


def program(folder: Path, script: str) -> Path:
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


async def test_objects_come_in_helms_order_and_carry_the_release(renderer: Renderer) -> None:
    rendered = await renderer.render(CHART, "small", "here", {"greeting": "2026-11-15", "extra": True})
    assert [(body["kind"], body["metadata"]["name"]) for body in rendered.objects] == [
        ("ConfigMap", "small"),
        ("ConfigMap", "small-extra"),
        ("ConfigMap", "small-kept"),
        ("PersistentVolumeClaim", "small-extra"),
        ("Service", "small"),
        ("Deployment", "small"),
        ("Job", "small-once-abc"),
    ]
    for body in rendered.objects:
        assert body["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"
        assert body["metadata"]["annotations"]["meta.helm.sh/release-name"] == "small"
        assert body["metadata"]["annotations"]["meta.helm.sh/release-namespace"] == "here"
    assert rendered.objects[0]["data"] == {"greeting": "2026-11-15"}


async def test_the_same_is_rendered_once(renderer: Renderer) -> None:
    values = {"greeting": "hi"}
    asked = [renderer.render(CHART, "small", "here", dict(values)) for _ in range(5)]
    first, *others = await asyncio.gather(*asked)
    assert all(other is first for other in others)
    assert await renderer.render(CHART, "small", "here", values) is first
    assert renderer.runs == 1
    await renderer.render(CHART, "small", "there", values)
    await renderer.render(CHART, "other", "here", values)
    await renderer.render(CHART, "small", "here", {})
    assert renderer.runs == 4


async def test_what_was_asked_for_least_lately_is_forgotten(kubernetes: dict[str, Path]) -> None:
    renderer = Renderer(kubernetes["helm"], remembered=2)
    for name in ("a", "b", "a", "c", "a", "b"):
        await renderer.render(CHART, name, "here", {})
    assert renderer.runs == 4


async def test_who_gives_up_does_not_take_the_others_result_away(renderer: Renderer) -> None:
    # The chart is known from here on, so that both ask at once.
    await renderer.render(CHART, "other", "here", {})
    impatient = asyncio.create_task(renderer.render(CHART, "small", "here", {}))
    patient = asyncio.create_task(renderer.render(CHART, "small", "here", {}))
    while renderer.runs == 1:
        await asyncio.sleep(0)
    impatient.cancel()
    assert (await patient).objects
    assert renderer.runs == 2


async def test_a_linked_chart_counts(renderer: Renderer, chart: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    (library / "templates").mkdir(parents=True)
    (library / "Chart.yaml").write_text("apiVersion: v2\nname: words\nversion: 0.1.0\ntype: library\n")
    (library / "templates" / "_word.tpl").write_text('{{ define "word" }}one{{ end }}')
    (chart / "charts").mkdir()
    (chart / "charts" / "library").symlink_to("../../library")
    (chart / "templates" / "word.yaml").write_text(
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: words}\ndata: {word: {{ include "word" . }}}\n'
    )
    before = await renderer.render(chart, "small", "here", {})
    assert {"word": "one"} in [body.get("data") for body in before.objects]
    (library / "templates" / "_word.tpl").write_text('{{ define "word" }}two{{ end }}')
    after = await Renderer(renderer._helm.program).render(chart, "small", "here", {})
    assert before.chart.digest != after.chart.digest
    assert {"word": "two"} in [body.get("data") for body in after.objects]


@pytest.mark.parametrize(
    ("template", "said"),
    [
        pytest.param('{{ required "image is required" .Values.image }}', "image is required", id="a-required-value"),
        pytest.param("{{ .Values.nope.deep }}", "at <.Values.nope.deep>", id="a-value-of-nothing"),
        pytest.param("a: [b", "YAML parse error on small/templates/broken.yaml", id="a-broken-manifest"),
        pytest.param('{{ fail (printf "not %s" .Values.greeting) }}', "not <value>", id="a-value-is-not-repeated"),
    ],
)
async def test_what_helm_complains_about_is_told(renderer: Renderer, chart: Path, template: str, said: str) -> None:
    (chart / "templates" / "broken.yaml").write_text(template)
    for _ in range(2):  # The same is told again, and not tried again at once.
        with pytest.raises(Rejected, match=r"^chart small: ") as caught:
            await renderer.render(chart, "small", "here", {"greeting": "a-long-secret"})
        assert said in str(caught.value)
        assert "a-long-secret" not in str(caught.value)
        assert "\n" not in str(caught.value)
    assert renderer.runs == 1
    # Another value is another render.
    with pytest.raises(Rejected):
        await renderer.render(chart, "small", "here", {"greeting": "another-secret"})
    assert renderer.runs == 2


@pytest.mark.parametrize(
    ("template", "bounds", "said"),
    [
        pytest.param("{{ range untilStep 0 100000000 1 }}{{ end }}", Bounds(), "160 MiB of memory", id="memory"),
        pytest.param(
            'a: {{ repeat 100000 "0123456789" }}', Bounds(printed=2**19), "512 KiB of output", id="a-long-output"
        ),
        pytest.param(
            '{{ range until 300 }}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: "n{{ . }}"}\n{{ end }}',
            Bounds(),
            "chart small: it renders 30[0-9] objects",
            id="many-objects",
        ),
    ],
)
async def test_a_template_that_takes_too_much_is_refused_within_seconds(
    kubernetes: dict[str, Path], chart: Path, template: str, bounds: Bounds, said: str
) -> None:
    (chart / "templates" / "bomb.yaml").write_text(template)
    renderer = Renderer(kubernetes["helm"], bounds=bounds)
    async with asyncio.timeout(20):
        for _ in range(2):
            with pytest.raises(Rejected, match=said):
                await renderer.render(chart, "small", "here", {})
    assert renderer.runs == 1


ENDLESS = "{{ range $a := until 30000 }}{{ range until 30000 }}{{ end }}{{ end }}"


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        pytest.param(Bounds(seconds=1.0), "did not render chart small within 1 s", id="time"),
        pytest.param(Bounds(processor_seconds=1, seconds=30.0), "more than 1 s of processor time", id="processor"),
    ],
)
async def test_a_template_without_end_is_ended_and_tried_again_later(
    kubernetes: dict[str, Path], chart: Path, bounds: Bounds, said: str
) -> None:
    (chart / "templates" / "bomb.yaml").write_text(ENDLESS)
    renderer = Renderer(kubernetes["helm"], bounds=bounds)
    for _ in range(2):
        with pytest.raises(Unavailable, match=said) as caught:
            await renderer.render(chart, "small", "here", {})
        assert caught.value.after is not None
        assert 3 < caught.value.after <= 5
    assert renderer.runs == 1


async def test_helm_ends_with_the_last_one_who_waits_for_it(kubernetes: dict[str, Path], chart: Path) -> None:
    (chart / "templates" / "bomb.yaml").write_text(ENDLESS)
    waiting = asyncio.create_task(Renderer(kubernetes["helm"]).render(chart, "small", "here", {}))
    while not (found := helms(chart)):
        await asyncio.sleep(0.01)
    waiting.cancel()
    await asyncio.wait((waiting,))
    assert len(found) == 1
    assert helms(chart) == []


def helms(chart: Path) -> list[str]:
    """Return the processes that render a chart."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and str(chart).encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                found.append(folder.name)
    return found


async def test_a_value_that_the_schema_does_not_allow_is_named(renderer: Renderer, chart: Path) -> None:
    (chart / "values.schema.json").write_text('{"properties": {"greeting": {"pattern": "^[0-9]+$"}}}')
    with pytest.raises(Rejected) as caught:
        await renderer.render(chart, "small", "here", {"greeting": "a-long-secret"})
    assert "/greeting" in str(caught.value)
    assert "a-long-secret" not in str(caught.value)


async def test_only_charts_of_the_trusted_folder_are_rendered_without_their_schema(
    kubernetes: dict[str, Path], chart: Path, tmp_path: Path
) -> None:
    (chart / "values.schema.json").write_text('{"properties": {"greeting": {"pattern": "^[0-9]+$"}}}')
    anothers = Path(shutil.copytree(chart, tmp_path / "anothers" / "chart"))
    renderer = Renderer(kubernetes["helm"], trusted=chart)
    rendered = await renderer.render(chart, "small", "here", {"greeting": "hi"})
    assert rendered.objects[0]["data"] == {"greeting": "hi"}
    with pytest.raises(Rejected, match="/greeting"):
        await renderer.render(anothers, "small", "here", {"greeting": "hi"})


async def test_a_folder_that_is_no_chart_is_named(renderer: Renderer, tmp_path: Path) -> None:
    with pytest.raises(Rejected, match="is not a chart"):
        await renderer.render(tmp_path, "small", "here", {})
    with pytest.raises(Rejected, match="is not a chart"):
        await renderer.render(tmp_path / "nowhere", "small", "here", {})


async def test_a_helm_that_is_killed_is_tried_again_later(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="signal 9"):
        await Renderer(program(tmp_path, "kill -9 $$")).render(CHART, "small", "here", {})


async def test_a_program_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="STACKWRIGHT_HELM"):
        await Renderer(tmp_path / "nothing").render(CHART, "small", "here", {})


async def test_helm_gets_nothing_of_the_users_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSWORD", "do-not-tell")
    script = program(tmp_path, "/usr/bin/env > $(dirname $0)/environment")
    await Renderer(script).render(CHART, "small", "here", {})
    assert "do-not-tell" not in (tmp_path / "environment").read_text()


async def test_a_record_of_the_real_helm_survives_the_round_trip(hand: Hand, client: Client) -> None:
    await hand("install", "small", CHART, "--set", "greeting=hi")
    secret = await client.get(Secret, records.secret_name("small", 1), hand.namespace)
    record = records.decode(secret.data[records.KEY])
    assert (record.version, record.status, record.values) == (1, "deployed", {"greeting": "hi"})
    assert records.decode(records.encode(record)) == record


async def test_our_record_has_what_helms_own_has(hand: Hand, client: Client, renderer: Renderer) -> None:
    await hand("install", "small", CHART, "--set", "greeting=hi")
    secret = await client.get(Secret, records.secret_name("small", 1), hand.namespace)
    theirs = records.decode(secret.data[records.KEY])
    rendered = await renderer.render(CHART, "small", hand.namespace, {"greeting": "hi"})
    assert rendered.manifest.strip() == theirs.manifest.strip()
    assert rendered.chart.record["metadata"] == theirs.body["chart"]["metadata"]
    assert rendered.chart.record["values"] == theirs.body["chart"]["values"]
    assert [entry["data"] for entry in rendered.chart.record["templates"]] == [
        entry["data"] for entry in theirs.body["chart"]["templates"]
    ]

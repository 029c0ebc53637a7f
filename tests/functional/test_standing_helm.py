"""One helm that stays for the charts that are ours, beside a helm that is started for each run."""

import asyncio
import gc
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright.adapters.errors import Rejected
from stackwright.adapters.helm import Renderer
from stackwright.adapters.helm.programs import Bounds
from stackwright.adapters.helm.standing import WORD, StandingHelm
from tests.checkout import ROOT

CHARTS = ROOT / "charts"
VALUES = ROOT / "tests" / "charts" / "values"
VERSION = ("version", "--short")


@pytest.fixture
def standing(kubernetes: dict[str, Path]) -> StandingHelm:
    return StandingHelm(dict(os.environ), Bounds())


def staying() -> set[int]:
    """Return the helms that this process lets stay."""
    found = set()
    for listed in Path("/proc/self/task").glob("*/children"):
        for pid in map(int, listed.read_text().split()):
            if f"\0{WORD}\0".encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.add(pid)
    return found


def ended(pid: int) -> bool:
    """Return whether a helm of ours has ended; it is ours to wait for, and we do that when we need the next one."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def shown() -> list[Any]:
    """Return each chart that has values which show all of it."""
    return [pytest.param(path.stem, id=path.stem) for path in sorted(VALUES.glob("*.yaml"))]


@pytest.fixture(scope="module")
def both(kubernetes: dict[str, Path]) -> tuple[Renderer, Renderer]:
    """A renderer whose helm stays, which all tests share, and one that starts helm for each run."""
    return Renderer(kubernetes["helm"], trusted=CHARTS, compared=True), Renderer(kubernetes["helm"])


@pytest.mark.parametrize("chart", shown())
async def test_it_renders_what_helm_does(both: tuple[Renderer, Renderer], chart: str) -> None:
    values = yaml.safe_load((VALUES / f"{chart}.yaml").read_text())
    stays, starts = [await renderer.render(CHARTS / chart, chart, "here", values) for renderer in both]
    assert stays == starts
    assert stays.manifest.count("\nkind: ") > 0


@pytest.mark.parametrize("text", ["😀 \\ 😀", "é\u2028", "\\ud83d\\ude00"])
async def test_a_text_gets_to_its_object_as_it_is(both: tuple[Renderer, Renderer], text: str) -> None:
    values = yaml.safe_load((VALUES / "keystone.yaml").read_text())
    values["services"] = {"internal": {"annotations": {"example.com/owner": text}}}
    for renderer in both:
        rendered = await renderer.render(CHARTS / "keystone", "keystone", "here", values)
        services = [body["metadata"]["annotations"] for body in rendered.objects if body["kind"] == "Service"]
        assert services[0]["example.com/owner"] == text


async def test_it_refuses_what_helm_does(both: tuple[Renderer, Renderer]) -> None:
    said = []
    for renderer in both:
        with pytest.raises(Rejected) as caught:
            await renderer.render(CHARTS / "nova", "nova", "here", {"components": 3})
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert "/components" in said[0]


async def test_many_runs_are_one_process(kubernetes: dict[str, Path], standing: StandingHelm) -> None:
    before = staying()
    done = await asyncio.gather(*(standing.run(kubernetes["helm"], VERSION, "") for _ in range(20)))
    assert [one.done.code for one in done if one is not None] == [0] * 20
    assert standing.starts == 1
    assert len(staying() - before) == 1


async def test_it_is_started_again_after_it_was_killed(kubernetes: dict[str, Path], standing: StandingHelm) -> None:
    before = staying()
    assert await standing.run(kubernetes["helm"], VERSION, "")
    (pid,) = staying() - before
    os.kill(pid, signal.SIGKILL)
    # This run is done in another way: it may be what killed it.
    assert await standing.run(kubernetes["helm"], VERSION, "") is None
    assert await standing.run(kubernetes["helm"], VERSION, "")
    assert standing.starts == 2


async def test_it_goes_when_nobody_asks(kubernetes: dict[str, Path]) -> None:
    before = staying()
    standing = StandingHelm(dict(os.environ), Bounds(), idle=2.0)
    assert await standing.run(kubernetes["helm"], VERSION, "")
    (pid,) = staying() - before
    async with asyncio.timeout(60):
        while not ended(pid):
            await asyncio.sleep(0.05)
    assert await standing.run(kubernetes["helm"], VERSION, "")
    assert standing.starts == 2


async def test_it_goes_with_its_owner(kubernetes: dict[str, Path]) -> None:
    before = staying()
    standing = StandingHelm(dict(os.environ), Bounds())
    assert await standing.run(kubernetes["helm"], VERSION, "")
    assert staying() - before
    del standing
    async with asyncio.timeout(10):
        # Its thread may be about to lay down the last run.
        while gc.collect() or staying() - before:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("bounds", "seconds"),
    [
        pytest.param(Bounds(seconds=5.0), "100000", id="time"),
        pytest.param(Bounds(printed=2**10), "0", id="a-long-output"),
    ],
)
async def test_it_does_no_more_than_its_bounds_allow(
    kubernetes: dict[str, Path], tmp_path: Path, bounds: Bounds, seconds: str
) -> None:
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: large\nversion: 0.1.0\n")
    (tmp_path / "templates").mkdir()
    loops = f"{{{{ range until {seconds} }}}}" * 2 + "{{ end }}" * 2
    text = f'{loops}a: {{{{ repeat 1000 "0123456789" }}}}'
    (tmp_path / "templates" / "large.yaml").write_text(text)
    before = staying()
    standing = StandingHelm(dict(os.environ), bounds)
    assert await standing.run(kubernetes["helm"], ("template", "large", str(tmp_path)), "") is None
    assert not staying() - before
    assert await standing.run(kubernetes["helm"], VERSION, "")


@pytest.mark.parametrize(
    "script",
    [
        pytest.param('echo "Error: unknown command" >&2; exit 1', id="another-helm"),
        pytest.param("exec yes", id="it-prints-something-else"),
        pytest.param("exit 0", id="it-says-nothing"),
    ],
)
async def test_a_program_without_the_word_is_asked_once(tmp_path: Path, script: str) -> None:
    program = tmp_path / "helm"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    standing = StandingHelm(dict(os.environ), Bounds())
    assert await asyncio.gather(*(standing.run(program, VERSION, "") for _ in range(3))) == [None] * 3
    assert await standing.run(program, VERSION, "") is None
    assert standing.starts == 1


@pytest.mark.parametrize("answer", ["nonsense", "[]", '{"code": "one"}'])
async def test_an_answer_that_is_none_ends_it(tmp_path: Path, answer: str) -> None:
    program = tmp_path / "helm"
    program.write_text(f"#!/bin/sh\necho\nwhile read -r _; do echo '{answer}'; done\n")
    program.chmod(0o755)
    before = staying()
    standing = StandingHelm(dict(os.environ), Bounds())
    for number in (1, 2):
        assert await standing.run(program, VERSION, "") is None
        assert standing.starts == number
        assert not staying() - before


async def test_it_does_so_many_runs_and_no_more(tmp_path: Path) -> None:
    """Helm keeps something of each run, some 400 KB, and would be ended by its memory limit in the middle of one."""
    program = tmp_path / "helm"
    answer = '{"code": 0, "printed": "yes", "complaint": ""}'
    program.write_text(f"#!/bin/sh\necho\nwhile read -r _; do echo '{answer}'; done\n")
    program.chmod(0o755)
    before = staying()
    standing = StandingHelm(dict(os.environ), Bounds(), runs=3)
    for number in range(7):
        done = await standing.run(program, VERSION, "")
        assert done is not None
        assert done.done.printed == b"yes"
        assert standing.starts == 1 + number // 3
        assert len(staying() - before) == 1


async def test_no_program_is_no_helm_that_stays(tmp_path: Path) -> None:
    assert await StandingHelm({}, Bounds()).run(tmp_path / "nothing", VERSION, "") is None

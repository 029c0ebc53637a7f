"""The build: one run of the compiler, its progress as it is, and programs that say their version."""

import secrets
import subprocess
import tomllib
from pathlib import Path

import pytest

from stackwright.local import build, versions
from stackwright.local.errors import BuildFailed
from stackwright.local.programs import ALL, Program
from stackwright.local.progress import Silent
from stackwright.local.toolchain import Toolchain
from tests.unit.local.tiny_module import PROGRAMS, Said, write_module


def compiling(said: Said | Silent) -> build.Compiling:
    return build.Compiling(said, versions.architecture())


def test_programs_that_share_a_binary_are_links_to_it(tmp_path: Path, go: Toolchain) -> None:
    module = build.Module(write_module(tmp_path / "module"), "-s -w -X main.version=v7")
    output = tmp_path / "output"
    output.mkdir()
    build.build(module, PROGRAMS.values(), output, toolchain=go, compiling=compiling(Silent()))
    assert {path.name: path.is_symlink() for path in output.iterdir()} == {
        "servers": False,
        "left": True,
        "right": True,
        "alone": False,
    }
    for name in PROGRAMS:
        answer = subprocess.run([output / name], check=True, capture_output=True, text=True)
        assert answer.stdout == f"{name} v7\n"


def test_only_what_is_asked_for_is_built(tmp_path: Path, go: Toolchain) -> None:
    module = build.Module(write_module(tmp_path / "module"))
    output = tmp_path / "output"
    output.mkdir()
    build.build(module, [PROGRAMS["alone"]], output, toolchain=go, compiling=compiling(Silent()))
    assert [path.name for path in output.iterdir()] == ["alone"]


def test_the_count_is_of_packages_that_are_compiled(tmp_path: Path, go: Toolchain) -> None:
    """A module that nobody compiled before: its own packages are to be compiled, Go's own were, and it says so."""
    module = build.Module(write_module(tmp_path / "module"))
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    build.build(module, [PROGRAMS["alone"]], tmp_path / "first", toolchain=go, compiling=compiling(Silent()))
    said = Said()
    source = module.directory / "alone" / "main.go"
    # Not tmp_path: its number comes again once /tmp was emptied, and Go's cache outlives that.
    source.write_text(source.read_text() + f"\n// {secrets.token_hex()} makes this another content.\n")
    run = compiling(said)
    build.build(module, [PROGRAMS["alone"]], tmp_path / "second", toolchain=go, compiling=run)
    assert said.lines[0].startswith("Compiling 1 of ")
    assert "were compiled before" in said.lines[0]
    assert run.state().startswith("Linking, ")


def test_an_error_of_the_compiler_is_quoted(tmp_path: Path, go: Toolchain) -> None:
    folder = write_module(tmp_path / "module")
    (folder / "alone" / "main.go").write_text("package main\n\nfunc main() { undefined() }\n")
    output = tmp_path / "output"
    output.mkdir()
    with pytest.raises(BuildFailed, match=r"(?s)go build ended with 1: .*undefined: undefined"):
        build.build(build.Module(folder), [PROGRAMS["alone"]], output, toolchain=go, compiling=compiling(Silent()))


def test_a_module_that_is_not_there_is_quoted(tmp_path: Path, go: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOPROXY", "off")
    folder = write_module(tmp_path / "module")
    (folder / "go.mod").write_text((folder / "go.mod").read_text() + "\nrequire example.invalid/nowhere v1.0.0\n")
    (folder / "alone" / "main.go").write_text('package main\n\nimport _ "example.invalid/nowhere"\n\nfunc main() {}\n')
    with pytest.raises(BuildFailed, match=r"go list ended with 1: .*example.invalid/nowhere"):
        build.build(build.Module(folder), [PROGRAMS["alone"]], tmp_path, toolchain=go, compiling=compiling(Silent()))


def test_the_state_follows_what_the_compiler_says() -> None:
    now = 0.0
    run = build.Compiling(Silent(), "amd64", clock=lambda: now)
    run.line("go: downloading k8s.io/api v0.36.4")
    now = 3.0
    assert run.state() == "Looking at what there is to compile: 1 Go modules fetched, 3 s so far"
    run.fresh(build.Work(total=10, waiting=frozenset({"a/one", "a/two"})))
    now = 15.0
    run.line("a/one")
    run.line("a/one")
    assert run.state() == "Compiled packages: 1 of 2, 12 s so far, about 10 s left"
    run.line("# a/two")
    run.line("two.go:3: wrong")
    assert run.messages == ["# a/two", "two.go:3: wrong"]
    run.line("a/two")
    assert run.state() == "Linking, 12 s so far"


def test_every_program_is_stamped_with_its_pinned_version() -> None:
    flags = build.link_flags(versions.parse((versions.MODULE / "go.mod").read_text()))
    pinned = versions.pinned()
    assert f"-X k8s.io/component-base/version.gitVersion={pinned.kubernetes}" in flags
    assert f"-X k8s.io/client-go/pkg/version.gitVersion={pinned.kubernetes}" in flags
    assert f"-X helm.sh/helm/v4/internal/version.version={pinned.helm}" in flags


def test_the_users_environment_does_not_change_what_is_built() -> None:
    users = {"GOFLAGS": "-mod=vendor", "GOOS": "plan9", "GOPROXY": "https://proxy.invalid", "PATH": "/bin"}
    environment = build.environment("arm64", users)
    assert (environment["GOOS"], environment["GOARCH"], environment["CGO_ENABLED"]) == ("linux", "arm64", "0")
    assert environment["GOFLAGS"] == "-mod=readonly"
    assert (environment["GOPROXY"], environment["PATH"]) == ("https://proxy.invalid", "/bin")


def test_the_compiler_always_has_a_home_for_its_cache() -> None:
    assert build.environment("arm64", {})["HOME"] == str(Path.home())
    assert build.environment("arm64", {"HOME": "/home/me"})["HOME"] == "/home/me"


def test_every_program_of_ours_has_a_folder_in_the_module() -> None:
    folders = {program.package for program in ALL.values()}
    assert {path.parent.name for path in versions.MODULE.glob("*/main.go")} == folders
    assert Program("etcd", "etcd", "servers") == ALL["etcd"]


def test_an_installed_package_has_all_of_the_module() -> None:
    root = Path(__file__).parents[3]
    patterns = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    place = root / "stackwright" / "local"
    packed = {path for pattern in patterns["stackwright.local"] for path in place.glob(pattern)}
    assert {path for path in (place / "kubernetes").rglob("*") if path.is_file()} == packed

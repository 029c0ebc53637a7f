"""`stackwright local binaries`: what it prints and how it ends."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from stackwright.cli.commands.local import local
from stackwright.local import binaries, versions
from stackwright.local.programs import ALL


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for programs, on a machine that has no others."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(binaries.NAMED, raising=False)
    monkeypatch.delenv(binaries.ASSETS, raising=False)
    made = tmp_path / "programs"
    made.mkdir()
    return made


def program(path: Path, says: str) -> None:
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)


def test_it_prints_each_program_with_its_version_and_place(folder: Path) -> None:
    pinned = versions.pinned()
    program(folder / "helm", f"{pinned.helm}+gabc1234")
    program(folder / "etcd", "etcd Version: 3.5.1\nGit SHA: abc")
    program(folder / "kubectl", f"Client Version: {pinned.kubernetes}\nKustomize Version: v5.8.1")
    answer = CliRunner().invoke(local, ["binaries", "--directory", str(folder), "helm", "etcd", "kubectl"])
    assert answer.exit_code == 0, answer.output
    assert answer.stdout.splitlines() == [
        f"helm     {pinned.helm:8}  {folder}/helm",
        f"etcd     v3.5.1    {folder}/etcd  (tested with {pinned.etcd})",
        f"kubectl  {pinned.kubernetes:8}  {folder}/kubectl",
    ]


def test_it_lists_what_is_missing_without_fetching_it(folder: Path) -> None:
    program(folder / "etcd", f"etcd Version: {versions.pinned().etcd.removeprefix('v')}")
    answer = CliRunner().invoke(local, ["binaries", "--missing", "--directory", str(folder)])
    assert answer.exit_code == 1
    lines = dict(line.split(maxsplit=1) for line in answer.stdout.splitlines())
    assert set(lines) == set(ALL)
    assert [name for name, rest in lines.items() if rest != "missing"] == ["etcd"]


def test_an_unknown_program_is_named_with_those_that_there_are(folder: Path) -> None:
    answer = CliRunner().invoke(local, ["binaries", "--directory", str(folder), "kubeadm"])
    assert answer.exit_code == 2
    assert "there is no program kubeadm; there are etcd, kube-apiserver" in answer.output


def test_a_program_that_does_not_run_is_told(folder: Path) -> None:
    (folder / "etcd").write_text("#!/nowhere/interpreter\n")
    (folder / "etcd").chmod(0o755)
    program(folder / "helm", "no number")
    answer = CliRunner().invoke(local, ["binaries", "--directory", str(folder), "etcd", "helm"])
    assert answer.exit_code == 0
    assert "does not run: " in answer.stdout.splitlines()[0]
    assert "says no version" in answer.stdout.splitlines()[1]

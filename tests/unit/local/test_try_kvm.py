"""The program that tells whether KVM runs a guest: by how QEMU ends, which is played here."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parents[3] / "images" / "compute" / "try_kvm.py"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The program on a machine that has the device, if the architecture is right."""
    spec = importlib.util.spec_from_file_location("try_kvm", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "kvm").touch()
    monkeypatch.setattr(module, "DEVICE", str(tmp_path / "kvm"))
    if module.os.uname().machine != "x86_64":
        pytest.skip("the guest is for x86_64")
    return module


@pytest.mark.parametrize(
    ("qemu", "code", "words"),
    [
        pytest.param("exit 33", 0, "a guest ran", id="the-guest-ended-qemu"),
        pytest.param("echo no >&2; exit 1", 1, "a guest ended with 1: no", id="qemu-did-not-start-it"),
        pytest.param("exec sleep 5", 1, "has not ended", id="the-guest-hangs"),
    ],
)
def test_it_tells_whether_a_guest_ran(
    qemu: str,
    code: int,
    words: str,
    program: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if words == "has not ended":
        monkeypatch.setattr(program, "SECONDS", 0.2)
    played = tmp_path / "qemu-system-x86_64"
    played.write_text(f"#!/bin/sh\n{qemu}\n")
    played.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert program.main() == code
    assert words in capsys.readouterr().out


def test_without_the_device_nothing_is_started(
    program: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program, "DEVICE", str(tmp_path / "none"))
    monkeypatch.setenv("PATH", "")
    assert program.main() == 1
    assert "there is no" in capsys.readouterr().out


def test_the_guest_is_a_boot_sector(program: Any) -> None:
    assert (len(program.GUEST), program.GUEST[510:]) == (512, b"\x55\xaa")

"""The programs that we found or built are what go.mod says, and say so."""

import json
import subprocess
from pathlib import Path

import pytest

from stackwright.local import binaries, versions
from stackwright.local.programs import ALL


@pytest.mark.parametrize("name", ALL)
def test_a_program_says_the_version_that_is_pinned(kubernetes: dict[str, Path], name: str) -> None:
    said = binaries.version_of(name, kubernetes[name])
    # A kube-router as it is released was built without its version; ours is a part of another program.
    released = name == "kube-router" and kubernetes[name].resolve().name == name
    assert said == ("says no version" if released else versions.pinned().of(ALL[name].component))


def test_kubectl_tells_no_lie_about_its_origin(kubernetes: dict[str, Path]) -> None:
    answer = subprocess.run(
        [kubernetes["kubectl"], "version", "--client", "--output=json"], check=True, capture_output=True
    )
    said = json.loads(answer.stdout)["clientVersion"]
    major, minor, _ = versions.pinned().kubernetes.removeprefix("v").split(".")
    assert (said["major"], said["minor"]) == (major, minor)
    assert said["platform"] == f"linux/{versions.architecture()}"
    assert "$Format" not in said["gitCommit"]


def test_helm_knows_the_same_kubernetes(kubernetes: dict[str, Path]) -> None:
    answer = subprocess.run(
        [kubernetes["helm"], "version", "--template={{.KubeClientVersion}}"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert versions.pinned().kubernetes.startswith(f"{answer.stdout}.")

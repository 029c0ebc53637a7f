"""The versions come from go.mod, and go.mod does not contradict itself."""

import re

import pytest

from stackwright.local import versions
from stackwright.local.errors import UnsupportedMachine

GO_MOD = """\
module example.invalid/programs

go 1.26.0

require (
	github.com/cloudnativelabs/kube-router/v2 v2.1.0
	github.com/coredns/coredns v1.14.7
	go.etcd.io/etcd/server/v3 v3.6.13
	helm.sh/helm/v4 v4.2.4
	k8s.io/kubernetes v1.36.4
)
"""


def test_the_versions_are_those_that_go_mod_requires() -> None:
    assert versions.parse(GO_MOD) == versions.Versions(
        kubernetes="v1.36.4", etcd="v3.6.13", helm="v4.2.4", coredns="v1.14.7", router="v2.1.0", go="1.26.0"
    )


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        pytest.param("go 1.26.0", "which Go it needs", id="no-go-line"),
        pytest.param("\tk8s.io/kubernetes v1.36.4", "does not require k8s.io/kubernetes", id="no-kubernetes"),
    ],
)
def test_a_go_mod_that_lacks_something_is_refused(missing: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        versions.parse(GO_MOD.replace(missing, ""))


def test_every_staging_module_is_of_the_pinned_kubernetes() -> None:
    text = (versions.MODULE / "go.mod").read_text()
    replaced = dict(re.findall(r"^\s*(k8s\.io/\S+) => \S+ (\S+)$", text, re.MULTILINE))
    assert len(replaced) > 30
    assert set(replaced.values()) == {versions.pinned().kubernetes.replace("v1.", "v0.")}


def test_etcd_says_its_own_version() -> None:
    """The server's version is a constant of another module of etcd's, which others require as well."""
    text = (versions.MODULE / "go.mod").read_text()
    found = dict(re.findall(r"^\s*(go\.etcd\.io/etcd/\S+) (\S+)", text, re.MULTILINE))
    assert len(found) == 5
    assert set(found.values()) == {versions.pinned().etcd}


@pytest.mark.parametrize(
    ("machine", "expected"),
    [("x86_64", "amd64"), ("aarch64", "arm64"), ("arm64", "arm64"), ("AMD64", "amd64")],
)
def test_a_machine_is_known_by_gos_name(machine: str, expected: str) -> None:
    assert versions.architecture(machine, "Linux") == expected


@pytest.mark.parametrize(
    ("machine", "system", "words"),
    [
        pytest.param("riscv64", "Linux", "this machine is riscv64", id="another-architecture"),
        pytest.param("arm64", "Darwin", "this is Darwin", id="another-system"),
    ],
)
def test_another_machine_is_refused_with_a_sentence(machine: str, system: str, words: str) -> None:
    with pytest.raises(UnsupportedMachine, match=words):
        versions.architecture(machine, system)

"""`stackwright check` of files, without a cluster."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from stackwright.cli import exit_codes
from stackwright.cli.commands.check import check
from stackwright.kube.errors import ConfigError

KEYSTONE: dict[str, Any] = {
    "apiVersion": "keystone.openstack.org/v1beta1",
    "kind": "KeystoneAPI",
    "metadata": {"name": "keystone"},
    "spec": {"secret": "osp-secret", "databaseInstance": "openstack"},
}


@pytest.fixture(autouse=True)
def no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a cluster, and nobody has named one."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("KUBECONFIG", raising=False)


def checked(tmp_path: Path, text: str) -> Result:
    path = tmp_path / "given.yaml"
    path.write_text(text)
    return CliRunner().invoke(check, ["-f", str(path)])


def test_a_cluster_that_the_environment_names_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "only the files were checked" in checked(tmp_path, yaml.safe_dump(KEYSTONE)).stdout
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "gone"))
    done = checked(tmp_path, yaml.safe_dump(KEYSTONE))
    assert (done.exit_code, done.stdout) == (exit_codes.FAILED, "")
    assert isinstance(done.exception, ConfigError)
    assert "check its path or unset it" in str(done.exception)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("a: [b\n", "given.yaml is not YAML (line 2); correct it.", id="no-yaml"),
        pytest.param("a: 1\na: 2\n", "given.yaml, line 2: a is there twice; correct it.", id="a-key-twice"),
        pytest.param("a: &x [*x]\n", "given.yaml, line 1: a[0] contains itself; correct it.", id="a-circle"),
        pytest.param("a: !!int b\n", "given.yaml is not YAML (line 1); correct it.", id="no-number"),
        pytest.param('kind: "\\ud800"\n', "given.yaml is not YAML (line 1); correct it.", id="half-a-character"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_problem(tmp_path: Path, text: str, said: str) -> None:
    done = checked(tmp_path, text)
    assert (done.exit_code, done.exception.__class__) == (exit_codes.FAILED, SystemExit)
    assert said in done.stdout


def test_what_is_not_known_is_said_not_to_be_checked(tmp_path: Path) -> None:
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    listed = {"apiVersion": "v1", "kind": "List", "items": [KEYSTONE, deployment]}
    done = checked(tmp_path, yaml.safe_dump(listed))
    assert "KeystoneAPI keystone: matches our kinds" in done.stdout
    said = "given.yaml: Deployment of apps/v1 is of no kind that is known here."
    assert [line for line in done.stdout.splitlines() if line.startswith("Not checked") and line.endswith(said)]


def test_a_resource_in_another_namespace_does_not_count(tmp_path: Path) -> None:
    keystone = {**KEYSTONE, "metadata": {"name": "keystone", "namespace": "a"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "osp-secret", "namespace": "b"}}
    done = checked(tmp_path, yaml.safe_dump_all([keystone, {**secret, "stringData": {"AdminPassword": "x"}}]))
    assert done.exit_code == exit_codes.FAILED
    assert "Secret osp-secret is for namespace b, and this is for a; use --namespace" in done.stdout

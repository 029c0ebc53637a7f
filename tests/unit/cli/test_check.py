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

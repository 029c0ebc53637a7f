"""`stackwright config import` into a file: what is taken, and what is said where nothing is."""

import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from stackwright.cli import exit_codes
from stackwright.cli.main import cli
from stackwright.kube import handwritten

COPIES = (
    b'{"command": "nova-api", "config_files": '
    b'[{"source": "/var/lib/kolla/config_files/leaves.yaml", "dest": "/etc/nova/"}]}'
)
PLANE: dict[str, Any] = {
    "apiVersion": "core.openstack.org/v1beta1",
    "kind": "OpenStackControlPlane",
    "metadata": {"name": "openstack"},
    "spec": {"secret": "s", "storageClass": "local", "keystone": {"enabled": True}},
}


@pytest.fixture
def cloud(tmp_path: Path) -> Path:
    path = tmp_path / "cloud.yaml"
    path.write_text(yaml.safe_dump(PLANE))
    return path


def imported(cloud: Path, files: dict[str, bytes]) -> Result:
    directory = cloud.parent / "kolla"
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return CliRunner().invoke(cli, ["config", "import", str(directory), "-f", str(cloud), "--yes"])


@pytest.mark.parametrize(
    ("files", "said"),
    [
        pytest.param({"keystone.conf": b"[token]\noops\n"}, ["keystone.conf: line 2"], id="no-options"),
        pytest.param(
            {"keystone.conf": b"oops\n", "glance/glance-api.conf": b"[DEFAULT\n"},
            ["keystone.conf: line 1", "glance/glance-api.conf: line 1"],
            id="each-is-named",
        ),
        pytest.param({"keystone/config.json": b"{"}, ["keystone/config.json: it is not JSON"], id="no-json"),
        pytest.param({"heat.conf": b"[DEFAULT]\na = b\n"}, ["heat.conf: it belongs to no service"], id="nobodys"),
        pytest.param({"keystone.conf": b"\xff\xfe"}, ["keystone.conf: it is not text"], id="no-text"),
    ],
)
def test_files_that_are_all_broken_fail_with_a_sentence_for_each(
    cloud: Path, files: dict[str, bytes], said: list[str]
) -> None:
    before = cloud.read_text()
    done = imported(cloud, files)
    assert done.exit_code in (exit_codes.FAILED, exit_codes.WRONG_CALL)
    assert done.stdout == ""
    for sentence in said:
        assert sentence in done.stderr
    assert cloud.read_text() == before


def test_what_is_whole_is_taken_beside_what_is_broken(cloud: Path) -> None:
    done = imported(cloud, {"keystone.conf": b"[token]\nexpiration = 7200\n", "glance.conf": b"oops\n"})
    assert done.exit_code == exit_codes.DONE
    assert "glance.conf: line 1" in done.stderr
    assert "expiration = 7200" in cloud.read_text()


def test_a_service_without_a_place_for_all_of_its_components_says_so(cloud: Path) -> None:
    plane = {**PLANE, "spec": {**PLANE["spec"], "nova": {"enabled": True}}}
    cloud.write_text(yaml.safe_dump(plane))
    options, start = b"[DEFAULT]\ndebug = true\n", COPIES
    files = {
        "global.conf": options,
        "nova.conf": options,
        "nova/nova.conf": options,
        "nova/policy.yaml": b"a: role:admin\n",
        "nova/nova-scheduler.conf": options,
        "nova-api/config.json": start,
        "nova-api/leaves.yaml": b"a: b\n",
    }
    done = imported(cloud, files)
    assert done.exit_code == exit_codes.DONE, done.stderr
    spec = handwritten.read(cloud.read_text())[0]["spec"]
    assert "debug = true" in spec["keystone"]["template"]["customServiceConfig"]
    template = spec["nova"]["template"]
    assert (list(template), list(template["apiServiceTemplate"])) == (
        ["apiServiceTemplate", "schedulerServiceTemplate"],
        ["kollaConfig"],
    )
    for name in ("global.conf", "nova.conf", "nova/nova.conf", "nova/policy.yaml", "nova-api/leaves.yaml"):
        assert f"  {name}: nova has no place for " in done.stderr


def test_the_same_again_changes_nothing_and_is_no_failure(cloud: Path) -> None:
    files = {"keystone.conf": b"[token]\nexpiration = 7200\n"}
    imported(cloud, files)
    done = imported(cloud, files)
    assert (done.exit_code, done.stdout) == (0, "The control plane has all of it already; nothing changes.\n")


def test_the_file_keeps_its_mode_and_its_place(cloud: Path) -> None:
    real = cloud.rename(cloud.with_name("real.yaml"))
    cloud.symlink_to(real)
    real.chmod(0o640)
    done = imported(cloud, {"keystone.conf": b"[token]\nexpiration = 7200\n"})
    assert done.exit_code == exit_codes.DONE, done.stderr
    assert (cloud.is_symlink(), stat.S_IMODE(real.stat().st_mode)) == (True, 0o640)
    assert "expiration = 7200" in real.read_text()
    assert sorted(path.name for path in cloud.parent.iterdir()) == ["cloud.yaml", "kolla", "real.yaml"]


def test_a_disk_that_is_full_leaves_the_file_as_it_is(cloud: Path) -> None:
    before = cloud.read_text()
    (cloud.parent / "kolla").mkdir()
    (cloud.parent / "kolla" / "keystone.conf").write_text(f"[token]\nexpiration = {'7' * 9000}\n")
    words = [sys.executable, "-m", "stackwright.cli", "config", "import", "kolla", "-f", "cloud.yaml", "--yes"]
    # No file may become larger than 8 KiB: as on a full disk, a part of it is written.
    limit = "import os, resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    limit += "resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)); os.execv(sys.argv[1], sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", limit, *words], cwd=cloud.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == exit_codes.FAILED
    assert "cloud.yaml cannot be written: File too large; it is unchanged." in done.stderr
    assert "Traceback" not in done.stderr
    assert cloud.read_text() == before
    assert sorted(path.name for path in cloud.parent.iterdir()) == ["cloud.yaml", "kolla"]


def test_other_documents_of_the_file_keep_their_values(cloud: Path) -> None:
    other = (
        "kind: Machine\napiVersion: example.org/v1\nmac: 52:54:00:12:34:56\nwhen: 12:30\nday: 2026-11-19\nmany: 1e5\n"
    )
    cloud.write_text(f"{cloud.read_text()}---\n{other}")
    done = imported(cloud, {"keystone.conf": b"[token]\nexpiration = 7200\n"})
    assert done.exit_code == exit_codes.DONE, done.stderr
    _, machine = handwritten.read(cloud.read_text())
    said = {"mac": "52:54:00:12:34:56", "when": "12:30", "day": "2026-11-19", "many": 100000}
    assert machine == {"kind": "Machine", "apiVersion": "example.org/v1", **said}


def test_a_file_that_is_no_text_is_named(cloud: Path) -> None:
    cloud.write_bytes(b"\xff\xfe")
    done = imported(cloud, {"keystone.conf": b"[token]\nexpiration = 7200\n"})
    assert (done.exit_code, done.stderr) == (exit_codes.WRONG_CALL, f"Error: {cloud} is not text.\n")


NODE_SET = """\
apiVersion: dataplane.openstack.org/v1beta1
kind: OpenStackDataPlaneNodeSet
metadata: {name: edpm}
spec:
  services: [run-os, telemetry]
  nodeTemplate: {ansibleSSHPrivateKeySecret: key}
  nodes:
    compute-0: {ansible: {ansibleHost: 192.0.2.1, ansibleVars: {timesync_ntp_servers: [], edpm_kernel_args: x}}}
"""


def test_a_file_with_node_sets_is_printed_as_ours(tmp_path: Path) -> None:
    path = tmp_path / "nodes.yaml"
    path.write_text(NODE_SET)
    done = CliRunner().invoke(cli, ["config", "import", str(path)])
    assert done.exit_code == exit_codes.DONE
    role, node = yaml.safe_load_all(done.stdout)
    assert (role["kind"], role["spec"]["services"]) == ("OpenStackDataPlaneRole", ["run-os"])
    assert (node["kind"], node["spec"]["ansibleHost"]) == ("OpenStackDataPlaneNode", "192.0.2.1")
    assert f"  {path}: OpenStackDataPlaneNodeSet edpm\n" in done.stderr
    assert "    spec.services: telemetry is left out: telemetry is not there yet\n" in done.stderr
    assert "no role of our collection reads edpm_kernel_args\n" in done.stderr
    assert "Nothing was changed; pass --yes to apply it." in done.stderr


def test_values_without_quotes_are_those_of_kubectl(tmp_path: Path) -> None:
    path = tmp_path / "nodes.yaml"
    variables = "{edpm_a: 52:54:00:12:34:56, edpm_b: 12:30, edpm_c: 1e5, edpm_d: 0o17}"
    path.write_text(NODE_SET.replace("{timesync_ntp_servers: [], edpm_kernel_args: x}", variables))
    done = CliRunner().invoke(cli, ["config", "import", str(path)])
    assert done.exit_code == exit_codes.DONE, done.stderr
    _, node = handwritten.read(done.stdout)
    assert node["spec"]["node"]["ansibleVars"] == {
        "edpm_a": "52:54:00:12:34:56",
        "edpm_b": "12:30",
        "edpm_c": 100000,
        "edpm_d": 15,
    }


def test_what_no_server_took_is_not_printed(tmp_path: Path) -> None:
    path, kubeconfig = tmp_path / "nodes.yaml", tmp_path / "kubeconfig"
    path.write_text(NODE_SET)
    # Nobody listens at the port of discards.
    cluster = {"name": "away", "cluster": {"server": "http://127.0.0.1:9"}}
    context = {"name": "away", "context": {"cluster": "away", "user": "me"}}
    said = {"clusters": [cluster], "contexts": [context], "users": [{"name": "me", "user": {}}]}
    kubeconfig.write_text(yaml.safe_dump({**said, "current-context": "away"}))
    words = ["config", "import", str(path), "--yes", "--kubeconfig", str(kubeconfig), "--request-timeout", "1s"]
    done = CliRunner().invoke(cli, [*words, "-n", "openstack"])
    assert done.exit_code not in (exit_codes.DONE, exit_codes.WRONG_CALL), done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("a: [1\n", "nodes.yaml, line 2: this is not YAML", id="no-yaml"),
        pytest.param(NODE_SET.replace("{ansibleHost: 192", "[{x: 192"), "nodes.yaml, line", id="half-a-file"),
        pytest.param(NODE_SET.replace("NodeSet", "Node"), "have no OpenStackDataPlaneNodeSet", id="another-kind"),
        pytest.param(NODE_SET.replace("Secret: key", "Secret: [key]"), "line 6: spec.nodeTemplate", id="a-wrong-value"),
        pytest.param(
            NODE_SET.replace("compute-0: {", "compute-0: {networks: 3, "),
            "line 8: spec.nodes.compute-0.networks must be a list",
            id="a-number-for-a-list",
        ),
        pytest.param("a: 1\nb: \x07\n", "nodes.yaml, line 2: this is not YAML", id="a-bell"),
        pytest.param("a: 1\nb: !!int x\n", "nodes.yaml, line 2: this is not YAML: the value is no int", id="a-tag"),
        pytest.param('a: 1\nb: "\\ud800"\n', "nodes.yaml, line 2: this is not YAML", id="half-a-character"),
        pytest.param("a: " + "[" * 2000 + "]" * 2000, "nodes.yaml, line 1: it is nested deeper", id="deep"),
    ],
)
def test_a_broken_file_is_not_converted(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "nodes.yaml"
    path.write_text(text)
    done = CliRunner().invoke(cli, ["config", "import", str(path)])
    assert (done.exit_code != exit_codes.DONE, done.stdout) == (True, "")
    assert said in done.stderr


def test_standard_input_that_is_no_text_is_named() -> None:
    done = CliRunner().invoke(cli, ["config", "import", "-"], input=b"\xff\xfe")
    assert (done.exit_code, done.stderr) == (exit_codes.WRONG_CALL, "Error: - is not text.\n")


def test_a_file_of_a_control_plane_goes_with_a_directory(cloud: Path) -> None:
    done = CliRunner().invoke(cli, ["config", "import", str(cloud), "-f", str(cloud)])
    assert (done.exit_code, "goes with a directory" in done.stderr) == (exit_codes.WRONG_CALL, True)
    done = CliRunner().invoke(cli, ["config", "import", str(cloud), str(cloud.parent)])
    assert (done.exit_code, "one directory, or files" in done.stderr) == (exit_codes.WRONG_CALL, True)

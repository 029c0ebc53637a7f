"""The collection passes its linter, and prepares a machine: the second time it changes nothing."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackwright.local.machine import lifecycle
from stackwright.local.machine.lifecycle import KEY, Machine
from stackwright.local.machine.root_files import USER
from stackwright.local.progress import Shown
from tests.e2e.clusters import take_down
from tests.images.built import Answer, Built, container, why_not_built
from tests.long.traces import OTHER

COLLECTION = Path(__file__).parents[2] / "ansible"
IMAGE = "ansible-runner"
PLAYBOOKS = ("configure_network", "validate_network", "install_os", "configure_os", "run_os")


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    take_down(OTHER)
    with Shown() as progress:
        yield lifecycle.add(OTHER, "compute-0", progress=progress, ask=lambda _: True)
    take_down(OTHER)


@pytest.fixture(scope="module")
def runner(machine: Machine) -> Iterator[Built]:
    """A container of the execution image, whose inventory is the machine."""
    if reason := why_not_built([IMAGE]):
        pytest.skip(reason)
    host = machine.settings.address.rpartition(".")[0] + ".1"
    variables = {
        "ansible_host": machine.settings.address,
        "ansible_user": USER,
        "timesync_ntp_servers": [{"hostname": "ntp.example.org"}],
        "edpm_bootstrap_users": [{"name": "nova", "uid": 42436}],
        "edpm_bootstrap_command": "echo ran >> /root/ran",
        "edpm_podman_registries": [{"prefix": "stackwright.local", "location": "192.0.2.1:5000", "insecure": True}],
        "edpm_network_config_template": f"[{{name: eth0, addresses: ['{{{{ ansible_host }}}}/24'], gateway: {host}}}]",
        # Nobody answers there, which is noticed at once: the former servers are asked next.
        "ctlplane_dns_nameservers": ["127.0.0.1"],
        "edpm_network_config_nameservers_validate": False,
        "dns_search_domains": ["ctlplane.example.com"],
        "edpm_nodes_validation_addresses": [host],
        "edpm_nodes_validation_names": ["compute-0"],
        "edpm_nodes_validation_endpoints": [{"host": "127.0.0.1", "port": 22}],
    }
    with container(IMAGE) as made:
        folder = made.root / "runner"
        (folder / "inventory" / "hosts.yaml").write_text(json.dumps({"all": {"hosts": {"compute-0": variables}}}))
        key = folder / "env" / "ssh_key"
        key.write_bytes((machine.folder.directory.parent / KEY).read_bytes())
        key.chmod(0o644)
        yield made


def play(runner: Built, *words: str) -> Answer:
    key = "cp /runner/env/ssh_key /tmp/key; chmod 600 /tmp/key"
    command = f"ansible-playbook -i /runner/inventory --private-key /tmp/key {' '.join(words)}"
    return runner.run(f"{key}; {command}", environment={"ANSIBLE_NOCOLOR": "1"})


def name_servers(root: Path) -> list[str]:
    lines = (root / "etc/resolv.conf").read_text().splitlines()
    return [line.split()[1] for line in lines if line.startswith("nameserver ")]


def test_a_machine_is_prepared_and_the_second_time_nothing_changes(runner: Built, machine: Machine) -> None:
    root = machine.folder.root
    # A machine has those of its host that it can reach, which may be none.
    former = name_servers(root)
    for name in PLAYBOOKS:
        answer = play(runner, f"stackwright.edpm.{name}")
        assert answer.code == 0, answer.output
    assert "nova:x:42436:" in (root / "etc/passwd").read_text()
    assert "server ntp.example.org" in (root / "etc/chrony/sources.d/edpm.sources").read_text()
    assert 'runtime = "crun"' in (root / "etc/containers/containers.conf.d/50-edpm.conf").read_text()
    resolver = [line for line in (root / "etc/resolv.conf").read_text().splitlines() if not line.startswith("#")]
    assert (resolver[0], resolver[-1]) == ("nameserver 127.0.0.1", "search ctlplane.example.com")
    assert name_servers(root) == ["127.0.0.1", *former]
    registries = tomllib.loads((root / "etc/containers/registries.conf.d/50-edpm.conf").read_text())["registry"]
    assert registries == [{"prefix": "stackwright.local", "location": "192.0.2.1:5000", "insecure": True}]
    again = play(runner, "stackwright.edpm.prepare")
    assert again.code == 0, again.output
    assert re.search(r"changed=0 .*failed=0", again.output), again.output
    assert (root / "root/ran").read_text() == "ran\n"


def test_the_image_logs_in_with_the_key_of_the_run(runner: Built) -> None:
    answer = runner.run("run-ansible ansible-runner run /runner -p stackwright.edpm.validate_network -i once")
    assert json.loads(answer.output.splitlines()[-1]) == {"summary": {"compute-0": "ok"}}, answer.output
    assert answer.code == 0


def test_what_a_machine_does_not_reach_is_named(runner: Built) -> None:
    nowhere = [{"host": "127.0.0.1", "port": 9}]
    extra = {"edpm_nodes_validation_endpoints": nowhere, "edpm_nodes_validation_timeout": 2}
    answer = play(runner, "stackwright.edpm.validate_network", "-e", f"'{json.dumps(extra)}'")
    assert answer.code == 2
    assert "compute-0 does not reach 127.0.0.1:9" in answer.output


def test_the_strictest_profile_of_the_linter_passes(tmp_path: Path) -> None:
    # It finds the collection by its name only where collections are installed.
    place = tmp_path / "ansible_collections" / "stackwright"
    place.mkdir(parents=True)
    subprocess.run(["cp", "--recursive", str(COLLECTION), str(place / "edpm")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    requirements = COLLECTION / "lint-requirements.txt"
    subprocess.run([str(python), "-m", "pip", "-q", "install", "--require-hashes", "-r", str(requirements)], check=True)
    path = f"{python.parent}:/usr/bin:/bin"
    done = subprocess.run(
        ["ansible-lint", "--offline", "--nocolor", "--profile", "production"],
        cwd=place / "edpm",
        env={"PATH": path, "HOME": str(tmp_path), "ANSIBLE_COLLECTIONS_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr

"""A machine becomes a compute node of a real cloud by the collection alone, and a server runs on it."""

import base64
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright.cli.commands.up import SERVERS
from stackwright.local.cluster.lifecycle import Cluster
from stackwright.local.images import building
from stackwright.local.machine import lifecycle
from stackwright.local.machine.lifecycle import KEY, Machine
from stackwright.local.machine.root_files import USER
from stackwright.local.progress import Shown
from tests.checkout import ROOT
from tests.e2e import cloud as clouds
from tests.e2e import servers
from tests.e2e.cloud import Cloud
from tests.e2e.clusters import NAME
from tests.e2e.waiting import eventually
from tests.images.built import Answer, Built, container, why_not_built

MANIFEST = ROOT / SERVERS
HOST = "compute-0"
ON_THE_MACHINE = ("ovn", "compute")
IMAGES = ("ansible-runner", "guest", *ON_THE_MACHINE)
# What the control plane writes for machines outside, by the folder in which the roles look for it.
CONFIGURATION = {
    "ovn": ("configmap/ovncontroller-config",),
    "neutron-metadata": (
        "secret/neutron-ovn-metadata-agent-neutron-config",
        "secret/nova-metadata-neutron-config",
    ),
    "nova": ("secret/nova-cell1-compute-config",),
}
SERVICES = ("ovsdb_server", "ovs_vswitchd", "ovn_controller", "ovn_metadata_agent", "libvirtd", "nova_compute")
COMPUTE_IMAGES = ("edpm_neutron_metadata_agent_image", "edpm_nova_libvirt_image", "edpm_nova_compute_image")
MADE = ("run_os", "neutron_metadata", "nova")
USER_DATA = "these are user data"


@dataclass(frozen=True)
class Node:
    """The machine, and the container that runs Ansible on it."""

    machine: Machine
    runner: Built

    def run(self, command: str) -> str:
        """Run a command on the machine."""
        assert self.machine.first is not None
        words = ["nsenter", "--all", "--target", str(self.machine.first.pid), "sh", "-c", command]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def play(self, name: str, *words: str, code: int = 0) -> str:
        """Run a playbook, and return what it printed."""
        key = "cp /runner/env/ssh_key /tmp/key; chmod 600 /tmp/key"
        command = (
            f"ansible-playbook -i /runner/inventory --private-key /tmp/key stackwright.edpm.{name} {' '.join(words)}"
        )
        answer: Answer = self.runner.run(f"{key}; {command}", environment={"ANSIBLE_NOCOLOR": "1"}, timeout=600)
        assert answer.code == code, answer.output
        return answer.output

    def starts(self) -> dict[str, str]:
        """Return when each service was started."""
        asked = "systemctl show --property=ExecMainStartTimestampMonotonic --value"
        return {name: self.run(f"{asked} {name}.service").strip() for name in SERVICES}


@pytest.fixture(scope="module")
def cloud(cluster: Cluster) -> Iterator[Cloud]:
    """A cloud that machines outside reach."""
    if reason := why_not_built(IMAGES):
        pytest.skip(reason)
    with clouds.raised(cluster, MANIFEST) as made:
        made.with_client()
        yield made


@pytest.fixture(scope="module")
def node(cloud: Cloud) -> Iterator[Node]:
    """A machine with the images, and what Ansible needs to make it a compute node."""
    with Shown() as progress:
        machine = lifecycle.add(NAME, HOST, progress=progress, ask=lambda _: True)
    images = building.catalogue().images
    with container("ansible-runner") as runner:
        found = Node(machine, runner)
        for name in ON_THE_MACHINE:
            shutil.copyfile(images[name].archive, machine.folder.root / "var/tmp/image")
            found.run("podman load --quiet --input /var/tmp/image; rm /var/tmp/image")
        compute = images["compute"].reference
        variables = {
            "ansible_host": machine.settings.address,
            "ansible_user": USER,
            "edpm_ovn_controller_agent_image": images["ovn"].reference,
            **dict.fromkeys(COMPUTE_IMAGES, compute),
        }
        inventory = {"all": {"hosts": {HOST: variables}}}
        (runner.root / "runner/inventory/hosts.yaml").write_text(json.dumps(inventory))
        key = runner.root / "runner/env/ssh_key"
        key.write_bytes((machine.folder.directory.parent / KEY).read_bytes())
        key.chmod(0o644)
        hand_over(cloud, runner.root / "var/lib/openstack/configs")
        yield found


def hand_over(cloud: Cloud, folder: Path) -> None:
    """Write what the control plane has for machines outside into folders, as a pod that runs Ansible would see it."""
    for name, sources in CONFIGURATION.items():
        place = folder / name
        place.mkdir(parents=True)
        for source in sources:
            cloud.kubectl("wait", "--for=create", source, "--timeout=180s")
            said = json.loads(cloud.kubectl("get", source, "--output=json"))
            for key, value in said["data"].items():
                plain = said["kind"] == "ConfigMap"
                (place / key).write_bytes(value.encode() if plain else base64.b64decode(value))


@pytest.fixture(scope="module")
def computing(node: Node) -> Node:
    """The machine as a compute node."""
    for name in MADE:
        node.play(name)
    return node


@pytest.fixture(scope="module")
def server(cloud: Cloud, computing: Node) -> dict[str, Any]:
    """A server that was created on the machine, with a network of its own."""
    with container("guest") as guest:
        disk = base64.b64encode((guest.root / "guest/guest.qcow2").read_bytes()).decode()
    cloud.kubectl("exec", "-i", "client", "--", "sh", "-c", "base64 -d > /tmp/guest.qcow2", given=disk)
    cloud.kubectl("exec", "-i", "client", "--", "sh", "-c", "cat > /tmp/user-data", given=USER_DATA)
    cloud.openstack("image", "create", "--disk-format", "qcow2", "--file", "/tmp/guest.qcow2", "guest")
    cloud.openstack("flavor", "create", "--vcpus", "1", "--ram", "256", "--disk", "1", "tiny")
    cloud.openstack("network", "create", "inside")
    cloud.openstack("subnet", "create", "--network", "inside", "--subnet-range", "10.1.0.0/24", "inside")
    cloud.openstack("keypair", "create", "--private-key", "/tmp/key", "mine")
    words = ("--image", "guest", "--flavor", "tiny", "--network", "inside", "--key-name", "mine")
    made = cloud.openstack("server", "create", *words, "--user-data", "/tmp/user-data", "first")
    eventually(lambda: show(cloud)["status"] in {"ACTIVE", "ERROR"}, lambda: str(show(cloud)), 300)
    assert show(cloud)["status"] == "ACTIVE", show(cloud)
    assert made["id"]
    return show(cloud)


def show(cloud: Cloud) -> dict[str, Any]:
    found: dict[str, Any] = cloud.openstack("server", "show", "first")
    return found


def console(cloud: Cloud) -> str:
    return cloud.kubectl("exec", "client", "--", "openstack", "console", "log", "show", "first")


def guests(node: Node) -> str:
    """Return the processes that are servers."""
    return node.run("pidof qemu-system-x86_64 || true").strip()


def test_a_machine_is_a_compute_of_nova_and_a_chassis_of_ovn(cloud: Cloud, computing: Node) -> None:
    def states() -> dict[str, str]:
        listed = cloud.openstack("compute", "service", "list", "--service", "nova-compute")
        return {entry["Host"]: entry["State"] for entry in listed}

    eventually(lambda: states().get(HOST) == "up", lambda: str(states()))
    wanted = {("OVN Controller agent", HOST): True, ("OVN Metadata agent", HOST): True}
    eventually(lambda: wanted.items() <= servers.agents(cloud).items(), lambda: str(servers.agents(cloud)))
    # Nova would find it by itself, within five minutes.
    cloud.kubectl("exec", "nova-cell0-conductor-0", "--", "nova-manage", "cell_v2", "discover_hosts")


def test_the_second_time_nothing_changes_and_nothing_restarts(computing: Node) -> None:
    before = computing.starts()
    for name in MADE:
        assert re.search(r"changed=0 .*failed=0", output := computing.play(name)), output
    assert computing.starts() == before


def test_a_server_boots_and_knows_who_it_is(cloud: Cloud, server: dict[str, Any]) -> None:
    assert server["OS-EXT-SRV-ATTR:host"] == HOST
    address = server["addresses"]["inside"][0]
    eventually(lambda: "guest: ready" in console(cloud), lambda: console(cloud), 300)
    said = console(cloud)
    assert f"guest: address {address}/24" in said
    assert "guest: metadata says hostname first" in said
    assert f"guest: user data: {USER_DATA}" in said


def test_servers_outlive_libvirt_and_nova_compute(cloud: Cloud, computing: Node, server: dict[str, Any]) -> None:
    before = guests(computing)
    assert before
    computing.run("systemctl restart libvirtd.service nova_compute.service")
    eventually(lambda: "running" in computing.run("podman exec libvirtd virsh list"), "libvirt knows the server again")
    assert guests(computing) == before
    # nova-compute compares what it knows with what runs; what it does not find, it would stop.
    eventually(lambda: "'state': 'up'" in str(computes(cloud)), "nova-compute is back")
    assert show(cloud)["status"] == "ACTIVE"


def computes(cloud: Cloud) -> list[dict[str, str]]:
    listed = cloud.openstack("compute", "service", "list", "--service", "nova-compute")
    return [{key.lower(): value for key, value in entry.items()} for entry in listed]


def test_a_machine_with_servers_is_not_removed_and_one_without_is(
    cloud: Cloud, computing: Node, server: dict[str, Any]
) -> None:
    wanted = {"edpm_cleanup_services": ["nova", "libvirt", "neutron_metadata", "ovn"]}
    extra = f"-e '{json.dumps(wanted)}'"
    assert "This machine has directories of servers" in computing.play("cleanup", extra, code=2)
    cloud.kubectl("exec", "client", "--", "openstack", "server", "delete", "--wait", "first")
    computing.play("cleanup", extra)
    files = "/etc/containers/systemd/*.container /var/lib/nova /var/lib/libvirt /var/lib/openvswitch"
    left = computing.run(f"podman ps --all --quiet; ls -d {files} 2>/dev/null || true")
    assert left.split() == []
    chassis = cloud.kubectl(
        "exec", "ovsdbserver-sb-0", "--", "ovn-sbctl", "--no-leader-only", "--db=tcp:127.0.0.1:6642", "show"
    )
    assert HOST not in chassis


def test_the_configuration_for_machines_names_nothing_of_the_cluster(node: Node) -> None:
    folder = node.runner.root / "var/lib/openstack/configs"
    remote = yaml.safe_load((folder / "ovn/ovsdb-config").read_text())["ovn-remote"]
    texts = [path.read_text() for path in folder.glob("*/*") if path.is_file()]
    assert remote.startswith("tcp:")
    assert not any(".svc" in text for text in texts)


def test_the_same_services_can_be_those_of_a_role(cloud: Cloud, node: Node) -> None:
    """The machine was cleaned up: now the operators make it a compute, with services that name the cloud's Secrets."""
    # Who cleans up by hand deletes what Nova knows of it, too: otherwise nova-compute takes its identity for lost.
    for compute in cloud.openstack("compute", "service", "list", "--service", "nova-compute", "--host", HOST):
        cloud.kubectl("exec", "client", "--", "openstack", "compute", "service", "delete", compute["ID"])
    images = building.catalogue().images
    variables = {
        "edpm_ovn_config_src": "/var/lib/openstack/configs/neutron-metadata",
        "edpm_ovn_controller_agent_image": images["ovn"].reference,
        **dict.fromkeys(COMPUTE_IMAGES, images["compute"].reference),
    }
    source = {"configMapRef": {"name": "ovncontroller-config", "optional": False}}
    specs: dict[tuple[str, str], dict[str, Any]] = {
        ("OpenStackDataPlaneService", "nova"): {
            "playbook": "stackwright.edpm.nova",
            "secrets": ["nova-cell1-compute-config", "nova-cell1-migration-ssh-key"],
        },
        ("OpenStackDataPlaneService", "neutron-metadata"): {
            "playbook": "stackwright.edpm.neutron_metadata",
            "secrets": ["neutron-ovn-metadata-agent-neutron-config", "nova-metadata-compute-config"],
            "dataSources": [source],
        },
        ("OpenStackDataPlaneRole", "generic"): {
            "services": ["run-os", "neutron-metadata", "nova"],
            "nodeTemplate": {"ansibleVars": variables},
        },
    }
    for (kind, name), spec in specs.items():
        body = {"apiVersion": "dataplane.openstack.org/v1beta1", "kind": kind, "metadata": {"name": name}}
        cloud.kubectl.apply(body | {"spec": spec})
    # The machine is there: this writes its entry.
    words = ("local", "node", "add", HOST, "-o", "yaml", "--role", "generic", "--cluster", NAME)
    command = [sys.executable, "-m", "stackwright.cli", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    cloud.kubectl("apply", "--filename=-", given=done.stdout)

    def told() -> list[tuple[str, str, str]]:
        conditions = json.loads(cloud.kubectl("get", "osdpnode", HOST, "--output=json")).get("status", {})
        return [(each["type"], each["status"], each["message"]) for each in conditions.get("conditions", ())]

    # The machine is prepared by Ansible from the beginning.
    eventually(lambda: ("Ready", "True") in {each[:2] for each in told()}, lambda: str(told()), 900)
    assert not cloud.kubectl("get", "novaexternalcompute,ovnmetadataagent", "--output=name").strip()
    running = set(node.run("podman ps --format '{{.Names}}'").split())
    assert set(SERVICES) <= running

    def is_up() -> bool:
        computes = cloud.openstack("compute", "service", "list", "--service", "nova-compute", "--host", HOST)
        agent = servers.agents(cloud).get(("OVN Metadata agent", HOST))
        return [compute["State"] for compute in computes] == ["up"] and agent is True

    eventually(is_up, lambda: f"{HOST} is up: {cloud.openstack('compute', 'service', 'list')}")

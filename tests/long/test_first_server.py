"""What `make up` ends with: a server on a machine outside of the cluster that answers, and is used in every way."""

import json
import re
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from stackwright.local import binaries, programs
from stackwright.local.cluster.lifecycle import Cluster
from stackwright.local.first_server import ping
from stackwright.local.machine import lifecycle
from stackwright.local.machine.lifecycle import Machine
from tests.checkout import ROOT
from tests.documentation import blocks
from tests.e2e import leaking, readers
from tests.e2e.cloud import NAMESPACE, client_pod
from tests.e2e.clusters import NAME, Kubectl
from tests.e2e.waiting import eventually
from tests.long import consoles, machines

PAGES = blocks.run_in(__file__)
MACHINES = ("compute-0", "compute-1")
THIRD = "compute-2"
# The programs of a compute.
PROGRAMS = ("ovsdb_server", "ovs_vswitchd", "ovn_controller", "ovn_metadata_agent", "libvirtd", "nova_compute")
PUBLIC = {"service": {"public": {"spec": {"type": "NodePort"}}}}
BUS = {"cluster": "rabbitmq", "user": "nova-cell2", "vhost": "cell2"}
CELL2 = {
    "spec": {
        "nova": {
            "cellOverride": {"cell2": {"noVNCProxy": PUBLIC}},
            "template": {
                "cellTemplates": {
                    "cell2": {
                        "cellDatabaseInstance": "openstack",
                        "cellDatabaseAccount": "nova-cell2",
                        "messagingBus": BUS,
                    }
                }
            },
        }
    }
}
ROLE2: dict[str, Any] = {
    "apiVersion": "dataplane.openstack.org/v1beta1",
    "kind": "OpenStackDataPlaneRole",
    "metadata": {"name": "edpm-cell2", "annotations": {"nova.openstack.org/cell": "nova-cell2"}},
    "spec": {"nodeTemplate": {"ansibleUser": "cloud-admin"}},
}
# What fits into a network of OVN over a network of 1500 bytes, without the headers of a ping.
LARGEST = 1442 - 28


@dataclass(frozen=True)
class First:
    """The cloud with its first server, and what `stackwright up` said of them."""

    said: str
    kubectl: Kubectl

    @property
    def address(self) -> str:
        """Its floating IP."""
        return str(re.findall(r"; (\S+) answers a ping", self.said)[0])

    @property
    def console(self) -> str:
        """The URL of its console."""
        return str(re.findall(r"^Console: +(\S+)$", self.said, re.MULTILINE)[0])

    def log_in(self, command: str) -> str:
        """Run a command on the server, as the printed line logs in."""
        words = re.findall(r"^Log in: +(.*)$", self.said, re.MULTILINE)[0].split()
        options = ("-o", "UserKnownHostsFile=/dev/null", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20")
        done = subprocess.run([*words, *options, command], capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def openstack(self, *arguments: str) -> Any:
        """Run the real client in its pod; return what it answered."""
        printed = self.kubectl("exec", "client", "--", "openstack", *arguments, "--format", "json")
        return json.loads(printed) if printed.strip() else None


def up() -> str:
    command = [sys.executable, "-m", "stackwright.cli", "up", "--yes", "--name", NAME]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def first(cluster: Cluster) -> First:
    found = binaries.ensure(programs.ALL)
    kubectl = Kubectl(found["kubectl"], cluster.layout.kubeconfig, NAMESPACE)
    said = up()
    kubectl.apply(client_pod(kubectl.get("deployment/keystone", "{.spec.template.spec.containers[0].image}")))
    kubectl.wait("pod/client", "condition=Ready")
    return First(said, kubectl)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs_as_it_reads(
    cluster: Cluster, first: First, tmp_path_factory: pytest.TempPathFactory, page: str
) -> None:
    environment = tmp_path_factory.getbasetemp() / "venv"
    if not environment.exists():
        assert readers.begin_environment(environment).wait(300) == 0
    readers.reader_of(cluster, environment, tmp_path_factory.mktemp("page")).follow(PAGES[page])


def test_it_answers_at_its_floating_ip(first: First) -> None:
    assert ping.answers(first.address, 30)
    with urllib.request.urlopen(f"http://{first.address}/", timeout=30) as page:
        # Nova's metadata service knows servers by such names.
        assert page.read().decode().strip() == "first.novalocal"


def test_it_lets_its_key_in(first: First) -> None:
    assert first.log_in("hostname").strip() == "first.novalocal"


def test_its_console_is_a_page_and_the_socket_behind_it_speaks(first: First) -> None:
    with urllib.request.urlopen(first.console, timeout=30) as page:  # noqa: S310  our own cloud
        assert b"noVNC" in page.read()
    assert consoles.read_frame(first.console).startswith(b"RFB 003.")


def machine_of(name: str) -> Machine:
    (found,) = (each for each in lifecycle.find(NAME) if each.settings.name == name)
    return found


def create_on(first: First, machine: str, name: str) -> str:
    """Create a server on a machine, wait until the first one fetches its page, and return its address."""
    words = ("--image", "tiny", "--flavor", "tiny", "--network", "inside", "--security-group", "open")
    first.openstack("server", "create", *words, "--host", machine, "--os-compute-api-version", "2.74", name)

    def status() -> Any:
        return first.openstack("server", "show", name)["status"]

    eventually(lambda: status() in {"ACTIVE", "ERROR"}, f"the server {name} is there", 180.0)
    shown = first.openstack("server", "show", name)
    assert (shown["status"], shown["OS-EXT-SRV-ATTR:host"]) == ("ACTIVE", machine), shown
    (address,) = shown["addresses"]["inside"]

    def fetched() -> bool:
        try:
            return first.log_in(f"wget -q -T 5 -O - http://{address}/").strip() == f"{name}.novalocal"
        except AssertionError:
            return False

    eventually(fetched, f"the page of the server {name}", 120.0)
    return str(address)


def test_servers_on_two_machines_reach_each_other(first: First) -> None:
    (other,) = set(MACHINES) - {host_of(first)}
    address = create_on(first, other, "second")
    assert "3 packets received" in first.log_in(f"ping -c 3 -s {LARGEST} {address}")


def test_a_tap_that_goes_down_comes_up_again(first: First) -> None:
    """Open vSwitch itself, where the kernel has none, takes taps down that libvirt has just brought up."""
    machine = machine_of(host_of(first))
    taps = "ip -oneline link show type tun | sed -n 's/^[0-9]*: \\(tap[^:]*\\):.*/\\1/p'"
    printed = machines.ssh(machine, f"for tap in $({taps}); do sudo ip link set $tap down && echo $tap; done")
    assert printed.startswith("tap")
    eventually(lambda: ping.answers(first.address, 2), "the floating IP answers again", 30.0)


def test_a_second_cell_has_a_machine_of_its_own(first: First) -> None:
    first.kubectl("patch", "openstackcontrolplane/openstack", "--type=merge", f"--patch={json.dumps(CELL2)}")
    command = [sys.executable, "-m", "stackwright.cli", "local", "node", "add", THIRD, "--cluster", NAME]
    added = subprocess.run(
        [*command, "-o", "yaml", "--role", ROLE2["metadata"]["name"]], stdout=subprocess.PIPE, check=True
    )
    first.kubectl.apply(ROLE2)
    first.kubectl("apply", "--filename=-", given=added.stdout.decode())

    def up() -> bool:
        listed = first.openstack("compute", "service", "list", "--service", "nova-compute")
        return (THIRD, "up") in {(entry["Host"], entry["State"]) for entry in listed}

    # All of a compute is installed on a third machine while servers run on the two others.
    eventually(up, lambda: first.kubectl("get", "osdpnode,novacell,novaexternalcompute,ovnmetadataagent"), 1200.0)
    for one in (f"novaexternalcompute/{THIRD}", f"ovnmetadataagent/{THIRD}"):
        eventually(partial(is_ready, first, one), f"{one} is Ready", 600.0)
    # The address and what the page says are from the metadata service of its own cell's machine.
    create_on(first, THIRD, "third")
    listed = first.kubectl("exec", "nova-cell0-conductor-0", "--", "nova-manage", "cell_v2", "list_hosts")
    assert re.search(rf"cell2 .*{THIRD} ", listed), listed


def test_a_switch_that_is_restarted_tunnels_again(first: First) -> None:
    label = "--selector=app.kubernetes.io/component=ovs,app.kubernetes.io/instance=ovncontroller"
    first.kubectl("delete", "pod", "--grace-period=0", "--force", label)
    eventually(lambda: ping.answers(first.address, 2), "the floating IP answers again", 120.0)


def is_ready(first: First, one: str) -> bool:
    return first.kubectl.get(one, "{.status.conditions[?(@.type=='Ready')].status}") == "True"


def servers_of(first: First) -> dict[str, str]:
    return {server["ID"]: server["Name"] for server in first.openstack("server", "list")}


def host_of(first: First) -> str:
    return str(first.openstack("server", "show", "first")["OS-EXT-SRV-ATTR:host"])


def boot_of(first: First) -> str:
    """Return what tells one boot of the server from another."""
    return first.log_in("cat /proc/sys/kernel/random/boot_id").strip()


def lets_in(first: First) -> bool:
    try:
        return bool(boot_of(first))
    except AssertionError:
        return False


def settle(first: First, status: str, where: str) -> None:
    def shown() -> tuple[Any, Any, Any]:
        server = first.openstack("server", "show", "first")
        return server["status"], server["OS-EXT-SRV-ATTR:host"], server["OS-EXT-STS:task_state"]

    eventually(lambda: shown()[0] == "ERROR" or shown() == (status, where, None), f"{status} on {where}", 240.0)
    assert shown() == (status, where, None)


def test_a_server_moves_while_it_runs(first: First) -> None:
    before, boot = host_of(first), boot_of(first)
    (other,) = set(MACHINES) - {before}
    words = ("server", "migrate", "--live-migration", "--host", other, "--os-compute-api-version", "2.79", "first")
    first.kubectl("exec", "client", "--", "openstack", *words)
    settle(first, "ACTIVE", other)
    assert ping.answers(first.address, 60)
    assert boot_of(first) == boot


def test_a_server_moves_by_a_copy_of_its_disk(first: First) -> None:
    before, boot = host_of(first), boot_of(first)
    (other,) = set(MACHINES) - {before}
    words = ("server", "migrate", "--host", other, "--os-compute-api-version", "2.79", "first")
    first.kubectl("exec", "client", "--", "openstack", *words)
    settle(first, "VERIFY_RESIZE", other)
    first.kubectl("exec", "client", "--", "openstack", "server", "migration", "confirm", "first")
    settle(first, "ACTIVE", other)
    eventually(lambda: ping.answers(first.address, 2), "the floating IP answers on the other machine", 120.0)
    # It answers to pings before it lets anybody in.
    eventually(partial(lets_in, first), "the server lets its key in again", 60.0)
    assert boot_of(first) != boot


def test_a_second_call_tells_of_it_and_creates_nothing(first: First) -> None:
    before = servers_of(first)
    said = up()
    assert f"Server:   first; {first.address} answers a ping" in said
    assert servers_of(first) == before


def starts_of(name: str) -> dict[str, str]:
    """Return when each program of a machine was started."""
    asked = "systemctl show --property=ExecMainStartTimestampMonotonic --value"
    printed = machines.ssh(machine_of(name), f"for one in {' '.join(PROGRAMS)}; do {asked} $one.service; done")
    return dict(zip(PROGRAMS, printed.split(), strict=True))


def test_a_change_of_one_compute_restarts_its_program_alone(first: First) -> None:
    where = host_of(first)
    before = {name: starts_of(name) for name in MACHINES}
    guests = machines.ssh(machine_of(where), "pidof qemu-system-x86_64")
    change = {"spec": {"customServiceConfig": "[DEFAULT]\nreserved_host_memory_mb = 300\n"}}
    one = f"novaexternalcompute/{where}"
    first.kubectl("patch", one, "--type=merge", f"--patch={json.dumps(change)}")
    eventually(
        lambda: starts_of(where)["nova_compute"] != before[where]["nova_compute"],
        lambda: first.kubectl("get", "novaexternalcompute,osaee"),
        300.0,
    )
    eventually(partial(is_ready, first, one), f"{one} is Ready", 300.0)
    after = {name: starts_of(name) for name in MACHINES}
    changed = {
        (name, program) for name in MACHINES for program in PROGRAMS if after[name][program] != before[name][program]
    }
    assert changed == {(where, "nova_compute")}
    # The process that is the server has lived on.
    assert machines.ssh(machine_of(where), "pidof qemu-system-x86_64") == guests
    assert ping.answers(first.address, 30)


def test_machines_and_what_runs_on_them_tell_no_secret(first: First) -> None:
    texts = leaking.places(first.kubectl)
    for name in (*MACHINES, THIRD):
        texts[f"the journal of {name}"] = machines.ssh(machine_of(name), "sudo journalctl --no-pager")
        texts[f"the inspected containers of {name}"] = machines.ssh(
            machine_of(name), "sudo podman inspect $(sudo podman ps --quiet)"
        )
    assert all(texts[f"the journal of {name}"] for name in MACHINES)
    assert list(leaking.leaks(leaking.values(first.kubectl), texts)) == []


def test_a_node_goes_when_its_last_server_has_gone(first: First) -> None:
    first.kubectl("delete", "osdpnode", THIRD, "--wait=false")
    said = f"{{.items[?(@.metadata.name=='{THIRD}')].status.conditions[*].message}}"
    eventually(
        lambda: "still on the machine: third" in first.kubectl.get("novaexternalcompute,osdpnode", said),
        lambda: first.kubectl.get("novaexternalcompute,osdpnode", said),
        180.0,
    )
    # Nothing was stopped, and the server runs.
    assert (
        machines.ssh(machine_of(THIRD), "systemctl is-active nova_compute libvirtd ovn_controller").split()
        == ["active"] * 3
    )
    assert first.openstack("server", "show", "third")["status"] == "ACTIVE"
    first.kubectl("exec", "client", "--", "openstack", "server", "delete", "--wait", "third")

    def left() -> list[str]:
        services = first.openstack("compute", "service", "list")
        agents = first.openstack("network", "agent", "list")
        known = first.openstack("hypervisor", "list")
        chassis = first.kubectl(
            "exec", "ovsdbserver-sb-0", "--", "ovn-sbctl", "--no-leader-only", "--db=tcp:127.0.0.1:6642", "show"
        )
        listed = {
            "Nova's services": any(entry["Host"] == THIRD for entry in services),
            "Neutron's agents": any(entry["Host"] == THIRD for entry in agents),
            "the hypervisors": any(entry["Hypervisor Hostname"] == THIRD for entry in known),
            "the chassis": THIRD in chassis,
            "the nodes": f"/{THIRD}\n" in first.kubectl("get", "osdpnode", "--output=name"),
        }
        return [place for place, there in listed.items() if there]

    eventually(lambda: not left(), lambda: f"{THIRD} is left in {left()}", 600.0)
    assert machines.ssh(machine_of(THIRD), "sudo podman ps --quiet").split() == []

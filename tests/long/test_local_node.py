"""A machine beside the cluster: it is a machine of its own, reaches the cluster, and goes without a trace."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackwright.local import process
from stackwright.local.cluster import layout, neighbours, network
from stackwright.local.cluster.lifecycle import Cluster
from stackwright.local.errors import ClusterFailed
from stackwright.local.machine import lifecycle
from stackwright.local.machine.lifecycle import Machine
from stackwright.local.progress import Shown
from tests.e2e import workloads
from tests.e2e.clusters import Kubectl, bring_up, take_down
from tests.e2e.waiting import eventually
from tests.e2e.workloads import answered, load_balanced
from tests.long.machines import ssh
from tests.long.traces import OTHER as ALONE
from tests.long.traces import traces

COMMAND = [sys.executable, "-c", "from stackwright.cli.main import main; main()", "local", "node"]


@pytest.fixture
def alone() -> Iterator[str]:
    """The name of a cluster that was never started, so that its machines are all there is of it."""
    take_down(ALONE)
    yield ALONE
    take_down(ALONE)


def add(cluster: str, name: str) -> Machine:
    with Shown() as progress:
        return lifecycle.add(cluster, name, progress=progress, ask=lambda _: True)


def remove(cluster: str, name: str) -> bool:
    with Shown() as progress:
        return lifecycle.remove(cluster, name, progress=progress)


def hardware_addresses(machine: Machine, address: str) -> set[str]:
    """Return what the machine believes to be the hardware address of a neighbour."""
    ssh(machine, f"sudo ping -c 1 -W 5 {address}")
    return set(re.findall(r"lladdr (\S+)", ssh(machine, f"ip neighbour show {address}")))


def test_a_machine_is_one_of_its_own_and_goes_without_a_trace(alone: str) -> None:
    before = traces()
    sysctl = Path("/proc/sys/kernel/printk").read_text()
    first, second = add(alone, "one"), add(alone, "two")
    assert ssh(first, "hostname") == "one\n"
    assert ssh(first, "sudo systemctl is-system-running --wait") == "running\n"
    assert ssh(first, "ps -p 1 -o comm=") == "systemd\n"
    assert 'PRETTY_NAME="Debian GNU/Linux 13' in ssh(first, "cat /etc/os-release")
    ssh(first, f"sudo ping -c 1 -W 2 {second.settings.address}")
    assert ssh(first, "cat /etc/machine-id") != ssh(second, "cat /etc/machine-id")
    # Of this machine it changes nothing: neither the kernel's settings, nor its clock, nor its modules.
    for forbidden in ("sysctl -w kernel.printk=1", "date -s 2001-01-01", "touch /sys/kernel/x"):
        assert ssh(first, f"sudo {forbidden} 2>/dev/null || echo refused").endswith("refused\n")
    assert Path("/proc/sys/kernel/printk").read_text() == sysctl
    assert add(alone, "one").first == first.first
    assert remove(alone, "one")
    assert not remove(alone, "one")
    assert ssh(second, "hostname") == "two\n"
    assert remove(alone, "two")
    assert traces() == before


def test_an_add_that_was_killed_is_healed_by_the_next(alone: str) -> None:
    before = traces()
    place = layout.of(alone)
    machine = neighbours.Neighbour(place.machines / "one")
    points = (
        (machine.root.with_name("root.new") / "usr").exists,
        machine.settings.exists,
        machine.state.exists,
        lambda: network.has_link(machine.cable),
    )
    for reached in points:
        with subprocess.Popen([*COMMAND, "add", "one", "--cluster", alone], stderr=subprocess.DEVNULL) as program:
            deadline = time.monotonic() + 60
            while not reached() and time.monotonic() < deadline:
                time.sleep(0.001)
            program.kill()
        healed = add(alone, "one")
        assert ssh(healed, "hostname") == "one\n"
        assert remove(alone, "one")
        assert traces() == before


def test_a_machine_that_lost_its_power_comes_back_with_its_disk(alone: str) -> None:
    machine = add(alone, "one")
    ssh(machine, "echo kept > file; sync")
    assert machine.first is not None
    os.kill(machine.first.pid, signal.SIGKILL)
    eventually(lambda: lifecycle.find(alone)[0].first is None, "it is seen to be stopped")
    again = add(alone, "one")
    assert again.new
    assert ssh(again, "cat file") == "kept\n"
    assert again.settings.address == machine.settings.address


def test_a_machine_reaches_the_cluster_and_pods_reach_it(cluster: Cluster, kubectl: Kubectl) -> None:
    kubectl.apply(*workloads.web("beside", replicas=1, reached_by="LoadBalancer"))
    address = load_balanced(kubectl, "beside")
    eventually(lambda: answered(address).startswith("beside-"), "its address answers")
    name = cluster.settings.name
    try:
        machine = add(name, "one")
        # The host reaches pods and Services as before, though its address is on another link now.
        assert answered(address).startswith("beside-")
        kubectl("get", "nodes")
        fetch = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())"
        assert ssh(machine, f"python3 -c '{fetch}' http://{address}/").startswith("beside-")
        pod = kubectl("get", "pods", "-l", "app=beside", "-o", "name").split()[0]
        said = kubectl.inside(pod, "sh", "-c", f"wget -q -O - http://{machine.settings.address}:22/ 2>&1 || true")
        assert "refused" not in said
        assert "timed out" not in said
        before = hardware_addresses(machine, cluster.settings.address)
        # A cluster that starts anew finds the machine where it was.
        state = cluster.layout.read_state()
        assert state is not None
        os.kill(state.first.pid, signal.SIGKILL)
        assert process.wait_gone(state.first.pid, 30)
        bring_up(name)
        eventually(lambda: answered(address).startswith("beside-"), "its address answers again")
        # The node's cable is another one now, and has the hardware address that the machine remembers.
        assert hardware_addresses(machine, cluster.settings.address) == before
        assert ssh(machine, f"python3 -c '{fetch}' http://{address}/").startswith("beside-")
    finally:
        remove(name, "one")
    assert not network.has_link(cluster.settings.bridge)
    assert answered(address).startswith("beside-")
    kubectl("get", "nodes")


def test_a_cluster_that_goes_takes_its_machines_along(alone: str) -> None:
    before = traces()
    add(alone, "one")
    take_down(alone)
    assert lifecycle.find(alone) == []
    assert traces() == before


def test_names_that_cannot_be_are_refused(alone: str) -> None:

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([*COMMAND, *words, "--cluster", alone], capture_output=True, text=True, check=False)

    done = run("add", "No_Name")
    assert done.returncode == 1
    assert 'A node cannot be called "No_Name"' in done.stderr
    done = run("remove", "nobody")
    assert done.returncode == 2
    assert 'there is no node "nobody"' in done.stderr
    with pytest.raises(ClusterFailed, match="cluster cannot be called"):
        add("No_Cluster", "one")

"""A cluster goes without a trace, lives beside another, keeps its data when asked to, and says what is wrong."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from stackwright.local.cluster import layout, status
from stackwright.local.cluster.lifecycle import Cluster
from tests.e2e import workloads
from tests.e2e.clusters import NAME, Kubectl, bring_up, take_down
from tests.e2e.waiting import eventually
from tests.e2e.workloads import answered, load_balanced
from tests.long.programs import killed
from tests.long.traces import OTHER, traces


@pytest.fixture
def other() -> Iterator[str]:
    """The name of a further cluster, of which nothing is there before and after."""
    take_down(OTHER)
    yield OTHER
    take_down(OTHER)


def of(cluster: Cluster, kubectl: Kubectl) -> Kubectl:
    return Kubectl(kubectl.program, cluster.layout.kubeconfig)


def test_two_live_side_by_side_and_one_goes_without_a_trace(cluster: Cluster, kubectl: Kubectl, other: str) -> None:
    before = traces()
    second = bring_up(other)
    assert not [own for own in second.settings.network.ranges if own in cluster.settings.network.ranges]
    of(second, kubectl).apply(*workloads.web("web", replicas=1), workloads.claim("data"))
    of(second, kubectl).wait("deployment/web", "condition=Available")
    during = traces()
    assert during["firewall"] == before["firewall"]
    assert during["mounts"] == before["mounts"]
    assert during["folders"] == before["folders"]
    take_down(other)
    assert traces() == before
    assert status.read(NAME).ready


def test_data_is_kept_when_asked_for(kubectl: Kubectl, other: str) -> None:
    first = bring_up(other)
    inside = of(first, kubectl)
    inside.apply(workloads.claim("data"), workloads.with_claim("writer", "data"))
    inside.apply(*workloads.web("shared", replicas=1, reached_by="LoadBalancer"))
    address = load_balanced(inside, "shared")
    inside.wait("pod/writer", "condition=Ready")
    inside("exec", "writer", "--", "sh", "-c", "echo kept > /data/file")
    take_down(other, keep_data=True)
    found = status.read(other)
    assert not found.running
    assert status.lines(found) == [f"The cluster {other} is not running; its data is in {first.layout.directory}."]
    again = bring_up(other)
    assert again.settings.network == first.settings.network
    inside.wait("pod/writer", "condition=Ready")
    assert inside.inside("writer", "cat", "/data/file") == "kept\n"
    assert load_balanced(inside, "shared") == address
    eventually(lambda: answered(address).startswith("shared-"), "its address answers again")


def test_up_goes_on_where_one_that_was_killed_stopped(other: str) -> None:
    program = "from stackwright.cli.main import main; main()"
    command = [sys.executable, "-c", program, "local", "up", "--name", other]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as killed_one:
        eventually(layout.of(other).state.exists, "the first process is there")
        killed_one.kill()
    bring_up(other)
    assert status.read(other).ready


def test_a_port_that_is_taken_is_told_and_healed(cluster: Cluster) -> None:
    first = status.read(NAME).programs[0].pid
    # It tries until the scheduler has gone, and so has the port before the scheduler is back.
    taking = """
import socket, sys, time
while True:
    try:
        taken = socket.create_server(("127.0.0.1", 10259))
    except OSError:
        time.sleep(0.001)
    else:
        print("taken", flush=True)
        sys.stdin.read()
        break
"""
    taker = subprocess.Popen(
        ["nsenter", "--net", "--target", str(first), sys.executable, "-c", taking],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with taker:
        assert taker.stdout is not None
        killed(("kube-scheduler",))
        assert taker.stdout.readline() == "taken\n"
        eventually(lambda: "address already in use" in _trouble("kube-scheduler"), "the port is told")
    eventually(lambda: status.read(NAME).ready, "the scheduler is back")


def _trouble(name: str) -> str:
    return next(program.trouble for program in status.read(NAME).programs if program.name == name)


def test_a_full_disk_is_told_and_healed(kubectl: Kubectl, other: str) -> None:
    data = layout.of(other).etcd
    data.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300m", "tmpfs", str(data)], check=True)
    try:
        full = bring_up(other)
        inside = of(full, kubectl)
        filler = data / "filler"
        subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=1M"], check=False, capture_output=True)
        pid = next(program.pid for program in status.read(other).programs if program.name == "etcd")
        os.kill(pid, signal.SIGKILL)

        def told() -> bool:
            etcd = next(program for program in status.read(other).programs if program.name == "etcd")
            return "no space left on device" in etcd.trouble

        eventually(told, "the full disk is told")
        filler.unlink()
        eventually(lambda: status.read(other).ready, "etcd is back")
        inside("create", "configmap", "after")
    finally:
        if status.read(other).running:
            os.kill(status.read(other).programs[0].pid, signal.SIGKILL)
        subprocess.run(["umount", "--lazy", str(data)], check=True)

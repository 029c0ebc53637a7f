"""The local cluster survives: each of its processes is killed, all at once, and the node as a whole."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from stackwright.local.cluster import images, processes, status
from stackwright.local.cluster.lifecycle import Cluster
from stackwright.local.process import wait_gone
from tests.e2e import workloads
from tests.e2e.clusters import NAME, Kubectl, bring_up
from tests.e2e.waiting import eventually
from tests.e2e.workloads import fetched
from tests.long.programs import ALL, killed, pids


def back(victims: dict[str, int]) -> bool:
    found = status.read(NAME)
    return found.ready and not set(pids(found).values()) & set(victims.values())


def works(kubectl: Kubectl, name: str) -> None:
    """Have a new Deployment made, its pods run, its Service answer by name."""
    kubectl.apply(*workloads.web(name, replicas=1))
    kubectl.wait(f"deployment/{name}", "condition=Available")
    kubectl.inside(f"deploy/{name}", "wget", "-qO-", f"http://{name}/")


@pytest.mark.parametrize("name", ALL)
def test_a_program_that_is_killed_comes_back(cluster: Cluster, kubectl: Kubectl, name: str) -> None:
    before = {program.name: program.restarts for program in status.read(NAME).programs}
    victims = killed((name,))
    eventually(lambda: back(victims), f"{name} is back")
    after = {program.name: program for program in status.read(NAME).programs}
    assert after[name].restarts > before[name]
    assert "was killed by SIGKILL" in after[name].trouble
    works(kubectl, "after")


def test_all_programs_that_are_killed_at_once_come_back(cluster: Cluster, kubectl: Kubectl) -> None:
    kubectl.apply(*workloads.web("before"))
    kubectl.wait("deployment/before", "condition=Available")
    victims = killed(ALL)
    eventually(lambda: back(victims), "all programs are back")
    works(kubectl, "after")
    # What ran in pods did not even notice.
    counts = "{.items[?(@.metadata.labels.app=='before')].status.containerStatuses[0].restartCount}"
    assert kubectl.get("pods", counts) == "0 0"


def test_orphans_are_buried(cluster: Cluster) -> None:
    first = status.read(NAME).programs[0].pid
    inner = ("nsenter", "--pid", "--mount", "--target", str(first))
    # The shell ends before its child, which is then the first process' to bury.
    script = "sleep 3 >/dev/null 2>&1 & echo $!"
    printed = subprocess.run([*inner, "sh", "-c", script], capture_output=True, text=True, check=True).stdout
    orphan = Path("/proc") / str(processes.inside(first)[int(printed)])
    assert _status(orphan)["PPid"] == str(processes.inside(first)[1])
    # One that nobody buries stays for good, as a zombie.
    eventually(lambda: not orphan.exists(), "the orphan is buried")


def _status(process: Path) -> dict[str, str]:
    lines = (process / "status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def test_up_repairs_what_was_killed_as_a_whole(cluster: Cluster, kubectl: Kubectl) -> None:
    kubectl.apply(workloads.claim("data"), workloads.with_claim("writer", "data"), *workloads.web("web"))
    kubectl.wait("pod/writer", "condition=Ready")
    kubectl("exec", "writer", "--", "sh", "-c", "echo kept > /data/file")
    kubectl.wait("deployment/web", "condition=Available")
    first = status.read(NAME).programs[0].pid
    os.kill(first, signal.SIGKILL)
    assert wait_gone(first, 30)
    assert not status.read(NAME).running
    again = bring_up(NAME)
    assert again.new
    assert again.settings.network == cluster.settings.network
    kubectl.wait("deployment/web", "condition=Available")
    port = kubectl.get("service/web", "{.spec.ports[0].nodePort}")
    eventually(lambda: _answers(f"http://{again.settings.address}:{port}/"), "the service answers again")
    kubectl.wait("pod/writer", "condition=Ready")
    assert kubectl.inside("writer", "cat", "/data/file") == "kept\n"
    works(kubectl, "after")


def test_up_brings_a_lost_cable_back(cluster: Cluster, kubectl: Kubectl) -> None:
    subprocess.run(["ip", "link", "delete", cluster.settings.link], check=True)
    bring_up(NAME)
    works(kubectl, "after")


def test_up_twice_changes_nothing(cluster: Cluster) -> None:
    before = status.read(NAME)
    began = time.monotonic()
    again = bring_up(NAME)
    assert not again.new
    assert time.monotonic() - began < 30
    assert pids(status.read(NAME)) == pids(before)
    assert images.present(again.first.pid)


def _answers(url: str) -> bool:
    try:
        return bool(fetched(url))
    except OSError:
        return False

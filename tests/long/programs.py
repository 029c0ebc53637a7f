"""The programs of the tests' cluster, and how to kill them."""

import os
import signal

from stackwright.local.cluster import status
from stackwright.local.cluster.status import ClusterStatus
from tests.e2e.clusters import NAME

ALL = (
    "etcd",
    "containerd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kube-proxy",
    "kube-router",
    "volumes",
    "load-balancer",
)


def pids(found: ClusterStatus) -> dict[str, int]:
    """Return the process of each program that runs."""
    return {program.name: program.pid for program in found.programs if program.pid}


def killed(names: tuple[str, ...]) -> dict[str, int]:
    """Kill programs; return which processes they were."""
    victims = {name: pid for name, pid in pids(status.read(NAME)).items() if name in names}
    assert set(victims) == set(names)
    for pid in victims.values():
        os.kill(pid, signal.SIGKILL)
    return victims

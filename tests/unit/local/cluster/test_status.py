"""How a cluster's state reads, when an object counts as ready, and which folders a node would miss."""

from pathlib import Path
from typing import Any

import pytest

from stackwright.kube.builtin import Deployment
from stackwright.kube.resource import ObjectMeta
from stackwright.local.cluster import isolation, status
from stackwright.local.cluster.settling import holds
from stackwright.local.cluster.status import ClusterStatus, ProgramStatus

PROGRAMS = (
    ProgramStatus("etcd", "ready", 12, 41_000_000, 0, "/logs/etcd.log", ""),
    ProgramStatus("kubelet", "ended", 0, 0, 3, "/logs/kubelet.log", "kubelet ended with 1. The end of its log"),
)


def test_each_program_has_its_line_and_trouble_is_told_below() -> None:
    found = ClusterStatus(
        "trial",
        running=True,
        server="https://192.0.2.2:6443",
        kubeconfig="/kubeconfig",
        memory=41_000_000,
        programs=PROGRAMS,
    )
    assert status.lines(found) == [
        "The cluster trial answers at https://192.0.2.2:6443; its kubeconfig is /kubeconfig",
        "PROGRAM  STATE  PID  MEMORY  RESTARTS  LOG",
        "etcd     ready  12   41 MB   0         /logs/etcd.log",
        "kubelet  ended  -    0 MB    3         /logs/kubelet.log",
        "Memory of all: 41 MB",
        "kubelet: kubelet ended with 1. The end of its log",
    ]


@pytest.mark.parametrize(
    ("directory", "line"),
    [
        pytest.param("", "The cluster trial is not running.", id="there-is-none"),
        pytest.param("/data", "The cluster trial is not running; its data is in /data.", id="its-data-waits"),
    ],
)
def test_a_cluster_that_does_not_run_is_one_line(directory: str, line: str) -> None:
    assert status.lines(ClusterStatus("trial", running=False, directory=directory)) == [line]


@pytest.mark.parametrize(
    ("said", "ready"),
    [
        pytest.param({}, False, id="it-says-nothing"),
        pytest.param({"conditions": [{"type": "Available", "status": "False"}]}, False, id="it-says-no"),
        pytest.param({"conditions": [{"type": "Available", "status": "True"}]}, True, id="it-says-yes"),
        pytest.param(
            {"conditions": [{"type": "Available", "status": "True"}], "observedGeneration": 1},
            False,
            id="it-says-yes-to-what-was-before",
        ),
    ],
)
def test_an_object_is_ready_when_it_says_so_of_its_latest_spec(said: dict[str, Any], ready: bool) -> None:
    assert holds(Deployment(metadata=ObjectMeta(name="web", generation=2), status=said), "Available") is ready


def test_folders_that_a_node_would_not_see_are_shown_to_it() -> None:
    folders = [Path(one) for one in ("/var/lib/clusters/trial", "/root/state", "/usr/lib/cni", "/run/venv", "/")]
    assert isolation.hidden(folders) == [Path("/run/venv"), Path("/var/lib/clusters/trial")]

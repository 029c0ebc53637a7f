"""The node is cut off its power with a cloud in it, and starts again: the cloud comes back by itself, with its data.

The node's first process is killed, and the kernel ends every other process of the node with it: kubelet, containers,
etcd and API server, none of which can write or say a last word. What the kernel itself has not written yet is not lost
by that, as it would be on a machine of metal.
"""

import json
import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime

from stackwright.local.cluster import status
from stackwright.local.process import wait_gone
from tests.e2e import kept
from tests.e2e.cloud import NAMESPACE, OPERATORS, Cloud, stackwright
from tests.e2e.clusters import NAME
from tests.e2e.waiting import eventually

PATIENCE = 600.0


def cut_power() -> datetime:
    """End everything that runs on the node at once; return when it had ended."""
    first = status.read(NAME).programs[0].pid
    os.kill(first, signal.SIGKILL)
    assert wait_gone(first, 30)
    assert not status.read(NAME).running
    # Kubernetes tells whole seconds.
    return datetime.now(UTC).replace(microsecond=0)


def waiting_for(cloud: Cloud, since: datetime) -> list[str]:
    """Return the pods that were to run for good, and that are not ready in a life that began since then.

    The former states stand in the API server until the kubelet has looked again.
    """
    found = []
    for namespace in (NAMESPACE, OPERATORS):
        for pod in json.loads(cloud.kubectl("get", "pods", f"--namespace={namespace}", "--output=json"))["items"]:
            if any(owner["kind"] == "Job" for owner in pod["metadata"].get("ownerReferences", ())):
                continue
            containers = pod["status"].get("containerStatuses", ())
            lives = [one["state"].get("running", {}).get("startedAt") for one in containers]
            anew = bool(lives) and all(life and datetime.fromisoformat(life) >= since for life in lives)
            if not anew or not all(one["ready"] for one in containers):
                found.append(pod["metadata"]["name"])
    return found


def test_a_cloud_comes_back_after_a_power_cut(cloud: Cloud, tell: Callable[[str], None]) -> None:
    left, token = kept.leave(cloud), cloud.token()
    cloud.make_project(token, "before-the-cut")
    cut = cut_power()
    # The cluster is started again, and nobody says a word to the cloud.
    stackwright("local", "up")
    started = datetime.now(UTC)
    eventually(lambda: not waiting_for(cloud, cut), lambda: f"{waiting_for(cloud, cut)}", PATIENCE)
    cloud.kubectl("wait", "openstackcontrolplane", "--all", "--for=condition=Ready", "--timeout=300s")
    ended = datetime.now(UTC)
    tell(f"after a power cut: started in {_seconds(started, cut)}, the cloud ready in {_seconds(ended, started)} more")
    assert json.loads(cloud.stackwright("status", "--output", "json"))["state"] == "Ready"

    cloud.reached()
    assert cloud.is_valid(token), "a token from before the cut is still valid"
    assert "before-the-cut" in [entry["Name"] for entry in cloud.openstack("project", "list")]
    for section, made in left.items():
        kept.find(cloud, section, made)
    # The operators work again, too.
    cloud.kubectl("delete", "networkpolicy/keystone")
    cloud.kubectl("wait", "--for=create", "networkpolicy/keystone", "--timeout=60s")


def _seconds(later: datetime, earlier: datetime) -> str:
    return f"{(later - earlier).total_seconds():.0f} s"

"""The operators are taken away: the cloud goes on, and goes when its namespace does."""

import json
import subprocess

import pytest

from tests.e2e.cloud import NAMESPACE, OPERATORS, Cloud
from tests.e2e.clusters import PATIENCE
from tests.e2e.waiting import eventually

GRACE = 700.0
# Seconds in which a namespace goes that has no pods any more.
EMPTY = 120.0


def pods(cloud: Cloud) -> dict[str, tuple[str, int]]:
    """Return the pods that serve: which one it is, and how often its containers were started again.

    What runs by the clock begins and ends without operators, too.
    """
    items = json.loads(cloud.kubectl("get", "pods", "--output=json"))["items"]
    return {
        item["metadata"]["name"]: (
            item["metadata"]["uid"],
            sum(container["restartCount"] for container in item["status"].get("containerStatuses", ())),
        )
        for item in items
        if item["status"]["phase"] == "Running"
        and "deletionTimestamp" not in item["metadata"]
        and "Job" not in {owner["kind"] for owner in item["metadata"].get("ownerReferences", ())}
    }


@pytest.mark.at_the_end(2)
def test_without_operators_the_cloud_goes_on_and_nothing_hangs(cloud: Cloud) -> None:
    old = cloud.token()
    before = pods(cloud)
    command = [str(cloud.helm), "uninstall", "stackwright", "--namespace", OPERATORS, "--wait"]
    environment = {"KUBECONFIG": str(cloud.kubectl.kubeconfig), "HOME": "/tmp", "PATH": ""}
    subprocess.run(command, env=environment, capture_output=True, check=True, timeout=360)
    cloud.kubectl("wait", "--for=delete", "pods", "--all", "--namespace", OPERATORS, f"--timeout={PATIENCE}")
    assert cloud.is_valid(old)
    assert cloud.is_valid(cloud.token())
    assert cloud.openstack("token", "issue")["project_id"]
    assert pods(cloud) == before
    # Resources can be written though nobody answers for the webhooks any more.
    cloud.kubectl("annotate", "keystoneapi/keystone", "example.org/touched=yes")
    # Nobody is there who could let anything go. A pod of Glance has ten minutes to end what it has begun.
    cloud.kubectl("delete", "namespace", NAMESPACE, "--wait=false")
    eventually(lambda: not cloud.kubectl("get", "pods", "--output=name"), lambda: cloud.kubectl("get", "pods"), GRACE)
    # Kubernetes would look again after half of the longest grace of a pod, and looks at once if the namespace changes.
    touched = cloud.kubectl.command("annotate", "namespace", NAMESPACE, "example.org/touched=yes")
    subprocess.run(touched, capture_output=True, check=False, timeout=60)
    eventually(lambda: is_gone(cloud), lambda: cloud.kubectl("get", "namespace", NAMESPACE, "--output=yaml"), EMPTY)


def is_gone(cloud: Cloud) -> bool:
    return f"namespace/{NAMESPACE}" not in cloud.kubectl("get", "namespaces", "--output=name").split()

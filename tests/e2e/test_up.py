"""`stackwright up` on a cloud that is there: it says what to do next, and changes nothing."""

import os
import subprocess
import sys

from tests.e2e import cloud as clouds
from tests.e2e.cloud import Cloud
from tests.e2e.clusters import NAME

# What the command itself waits for, operators and cloud, may take long on a machine under load; it says why it ended.
PATIENCE = 1200.0


def up() -> str:
    """Run the command as a person does; $KUBECONFIG must not matter to it."""
    command = [
        sys.executable,
        "-m",
        "stackwright.cli",
        "up",
        "--yes",
        "--name",
        NAME,
        "--cloud",
        str(clouds.EVERYTHING),
    ]
    environment = {**os.environ, "KUBECONFIG": "/nonexistent/kubeconfig"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def versions(cloud: Cloud) -> str:
    """Return the versions of all objects of the cloud and of the operators."""
    kinds = "openstack,deployments,statefulsets,replicasets,secrets,configmaps"
    path = '{range .items[*]}{.kind} {.metadata.name} {.metadata.resourceVersion}{"\\n"}{end}'
    found = [
        cloud.kubectl("get", kinds, f"--namespace={namespace}", f"--output=jsonpath={path}")
        for namespace in (clouds.NAMESPACE, clouds.OPERATORS)
    ]
    return "".join(found)


def test_a_second_call_changes_nothing(cloud: Cloud) -> None:
    # What other tests asked for and took back may be owned by others than before; after this call it is not.
    cloud.settle()
    said = up()
    assert f"source <(stackwright openrc --name {NAME}); openstack token issue" in said
    assert f"stackwright down --name {NAME}" in said
    assert "spare0 of the node leads to 10." in said or "spare0 of the node leads to 172." in said
    cloud.settle()
    before = versions(cloud)
    up()
    assert versions(cloud) == before

"""All that `stackwright up` does after the cluster is up: images, operators, and a cloud that issues a token."""

import os
import subprocess
import sys

from stackwright.local.cluster.lifecycle import Cluster
from tests.e2e.conftest import NAME, Kubectl


def up() -> str:
    """Run the command as a person does; $KUBECONFIG must not matter to it."""
    command = [sys.executable, "-m", "stackwright.cli", "up", "--yes", "--name", NAME]
    environment = {**os.environ, "KUBECONFIG": "/nonexistent/kubeconfig"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=1500)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def versions(kubectl: Kubectl) -> str:
    kinds = "openstack,deployments,statefulsets,replicasets,secrets,configmaps"
    path = '{range .items[*]}{.kind} {.metadata.name} {.metadata.resourceVersion}{"\\n"}{end}'
    return kubectl("get", kinds, "--all-namespaces", f"--output=jsonpath={path}")


def test_a_cloud_comes_up_and_a_second_call_changes_nothing(cluster: Cluster, kubectl: Kubectl) -> None:
    said = up()
    assert f"source <(stackwright openrc --name {NAME}); openstack token issue" in said
    assert f"stackwright down --name {NAME}" in said
    kubectl("wait", "openstackcontrolplane", "--all", "--namespace=openstack", "--for=condition=Ready", "--timeout=1s")
    # One rollout on a clean install: nothing was started before all that it reads was known.
    owner = "{range .items[*]}{.metadata.ownerReferences[0].name} {end}"
    owners = kubectl("get", "replicasets", "--namespace=openstack", f"--output=jsonpath={owner}").split()
    assert sorted(owners) == ["glance-default-external", "glance-default-internal", "keystone", "placement"]
    before = versions(kubectl)
    up()
    assert versions(kubectl) == before

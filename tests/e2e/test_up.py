"""All that `stackwright up` does after the cluster is up: images, operators, and a cloud that issues a token."""

import os
import subprocess
import sys
from pathlib import Path

import yaml

from stackwright.local.cluster.lifecycle import Cluster
from stackwright.local.operator_chart import NAMESPACE as SYSTEM
from tests.e2e.conftest import NAME, Kubectl

EXAMPLE = Path(__file__).parents[2] / "examples" / "cloud" / "openstack.yaml"


def up(*options: str | Path) -> str:
    """Run the command as a person does; $KUBECONFIG must not matter to it."""
    command = [sys.executable, "-m", "stackwright.cli", "up", "--yes", "--name", NAME, *options]
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


def pods(kubectl: Kubectl) -> str:
    path = '{range .items[*]}{.metadata.name} {.metadata.uid}{"\\n"}{end}'
    return kubectl("get", "pods", "--namespace=openstack", f"--output=jsonpath={path}")


def operators(kubectl: Kubectl) -> list[str]:
    return kubectl("get", "deployments", f"--namespace={SYSTEM}", "--output=name").split()


def test_operators_change_from_one_for_all_to_one_for_each_and_back(
    cluster: Cluster, kubectl: Kubectl, tmp_path: Path
) -> None:
    (plane,) = yaml.safe_load_all(EXAMPLE.read_text(encoding="utf-8"))
    path = tmp_path / "cloud.yaml"
    path.write_text(yaml.safe_dump({**plane, "spec": {**plane["spec"], "operatorMode": "perService"}}))
    up("--cloud", EXAMPLE)
    before = pods(kubectl)
    up("--cloud", path)
    words = ("core", "glance", "keystone", "mariadb", "memcached", "placement")
    assert operators(kubectl) == [f"deployment.apps/stackwright-operator-{word}" for word in words]
    for one in operators(kubectl):
        kubectl("wait", one, f"--namespace={SYSTEM}", "--for=condition=Available", "--timeout=60s")
    # Each of them works: what is taken away comes back.
    policies = [f"networkpolicy/{name}" for name in ("glance", "keystone", "memcached", "openstack", "placement")]
    kubectl("delete", "--namespace=openstack", *policies)
    for policy in policies:
        kubectl("wait", "--for=create", "--namespace=openstack", policy, "--timeout=60s")
    assert pods(kubectl) == before
    up("--cloud", EXAMPLE)
    kubectl("wait", "--for=delete", f"--namespace={SYSTEM}", "deployment/stackwright-operator-core", "--timeout=60s")
    assert operators(kubectl) == ["deployment.apps/stackwright-operator"]
    assert pods(kubectl) == before

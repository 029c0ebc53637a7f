"""The cloud of this run."""

from collections.abc import Iterator

import pytest

from stackwright.local import binaries, programs
from stackwright.local.cluster.lifecycle import Cluster
from tests.e2e import cloud as clouds
from tests.e2e.cloud import NAMESPACE, Cloud
from tests.e2e.conftest import Kubectl


@pytest.fixture(scope="package")
def cloud(cluster: Cluster) -> Iterator[Cloud]:
    """The cloud that `stackwright up` makes."""
    found = binaries.ensure(programs.ALL)
    kubectl = Kubectl(found["kubectl"], cluster.layout.kubeconfig, NAMESPACE)
    made = Cloud(kubectl, found["helm"])
    made.stackwright("up", "--yes")
    image = kubectl.get("deployment/keystone", "{.spec.template.spec.containers[0].image}")
    kubectl.apply(clouds.client_pod(image))
    kubectl.wait("pod/client", "condition=Ready")
    yield made
    kubectl("delete", "namespace", NAMESPACE)

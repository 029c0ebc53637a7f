"""The cloud of this run."""

from collections.abc import Iterator

import pytest

from stackwright.local import binaries, programs
from stackwright.local.cluster.lifecycle import Cluster
from tests.e2e.cloud import NAMESPACE, Cloud
from tests.e2e.conftest import Kubectl


@pytest.fixture(scope="package")
def cloud(cluster: Cluster) -> Iterator[Cloud]:
    """The cloud that `stackwright up` makes."""
    found = binaries.ensure(programs.ALL)
    kubectl = Kubectl(found["kubectl"], cluster.layout.kubeconfig, NAMESPACE)
    made = Cloud(kubectl, found["helm"])
    made.stackwright("up", "--yes")
    made.with_client()
    yield made
    kubectl("delete", "namespace", NAMESPACE)

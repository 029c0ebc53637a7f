"""The cloud of this run."""

from collections.abc import Iterator

import pytest

from stackwright.local.cluster.lifecycle import Cluster
from tests.e2e import cloud as clouds
from tests.e2e.cloud import Cloud


@pytest.fixture(scope="package")
def cloud(cluster: Cluster) -> Iterator[Cloud]:
    """The cloud that `stackwright up` makes, with a pod of the real client."""
    with clouds.raised(cluster) as made:
        made.with_client()
        yield made

"""The cluster runs our images, under the restricted profile."""

from stackwright.local import smoke
from stackwright.local.cluster.lifecycle import Cluster
from stackwright.local.images import building, loading
from stackwright.local.progress import Shown
from tests.e2e.conftest import NAME


def test_pods_of_our_images_become_ready(cluster: Cluster) -> None:
    with Shown() as progress:
        images = building.build(["memcached"], building.catalogue(), ask=lambda _: True, progress=progress)
        # Not the fixture's first process: the ring of chaos may have killed that one, and `up` started another.
        first = loading.node_of(NAME)
        loading.load(images, first, progress=progress)
        assert loading.load(images, first, progress=progress) == []
        smoke.smoke(cluster.layout.kubeconfig, images[0].reference, progress)

"""The cluster runs our images, under the restricted profile."""

from stackwright.local import smoke
from stackwright.local.cluster.lifecycle import Cluster
from stackwright.local.images import building, loading
from stackwright.local.progress import Shown


def test_pods_of_our_images_become_ready(cluster: Cluster) -> None:
    with Shown() as progress:
        images = building.build(["memcached"], building.catalogue(), ask=lambda _: True, progress=progress)
        loading.load(images, cluster.first.pid, progress=progress)
        assert loading.load(images, cluster.first.pid, progress=progress) == []
        smoke.smoke(cluster.layout.kubeconfig, images[0].reference, progress)

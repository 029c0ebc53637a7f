"""Starts the registry of a cluster, and waits until it answers."""

import asyncio

from stackwright.kube import config
from stackwright.kube.builtin import Deployment
from stackwright.kube.client import Client
from stackwright.local import cache
from stackwright.local.cluster import addons, images, layout, lifecycle, settling
from stackwright.local.cluster.layout import Layout
from stackwright.local.errors import ClusterFailed
from stackwright.local.progress import Progress
from stackwright.local.registry import binary, objects

# How long it may take to answer, in seconds.
DEADLINE = 120.0


def serve(cluster: str, *, progress: Progress) -> str:
    """Run the registry in a cluster, and return its host and port; one that runs already is left alone."""
    place = layout.of(cluster)
    state, settings = lifecycle.running(place), place.read_settings()
    if state is None or settings is None:
        raise ClusterFailed(f"There is no running cluster {cluster}; start it: stackwright local up --name {cluster}")
    program = binary.ensure(progress)
    image = objects.image(program, binary.recipe().cache().directory.name.rpartition("-")[2])
    if image.name not in images.present(state.first.pid):
        images.load(state.first.pid, images.archive_of(image, cache.root() / "images"))
    progress.update("Waiting for the registry.")
    asyncio.run(_run(place, image.name))
    return settings.registry


async def _run(place: Layout, reference: str) -> None:
    async with Client(config.load(place.kubeconfig), field_manager="stackwright-local") as client:
        await addons.apply(client, objects.manifests(reference))
        try:
            async with asyncio.timeout(DEADLINE):
                await settling.await_condition(client, Deployment, objects.NAME, addons.NAMESPACE, "Available")
        except TimeoutError:
            raise ClusterFailed(
                f"The registry does not answer after {DEADLINE:g} s; kubectl --namespace {addons.NAMESPACE} describe "
                f"pods --selector app={objects.NAME} says more."
            ) from None

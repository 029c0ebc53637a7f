"""Brings images into a cluster on this machine; what is there already is not loaded again."""

import time
from collections.abc import Iterable

from stackwright.local.cluster import images as node
from stackwright.local.cluster import layout, lifecycle
from stackwright.local.errors import ImageFailed
from stackwright.local.images import archives
from stackwright.local.images.archives import Image
from stackwright.local.progress import Progress, duration


def node_of(cluster: str) -> int:
    """Return the first process of a cluster's node, or say that the cluster does not run."""
    state = lifecycle.running(layout.of(cluster))
    if state is None:
        raise ImageFailed(f"There is no running cluster {cluster}. Bring it up: stackwright local up --name {cluster}")
    return state.first.pid


def load(images: Iterable[Image], first: int, *, progress: Progress) -> list[Image]:
    """Load those of the images that a node does not have, and return them."""
    images = list(images)
    archives.require_built(images)
    there = node.present(first)
    loaded = [image for image in images if image.reference not in there]
    for image in loaded:
        begin = time.monotonic()
        progress.update(f"Loading {image.reference}")
        node.load(first, image.archive)
        progress.say(f"Loaded {image.reference} in {duration(time.monotonic() - begin)}.")
    return loaded

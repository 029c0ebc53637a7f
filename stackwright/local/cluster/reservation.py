"""Reserves the addresses of a cluster's network: one that has them keeps them."""

from collections.abc import Callable, Iterator

from stackwright.local.cluster import addresses, layout, network
from stackwright.local.cluster.addresses import Taken
from stackwright.local.cluster.layout import Layout, Node, Settings


def reserve(place: Layout, make: Callable[[Settings], Settings]) -> Settings:
    """Write the settings that `make` returns, and return them; it gets the former settings, or new ones."""
    name = place.directory.name
    with layout.held(place.directory.parent / ".addresses.lock"):
        before = place.read_settings()
        taken = [*network.taken(before.addressed if before else ()), *_reserved(place)]
        if before:
            addresses.check(before.network, taken, name=name)
        else:
            before = Settings(name, addresses.choose(taken), (Node("node-1"),), {})
        settings = make(before)
        place.write_settings(settings)
    return settings


def _reserved(place: Layout) -> Iterator[Taken]:
    """Return the ranges of other clusters, whether or not they run."""
    for folder in place.directory.parent.iterdir():
        # With a dot begins what is left of a cluster that is gone.
        none = folder == place.directory or folder.name.startswith(".") or not folder.is_dir()
        other = None if none else Layout(folder).read_settings()
        if other:
            yield from (Taken(one, f"the cluster {other.name}") for one in other.network.ranges)

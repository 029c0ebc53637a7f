"""Where `stackwright up` works: a cluster, here or elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # A help text needs none of it.
    from stackwright.local.cluster.spare_network import SpareNetwork


@dataclass(frozen=True)
class Place:
    """A cluster: the way there, what to add to further commands, and the references of images that were made for it."""

    kubeconfig: Path | None
    context: str | None
    hint: str
    built: Mapping[str, str]
    spare: "SpareNetwork | None" = None
    """The network that the cluster has for workloads."""
    key: Path | None = None
    """The key that logs in to the first server."""

"""Which namespaces the operators are installed for: those that were named before, and the new cloud's."""

from collections.abc import Collection, Iterable, Sequence

from stackwright.kube import discovery
from stackwright.kube.builtin import Namespace
from stackwright.kube.client import Client
from stackwright.kube.resource import JsonObject, Kind

# What the operators' chart calls them.
NAMESPACES, CLUSTER_WIDE = "namespaces", "clusterWide"


def values(told: JsonObject, asked: Iterable[str], there: Collection[str], inhabited: Iterable[str]) -> JsonObject:
    """Return the values for the chart; none if somebody chose all namespaces. Pure.

    A release that names no namespaces is of an earlier version, which worked on all of them: no namespace that is
    `inhabited` may lose its operator. A namespace that is no longer `there` is left out, because rights in it cannot be
    granted.
    """
    if told.get(CLUSTER_WIDE):
        return {}
    before = told.get(NAMESPACES) or sorted(inhabited)
    return {NAMESPACES: [name for name in dict.fromkeys((*before, *asked)) if name in there]}


async def find(client: Client, told: JsonObject, asked: Sequence[str], definitions: Iterable[JsonObject]) -> JsonObject:
    """Return what to tell the chart of a cluster that has these definitions of our kinds."""
    there = {found.metadata.name for found in await client.list(Namespace) if not found.deleting}
    settled = told.get(CLUSTER_WIDE) or told.get(NAMESPACES)
    return values(told, asked, there, set() if settled else await _inhabited(client, definitions))


async def _inhabited(client: Client, definitions: Iterable[JsonObject]) -> set[str]:
    """Return the namespaces that have resources of our kinds."""
    kinds = [
        Kind(spec["group"], version["name"], spec["names"]["kind"], spec["names"]["plural"])
        for spec in (definition["spec"] for definition in definitions)
        for version in spec["versions"]
        if version["storage"]
    ]
    return {found.metadata.namespace for kind in kinds for found in await client.list(discovery.type_of(kind))}

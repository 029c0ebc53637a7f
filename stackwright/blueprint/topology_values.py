"""What Topologies change in the values of a chart's components. Pure."""

from collections.abc import Mapping
from typing import TypeVar

from stackwright.api import paths
from stackwright.api.base import CustomResource, JsonObject
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.service import Service
from stackwright.kube.shapes.leaving import COMPONENT

C = TypeVar("C", bound=CustomResource)
F = TypeVar("F", bound=Facts)

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
# An empty map would leave the affinity to the chart; this one is not empty, and says nothing.
_NO_AFFINITY: JsonObject = {"podAntiAffinity": {}}


def place(service: Service[C, F], resource: C, facts: F, components: Mapping[str, JsonObject]) -> dict[str, JsonObject]:
    """Return the values of those components that refer to a Topology, with what it says of their pods.

    It replaces the rule of the chart, and a component's own affinity, even if it has no affinity itself.
    """
    found: dict[str, JsonObject] = {}
    for component in service.components_of(resource):
        topology = facts.topologies.get(component.topology(resource))
        if topology is None:
            continue
        affinity = topology.get("affinity") or _NO_AFFINITY
        if together := _sharing(components, component.name):
            affinity = _stay_together(affinity, service.name, resource.metadata.name, together)
        found[component.name] = {**components[component.name], **topology, "affinity": affinity}
    return found


def _sharing(components: Mapping[str, JsonObject], name: str) -> list[str]:
    """Return the components that mount the same volume, if only one node can write to it; else none."""
    volume = components[name].get("volume") or {}
    if not volume.get("claim") or volume.get("shared"):
        return []
    return sorted(other for other, said in components.items() if paths.find(said, "volume.claim") == volume["claim"])


def _stay_together(affinity: JsonObject, service: str, release: str, components: list[str]) -> JsonObject:
    """Return an affinity that also holds pods on one node, as the chart does: elsewhere their volume is not there."""
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {
            "matchLabels": {"app.kubernetes.io/name": service, "app.kubernetes.io/instance": release},
            "matchExpressions": [{"key": COMPONENT, "operator": "In", "values": components}],
        },
    }
    pods = affinity.get("podAffinity") or {}
    return {**affinity, "podAffinity": {**pods, _REQUIRED: [term, *pods.get(_REQUIRED, ())]}}

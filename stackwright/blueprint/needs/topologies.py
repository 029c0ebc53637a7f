"""The Topologies that say where the pods of a service's components run."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from stackwright.api.base import JsonObject, Resource
from stackwright.api.topology import READY, Topology, find_references
from stackwright.blueprint.needs.need import Need, Resolved
from stackwright.blueprint.providers import Sight
from stackwright.kube.conditions import declared
from stackwright.kube.plan import Ends, Wait


@dataclass(frozen=True)
class Topologies(Need):
    """The Topologies that components refer to; `names` returns their names. Every service has it, and none says so.

    The fact is what each of them says, by its name, as a pod's spec has it.
    """

    names: Callable[[Any], Iterable[str]]
    reads: ClassVar[tuple[type[Resource], ...]] = (Topology,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", "topologies")

    def resolve(self, resource: Any, sight: Sight) -> Resolved:
        """Return what the Topologies say, or which of them are missing."""
        found = {name: sight(Topology, name) for name in self.names(resource)}
        condition = declared(resource, READY)
        waits = tuple(
            Wait("TopologyMissing", _sentence(name, resource), condition, ends=Ends.BY_USER)
            for name, topology in found.items()
            if topology is None
        )
        fact = {name: _said(topology) for name, topology in found.items() if topology is not None}
        return Resolved(ready=not waits, fact=fact, waits=waits)


def _said(topology: Topology) -> JsonObject:
    # By way of JSON, so that lists are lists as in any other values.
    return msgspec.json.decode(msgspec.json.encode(topology.spec), type=JsonObject)


def _sentence(name: str, resource: Any) -> str:
    fields = [path for path, reference in find_references("spec", resource.spec) if reference.name == name]
    return f"Topology {name}, which {fields[0]} names, does not exist; create it, or remove the reference"

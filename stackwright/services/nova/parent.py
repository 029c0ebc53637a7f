"""What Nova knows of its cells, and how what belongs to a cell is called."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from stackwright.blueprint.facts import Facts
from stackwright.blueprint.needs.broker import BrokerFacts
from stackwright.blueprint.needs.database import DatabaseFacts
from stackwright.blueprint.needs.login import IdentityFacts
from stackwright.services.nova.kinds.cell import CELL0, NovaCell
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.kinds.parts import NovaComputeTemplate

# How the job that removes a cell is called, before the cell's name.
DELETE = "delete-"
# What a person changes who scales a StatefulSet by hand.
REPLICAS = ".spec.replicas"
# Which passwords the metadata services share with Neutron's agents: for all cells, or, by cell, for one.
METADATA, CELL_METADATA = "metadataSecret", "prefixMetadataCellsSecret"


@dataclass(frozen=True)
class Run:
    """What a child was told to run: the image of each service, and those services whose pods all run theirs.

    `by_hand` are StatefulSets that somebody scales by hand, with how many pods are ready.
    """

    images: Mapping[str, str]
    settled: frozenset[str] = frozenset()
    by_hand: Mapping[str, int] = field(default_factory=dict)

    def has(self, service: str, image: str) -> bool:
        """Return whether all pods of a service run an image."""
        return service in self.settled and self.images[service] == image


class Machine(NamedTuple):
    """A compute on a machine outside of the cluster that Nova knows: its NovaCell, its host, and Nova's id of it."""

    cell: str
    host: str
    service: str


class NodeServices(NamedTuple):
    """A machine outside of the cluster, and the services of its role that were applied to it."""

    host: str
    uid: str
    applied: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ParentFacts(Facts):
    """What Nova knows of the world around it; a cell that is not there yet is in none of the maps."""

    identity: IdentityFacts
    api_database: DatabaseFacts
    messaging: BrokerFacts
    notifications: BrokerFacts | None = None
    # By the name of the cell, also of one that is removed.
    cell_databases: Mapping[str, DatabaseFacts] = field(default_factory=dict)
    cell_brokers: Mapping[str, BrokerFacts] = field(default_factory=dict)
    # Whether the tables of the API and of cell0 are made.
    synced: bool = False
    # Of cells, how many of each compute they have in the cluster; None as long as not all of them run.
    computes: Mapping[str, Mapping[str, int] | None] = field(default_factory=dict)
    # What runs: of the services for all cells, by service, and of the cells.
    services: Mapping[str, Run | None] = field(default_factory=dict)
    cells: Mapping[str, Run | None] = field(default_factory=dict)
    # The cells that are not declared any more, as they still are.
    former: Mapping[str, NovaCell | None] = field(default_factory=dict)
    # The computes outside of the cluster, by the name of their resource.
    machines: Mapping[str, Machine] = field(default_factory=dict)
    # All machines outside of the cluster, by node, and the Secrets that services of roles read, by service.
    nodes: Mapping[str, NodeServices] = field(default_factory=dict)
    node_services: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def broker(self, cell: str) -> BrokerFacts | None:
        """Return the broker of a cell."""
        return self.messaging if cell == CELL0 else self.cell_brokers.get(cell)


def cell_name(resource: Nova, cell: str) -> str:
    """Return the name of the NovaCell of a cell."""
    return f"{resource.metadata.name}-{cell}"


def database_secret_name(cell: str) -> str:
    """Return the name of the Secret with the database of a cell; `cell` is the name of its NovaCell."""
    return f"{cell}-database"


def transport(cell: str, resource: Nova) -> str:
    """Return the name of the TransportURL of a cell."""
    return f"{cell_name(resource, cell)}-transport"


def api_transport(resource: Nova) -> str:
    """Return the name of the TransportURL of the services for all cells, and of cell0."""
    return f"{resource.metadata.name}-api-transport"


def notification_transport(resource: Nova) -> str:
    """Return the name of the TransportURL for notifications."""
    return f"{resource.metadata.name}-notification-transport"


def asks_api(resource: Nova, cell: str) -> bool:
    """Return whether the conductors of a cell have the API's database."""
    return resource.spec.cellTemplates[cell].hasAPIAccess or cell == CELL0


def has_seen(cell: NovaCell) -> bool:
    """Return whether what is asked of a cell now has been seen there."""
    return cell.status.observedGeneration >= cell.metadata.generation


def scaled_by_hand(services: Iterable[Any]) -> dict[str, int]:
    """Return those of some services whose StatefulSets somebody scales by hand, with how many pods are ready."""
    return {
        service.metadata.name: service.status.readyCount
        for service in services
        if service is not None and any(entry.field == REPLICAS for entry in service.status.overridden)
    }


def count_computes(templates: Mapping[str, NovaComputeTemplate]) -> dict[str, int]:
    """Return how many of each compute there are to be."""
    return {name: template.replicas for name, template in sorted(templates.items())}


def ready_cells(resource: Nova, facts: ParentFacts) -> list[str]:
    """Return the cells whose database and broker are there, cell0 first."""
    cells = (cell for cell in resource.spec.cellTemplates if cell in facts.cell_databases and facts.broker(cell))
    return sorted(cells, key=lambda cell: (cell != CELL0, cell))


def former(resource: Nova) -> list[str]:
    """Return the cells that are not declared any more, and that Nova may know.

    Those that are mapped are registered once there is an API; the hosts of a cell are remembered from the first pass.
    """
    before = f"{resource.metadata.name}-"
    registered = {name.removeprefix(before) for name in resource.status.registeredCells}
    return sorted((registered | set(resource.status.serviceHosts)) - set(resource.spec.cellTemplates))


def removed_cells(resource: Nova, facts: ParentFacts) -> dict[str, NovaCell]:
    """Return the cells that are removed and still serve: their NovaCell, their database and their broker are there."""
    return {
        cell: there
        for cell, there in sorted(facts.former.items())
        if there is not None
        and not there.deleting
        and f"{DELETE}{cell}" not in facts.done
        and cell in facts.cell_databases
        and facts.broker(cell)
    }

"""What Nova knows of its cells, and how what belongs to a cell is called."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stackwright.blueprint.facts import BrokerFacts, DatabaseFacts, Facts, IdentityFacts
from stackwright.services.nova.kinds.cell import CELL0
from stackwright.services.nova.kinds.nova import Nova


@dataclass(frozen=True, kw_only=True)
class ParentFacts(Facts):
    """What Nova knows of the world around it; a cell that is not there yet is in none of the maps."""

    identity: IdentityFacts
    api_database: DatabaseFacts
    messaging: BrokerFacts
    notifications: BrokerFacts | None = None
    # By the name of the cell.
    cell_databases: Mapping[str, DatabaseFacts] = field(default_factory=dict)
    cell_brokers: Mapping[str, BrokerFacts] = field(default_factory=dict)
    # Whether the tables of the API and of cell0 are made.
    synced: bool = False
    # Of cells, whether all of their computes in the cluster run.
    computes: Mapping[str, bool] = field(default_factory=dict)

    @property
    def computing(self) -> frozenset[str]:
        """The cells whose computes run."""
        return frozenset(cell for cell, running in self.computes.items() if running)

    def broker(self, cell: str) -> BrokerFacts | None:
        """Return the broker of a cell."""
        return self.messaging if cell == CELL0 else self.cell_brokers.get(cell)


def cell_name(resource: Nova, cell: str) -> str:
    """Return the name of the NovaCell of a cell."""
    return f"{resource.metadata.name}-{cell}"


def ready_cells(resource: Nova, facts: ParentFacts) -> list[str]:
    """Return the cells whose database and broker are there, cell0 first."""
    cells = (cell for cell in resource.spec.cellTemplates if cell in facts.cell_databases and facts.broker(cell))
    return sorted(cells, key=lambda cell: (cell != CELL0, cell))

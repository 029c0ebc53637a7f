"""The Secrets that Nova hands down to its cells and services: the same that a user would write by hand."""

from collections.abc import Iterator

from stackwright.blueprint.needs.broker import BrokerFacts
from stackwright.blueprint.needs.given import broker_secret, database_secret
from stackwright.blueprint.service import Export
from stackwright.services.nova import mapping
from stackwright.services.nova.checks import is_metadata_global
from stackwright.services.nova.facts import NOTIFICATIONS, NOTIFICATIONS_SERVER, SERVICE_PASSWORD, SHARED_SECRET
from stackwright.services.nova.kinds.cell import CELL0, compute_name
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.parent import (
    CELL_METADATA,
    METADATA,
    ParentFacts,
    asks_api,
    cell_name,
    database_secret_name,
    ready_cells,
)

# What a cell has that reads its database, and how that is called behind the cell's name; not every cell has all of it.
IN_CELL = (("NovaConductor", "conductor"), ("NovaMetadata", "metadata"), ("NovaNoVNCProxy", "novncproxy"))


def exports(resource: Nova, facts: ParentFacts) -> Iterator[Export]:
    """Yield the logins of the services for all cells, those of each cell, and each database."""
    name = facts.name
    whole = (("NovaAPI", f"{name}-api"), ("NovaScheduler", f"{name}-scheduler"), ("NovaMetadata", f"{name}-metadata"))
    content = _logins(facts, facts.messaging)
    if is_metadata_global(resource):
        content[SHARED_SECRET] = facts.passwords[METADATA]
    yield Export(name, content, readers=whole)
    # All that are declared: the Secret is not to change with each cell that is ready.
    asking = (cell for cell in sorted(resource.spec.cellTemplates) if asks_api(resource, cell))
    allowed = (("NovaConductor", f"{cell_name(resource, cell)}-conductor") for cell in asking)
    yield Export(f"{name}-api-database", database_secret(facts.api_database), readers=(*whole, *allowed))
    for cell in ready_cells(resource, facts):
        broker, said = facts.broker(cell), resource.spec.cellTemplates[cell]
        assert broker is not None  # noqa: S101  it is a ready cell
        own = cell_name(resource, cell)
        content = _logins(facts, broker)
        if said.metadataServiceTemplate.enabled:
            content[SHARED_SECRET] = facts.passwords[f"{CELL_METADATA}.{cell}"]
        readers = tuple((kind, f"{own}-{part}") for kind, part in IN_CELL)
        computes = (("NovaCompute", compute_name(own, compute)) for compute in sorted(said.novaComputeTemplates))
        yield Export(own, content, readers=(("NovaCell", own), *readers, *computes))
        database = database_secret(facts.cell_databases[cell])
        yield Export(database_secret_name(own), database, readers=(*readers, *(whole if cell == CELL0 else ())))
        yield from mapping.scripts(cell, resource)


def _logins(facts: ParentFacts, broker: BrokerFacts) -> dict[str, str]:
    notifications = facts.notifications or BrokerFacts("")
    login = broker_secret(broker)
    return {
        SERVICE_PASSWORD: facts.identity.password,
        **login,
        # The other of upstream's two spellings.
        "quorum_queues": login["quorumqueues"],
        NOTIFICATIONS: notifications.transport_url,
        NOTIFICATIONS_SERVER: notifications.server,
    }

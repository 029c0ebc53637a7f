"""What Nova needs for each of its cells: a database, a broker, perhaps a secret, and how far its computes are."""

from collections.abc import Iterator
from functools import partial

from stackwright.blueprint.needs import Database, Messaging, Password, Reported
from stackwright.kube import conditions
from stackwright.services.nova.kinds.cell import CELL0, NovaCell
from stackwright.services.nova.kinds.external_compute import NovaExternalCompute
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.parent import (
    CELL_METADATA,
    METADATA,
    Machine,
    cell_name,
    count_computes,
    has_seen,
    transport,
)


def cell_needs(resource: Nova) -> Iterator[Database | Messaging | Password | Reported]:
    """Yield a database and a broker for each cell: one that is not there stops no other cell."""
    for cell, said in sorted(resource.spec.cellTemplates.items()):
        named = partial(_named, cell)
        yield Database(
            name="cell_databases",
            key=cell,
            apart=cell != CELL0,
            instance=f"cellTemplates.{cell}.cellDatabaseInstance",
            account=f"cellTemplates.{cell}.cellDatabaseAccount",
            database=named,
            usual_account=named,
            made="NovaAllCellDBReady",
            login="NovaAllCellDBReady",
        )
        if cell != CELL0:
            yield Messaging(
                name="cell_brokers",
                key=cell,
                apart=True,
                bus=f"cellTemplates.{cell}.messagingBus",
                cluster=f"cellTemplates.{cell}.cellMessageBusInstance",
                usual=f"rabbitmq-{cell}",
                url=partial(transport, cell),
                condition="NovaAllCellsMQReady",
            )
        if said.metadataServiceTemplate.enabled:
            yield Password(CELL_METADATA, entry=cell, instead=METADATA)
        if said.novaComputeTemplates:
            yield Reported(name="computes", key=cell, of=NovaCell, resource=named, read=_running_computes)


def _running_computes(cell: NovaCell) -> dict[str, int] | None:
    """Return how many of each compute a cell has in the cluster, if all of them run and the cell has seen the last."""
    if not has_seen(cell) or not conditions.is_true(cell.status.conditions, "NovaAllControlPlaneComputesReady"):
        return None
    return count_computes(cell.spec.novaComputeTemplates)


def _named(cell: str, resource: Nova) -> str:
    return cell_name(resource, cell)


def read_machine(compute: NovaExternalCompute) -> Machine | None:
    """Return what Nova knows of a compute outside of the cluster; None if it knows nothing, or will not for long."""
    status = compute.status
    if compute.deleting or not status.serviceID:
        return None
    return Machine(compute.spec.cellName, status.hostName, status.serviceID)

"""The resources that Nova stands for: a NovaCell for each cell, and the services for all cells."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from stackwright.api.base import JsonObject, ObjectMeta
from stackwright.api.keystone import KeystoneService
from stackwright.blueprint.children import Later
from stackwright.kube.plan import Wait
from stackwright.kube.resource import Resource
from stackwright.kube.shapes.child import Child, child
from stackwright.services.nova import mapping, rows, upgrade
from stackwright.services.nova.checks import is_metadata_global
from stackwright.services.nova.kinds.cell import CELL0, NovaCell, NovaCellSpec
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.kinds.services import (
    NovaAPI,
    NovaAPISpec,
    NovaMetadata,
    NovaMetadataSpec,
    NovaScheduler,
    NovaSchedulerSpec,
)
from stackwright.services.nova.parent import (
    DELETE,
    ParentFacts,
    asks_api,
    cell_name,
    database_secret_name,
    former,
    ready_cells,
    removed_cells,
)
from stackwright.services.nova.templates import spec_of


def children(resource: Nova, facts: ParentFacts) -> Iterator[Child | Later | Wait]:
    """Yield the cells, all at once, and the services for all cells when the declared cells are mapped.

    A cell is created when Keystone has the user that its services work as.
    """
    cells = ready_cells(resource, facts)
    stage = upgrade.find_stage(resource, facts)
    yield from stage.waits
    for cell in sorted(resource.spec.cellTemplates):
        if cell in cells:
            # The mappings of all cells wait for the tables of the API, which are made with cell0's.
            first = cell == CELL0
            cell_child = child(_cell(resource, facts, cell, stage.images), condition="NovaAllCellReady", first=first)
            # Its processes end if they cannot log in to Keystone.
            yield Later(cell_child, after=(f"{KeystoneService.kind.name}/{resource.metadata.name}",))
        else:
            yield Wait("CellNotReady", f"Cell {cell} waits for its database and its broker", "NovaAllCellReady")
    missing = sorted(set(resource.spec.cellTemplates) - set(mapping.mapped(resource, facts)))
    yield from mapping.waits(resource, facts)
    yield from mapping.removals(resource, facts)
    yield from _removed(resource, facts, stage)
    # One that was mapped before goes on with the mapping that it has, while that is written anew. One that is removed
    # is told until Nova does not know it any more: processes remember the cells that they found when they started.
    known = mapping.remembered(resource, facts)
    if missing and not _known(resource) and (patience := mapping.patience(facts)) is not None:
        message = f"Cells that are not mapped yet: {', '.join(missing)}"
        for condition in ("NovaAPIReady", "NovaSchedulerReady", "NovaMetadataReady"):
            if condition in resource.declared_conditions():
                yield Wait("CellsNotMapped", message, condition, after=patience)
        return
    yield from _services(resource, facts, known, stage.images)


def _removed(resource: Nova, facts: ParentFacts, stage: upgrade.Stage) -> Iterator[Child]:
    """Yield the cells that are removed, as they are but for their images, and for their computes.

    They get a new image as all others do; what keeps one from it is told for as long as the upgrade waits for it. Their
    computes go when no server is left on them.
    """
    serving = removed_cells(resource, facts)
    for cell, there in facts.former.items():
        if there is None:
            continue
        emptied = rows.is_emptied(facts, cell)
        changes: JsonObject = {"novaComputeTemplates": {}} if emptied else {}
        if cell in serving:
            changes |= upgrade.cell_images(stage.images)
        spec = msgspec.structs.replace(there.spec, **changes)
        if emptied or spec != there.spec or (cell in serving and stage.phase):
            named = NovaCell(metadata=ObjectMeta(name=there.metadata.name), spec=spec)
            yield child(named, condition="NovaCellsDeletion")


def is_forsaken(resource: Nova, facts: ParentFacts | None, child: Resource) -> bool:
    """Return whether a child is the NovaCell of a cell that is neither declared nor known to Nova any more.

    It goes also while another cell waits for something.
    """
    done = facts.done if facts is not None else frozenset()
    cells = (*resource.spec.cellTemplates, *(cell for cell in former(resource) if f"{DELETE}{cell}" not in done))
    return child.kind == NovaCell.kind and child.metadata.name not in {cell_name(resource, cell) for cell in cells}


def _known(resource: Nova) -> dict[str, str]:
    """Return the cells that the services were told of, as far as they are declared."""
    declared = {cell_name(resource, cell) for cell in resource.spec.cellTemplates}
    return {name: value for name, value in resource.status.registeredCells.items() if name in declared}


def _for_all(resource: Nova, facts: ParentFacts) -> JsonObject:
    """Return what cells and services are told alike."""
    spec, identity = resource.spec, facts.identity
    return {
        "keystoneAuthURL": identity.url,
        "keystonePublicAuthURL": identity.public_url,
        "serviceUser": spec.serviceUser,
        "region": identity.region,
        "apiTimeout": spec.apiTimeout,
        "preserveJobs": spec.preserveJobs,
    }


def _cell(resource: Nova, facts: ParentFacts, cell: str, images: Mapping[str, str]) -> NovaCell:
    spec, said, name = resource.spec, resource.spec.cellTemplates[cell], cell_name(resource, cell)
    known = {key: value for key, value in msgspec.structs.asdict(said).items() if key in NovaCellSpec.__struct_fields__}
    known |= {
        "cellName": cell,
        **_for_all(resource, facts),
        "secret": name,
        "memcachedInstance": said.memcachedInstance or spec.memcachedInstance,
        "cellDatabaseSecret": database_secret_name(name),
        "nodeSelector": said.nodeSelector if said.nodeSelector is not None else spec.nodeSelector,
        "topologyRef": said.topologyRef or spec.topologyRef,
    }
    if asks_api(resource, cell):
        known["apiDatabaseSecret"] = f"{facts.name}-api-database"
    # Also those that the image manifest says: another manifest must not restart what is to wait.
    known |= upgrade.cell_images(images)
    del known["cellDatabaseAccount"]
    return NovaCell(metadata=ObjectMeta(name=name), spec=NovaCellSpec(**known))


def _services(
    resource: Nova, facts: ParentFacts, cells: Mapping[str, str], images: Mapping[str, str]
) -> Iterator[Child]:
    spec, name = resource.spec, resource.metadata.name
    common: JsonObject = {
        **_for_all(resource, facts),
        "secret": name,
        "memcachedInstance": spec.memcachedInstance,
        "apiDatabaseSecret": f"{name}-api-database",
        "cell0DatabaseSecret": database_secret_name(cell_name(resource, CELL0)),
        "cellDatabaseSecret": database_secret_name(cell_name(resource, CELL0)),
        "registeredCells": dict(cells),
    }
    services: list[tuple[str, Any, Any, Any]] = [
        ("api", NovaAPI, NovaAPISpec, spec.apiServiceTemplate),
        ("scheduler", NovaScheduler, NovaSchedulerSpec, spec.schedulerServiceTemplate),
    ]
    if is_metadata_global(resource):
        services.append(("metadata", NovaMetadata, NovaMetadataSpec, spec.metadataServiceTemplate))
    for service, kind, of, template in services:
        said = spec_of(of, template, spec, **common, containerImage=images[service])
        yield child(kind(metadata=ObjectMeta(name=f"{name}-{service}"), spec=said), condition=f"{kind.kind.name}Ready")

"""A new image of Nova: tables first, then conductors, then the other services, the API last, and then the data.

That is the order of Nova's own documentation. Its schema migrations only add, so that services of the release before
work with the new tables: what other projects call expand and sync is one command here.

How far an upgrade is follows from what the status says was handed down (`images`), from what the children report to
run, and from the jobs that are done. So any pass, after a crash too, finds the place where it goes on.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from stackwright.api.base import JsonObject
from stackwright.blueprint.needs import Reported
from stackwright.blueprint.service import ConfigFile, Job
from stackwright.kube import conditions
from stackwright.kube.plan import Wait
from stackwright.kube.resource import CustomResource
from stackwright.kube.shapes.states import state_of
from stackwright.services.nova import programs, settings
from stackwright.services.nova.checks import is_metadata_global
from stackwright.services.nova.kinds.cell import CELL0, NovaCell
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.kinds.services import NovaAPI, NovaMetadata, NovaScheduler
from stackwright.services.nova.parent import (
    ParentFacts,
    Run,
    cell_name,
    former,
    has_seen,
    ready_cells,
    removed_cells,
    scaled_by_hand,
)

CONDITION = "NovaUpgraded"
SYNC, MIGRATE = "sync-", "migrate-"
SYNCING, CONDUCTORS, SERVICES, API, MIGRATING = "Syncing", "Conductors", "Services", "API", "Migrating"
PHASES = (SYNCING, CONDUCTORS, SERVICES, API, MIGRATING)
# Which services get the new image together.
ROLLS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (CONDUCTORS, ("conductor",)),
    (SERVICES, ("scheduler", "metadata", "novncproxy", "compute")),
    (API, ("api",)),
)
IMAGES = tuple(service for _, services in ROLLS for service in services)
OF_CELLS = ("conductor", "metadata", "novncproxy", "compute")
_MESSAGES = {
    SYNCING: "A new image: the tables of all cells are upgraded before any pod restarts",
    CONDUCTORS: "A new image: the conductors restart, before all other services",
    SERVICES: "A new image: scheduler, metadata service, noVNC proxies and computes restart, before the API",
    API: "A new image: the API restarts, after all other services",
    MIGRATING: "A new image: all pods run it, and data is moved to where it looks for it",
}


@dataclass(frozen=True)
class Stage:
    """How far an upgrade is, "" where there is none, and which image each service is to run now."""

    phase: str
    images: Mapping[str, str]

    @property
    def waits(self) -> Iterator[Wait]:
        """The wait for its end."""
        if self.phase:
            yield Wait(self.phase, _MESSAGES[self.phase], CONDITION)


def wanted(resource: Nova, facts: ParentFacts) -> dict[str, str]:
    """Return the image that each service is to run in the end."""
    return {service: getattr(resource.spec, f"{service}ContainerImageURL") or facts.image for service in IMAGES}


def find_stage(resource: Nova, facts: ParentFacts) -> Stage:
    """Return how far an upgrade is. What is new has nothing to upgrade."""
    target, before = wanted(resource, facts), resource.status.images
    if not before or (before == target and not resource.status.upgradePhase):
        return Stage("", target)
    images = {**target, **before}
    cells = _cells(resource, facts)
    if not _was_synced(resource, facts) and not all(f"{SYNC}{cell}" in facts.done for cell in cells):
        return Stage(SYNCING, images)
    for phase, services in ROLLS:
        # What a phase waited for once it does not wait for again: pods restart at any time.
        over = _is_later(resource, phase) and all(images[service] == target[service] for service in services)
        images |= {service: target[service] for service in services}
        if not over and not all(_runs(service, images[service], resource, facts) for service in services):
            return Stage(phase, images)
    # A cell that is declared and not there now has data all the same.
    if not all(f"{MIGRATE}{cell}" in facts.done for cell in {*resource.spec.cellTemplates, *cells}):
        return Stage(MIGRATING, images)
    return Stage("", target)


def cell_images(images: Mapping[str, str]) -> JsonObject:
    """Return what a NovaCell is told of the images of its services."""
    return {f"{service}ContainerImageURL": images[service] for service in OF_CELLS}


def manage_image(resource: Nova, facts: ParentFacts) -> str:
    """Return the image of nova-manage: that of the conductors, which fits the tables."""
    return find_stage(resource, facts).images["conductor"]


def _cells(resource: Nova, facts: ParentFacts) -> list[str]:
    """Return the cells that take part: one that is removed serves until it is empty, which may take weeks."""
    return [*ready_cells(resource, facts), *removed_cells(resource, facts)]


def _was_synced(resource: Nova, facts: ParentFacts) -> bool:
    """Return whether the status says that the tables are those of the new image: their Jobs may be gone since."""
    same = resource.status.images.get("conductor") == wanted(resource, facts)["conductor"]
    return same and _is_later(resource, SYNCING)


def _is_later(resource: Nova, phase: str) -> bool:
    """Return whether the status says that an upgrade got beyond a phase."""
    reached = resource.status.upgradePhase
    return reached in PHASES and PHASES.index(reached) > PHASES.index(phase)


def _runs(service: str, image: str, resource: Nova, facts: ParentFacts) -> bool:
    """Return whether all pods of a service run an image, in all cells whose database and broker are there."""
    found = []
    if service in ("api", "scheduler") or (service == "metadata" and is_metadata_global(resource)):
        found.append(facts.services.get(service))
    if service in OF_CELLS:
        found.extend(facts.cells.get(cell) for cell in ready_cells(resource, facts))
        found.extend(_read_cell(there) for there in removed_cells(resource, facts).values())
    return all(run is not None and run.has(service, image) for run in found)


# What the children say.


def needs(resource: Nova) -> Iterator[Reported]:
    """Yield what each child runs."""
    name = resource.metadata.name
    kinds: dict[str, type[CustomResource]] = {"api": NovaAPI, "scheduler": NovaScheduler}
    if is_metadata_global(resource):
        kinds["metadata"] = NovaMetadata
    for service, of in kinds.items():
        named = partial(_same, f"{name}-{service}")
        yield Reported(name="services", key=service, of=of, resource=named, read=partial(_read_service, service))
    for cell in sorted(resource.spec.cellTemplates):
        named = partial(_same, cell_name(resource, cell))
        yield Reported(name="cells", key=cell, of=NovaCell, resource=named, read=_read_cell)


def _same(name: str, _: Nova) -> str:
    return name


def _read_service(service: str, child: NovaAPI | NovaScheduler | NovaMetadata) -> Run:
    settled = state_of(child).status == "True"
    return Run({service: child.spec.containerImage}, frozenset({service} if settled else ()), scaled_by_hand((child,)))


def _read_cell(cell: NovaCell) -> Run:
    images = {service: getattr(cell.spec, f"{service}ContainerImageURL") for service in OF_CELLS}
    if state_of(cell).status == "True":
        return Run(images, frozenset(OF_CELLS), cell.status.scaledByHand)
    # Its conductors may be there long before its computes are.
    conducted = has_seen(cell) and conditions.is_true(cell.status.conditions, "NovaConductorReady")
    return Run(images, frozenset({"conductor"} if conducted else ()), cell.status.scaledByHand)


# The jobs.


def sync_inputs(cell: str, resource: Nova, facts: ParentFacts) -> JsonObject | None:
    """Return which tables are upgraded: those of the API come first, with those of cell0."""
    if cell not in _cells(resource, facts) or not find_stage(resource, facts).phase or _was_synced(resource, facts):
        return None
    if cell != CELL0 and f"{SYNC}{CELL0}" not in facts.done:
        return None
    return {"upgraded": facts.cell_databases[cell].place, "api": facts.api_database.place}


def migrate_inputs(cell: str, resource: Nova, facts: ParentFacts) -> JsonObject | None:
    """Return whose data is moved, once all pods run the new image."""
    known = cell in facts.cell_databases and (cell in resource.spec.cellTemplates or cell in _cells(resource, facts))
    if not known or find_stage(resource, facts).phase != MIGRATING:
        return None
    return {"migrated": facts.cell_databases[cell].place, "images": wanted(resource, facts)}


def _target(resource: Nova, facts: ParentFacts) -> str:
    return wanted(resource, facts)["conductor"]


def _files(cell: str, resource: Nova, facts: ParentFacts) -> tuple[ConfigFile, ...]:
    manage = settings.manage_files(cell, facts)
    # The jobs of a cell share a Secret, which is written whole.
    return (*manage, programs.DB_SYNC[cell == CELL0]) if manage else ()


def _jobs(cell: str) -> tuple[Job[Nova, ParentFacts], Job[Nova, ParentFacts]]:
    files, secret = partial(_files, cell), f"{cell}-manage-config-data"
    return (
        Job(
            f"{SYNC}{cell}",
            lambda _: programs.DB_SYNC[cell == CELL0].destination,
            partial(sync_inputs, cell),
            CONDITION,
            files=files,
            secret=secret,
            image=_target,
            description="Upgrades the tables of a cell before pods of a new image start.",
            tables=True,
        ),
        Job(
            f"{MIGRATE}{cell}",
            lambda _: "nova-manage db online_data_migrations",
            partial(migrate_inputs, cell),
            CONDITION,
            files=files,
            secret=secret,
            image=_target,
            description="Moves data of an older release to where the present one looks for it.",
            tables=True,
        ),
    )


FORMS = _jobs("*")


def jobs(resource: Nova) -> tuple[Job[Nova, ParentFacts], ...]:
    """Return the jobs of an upgrade; those of cell0 come first, because the others wait for it."""
    cells = sorted((*resource.spec.cellTemplates, *former(resource)), key=lambda cell: (cell != CELL0, cell))
    return tuple(job for cell in cells for job in _jobs(cell))

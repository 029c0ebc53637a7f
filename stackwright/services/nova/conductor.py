"""The conductors of a cell: they make its tables, and read and write them for its computes.

Those of cell0 are the superconductor, which works for all cells, and makes the tables of the API as well.
"""

from stackwright.api.base import JsonObject
from stackwright.blueprint.network import Network
from stackwright.blueprint.service import DB_SYNC, Component, ConfigFile, Job, RunJob, Schedule, Service
from stackwright.services.nova import facts as needs
from stackwright.services.nova import programs, settings
from stackwright.services.nova.api import OPTIONS
from stackwright.services.nova.checks import service_problems
from stackwright.services.nova.facts import NovaFacts
from stackwright.services.nova.kinds.cell import CELL0
from stackwright.services.nova.kinds.services import NovaConductor

PURGE = "db-purge"
MIGRATE = "online-data-migrations"


def files(resource: NovaConductor, facts: NovaFacts) -> tuple[ConfigFile, ...]:
    """Return the files that a conductor reads."""
    return (*settings.files(resource, settings.conductor(facts)), programs.CONDUCTOR, programs.given(facts))


def manage_files(resource: NovaConductor, facts: NovaFacts) -> tuple[ConfigFile, ...]:
    """Return the files of the jobs: the same configuration, and their scripts."""
    return (*settings.files(resource, settings.conductor(facts)), _sync(resource), programs.PURGE)


def _sync(resource: NovaConductor) -> ConfigFile:
    return programs.DB_SYNC[resource.spec.cellName == CELL0]


def schemas(resource: NovaConductor, facts: NovaFacts) -> JsonObject:
    """Return for what the tables are made: once for each schema."""
    assert facts.database is not None  # noqa: S101  it is a need
    found: JsonObject = {"cell": facts.database.place}
    if resource.spec.cellName == CELL0 and facts.api_database is not None:
        found["api"] = facts.api_database.place
    return found


def purge(resource: NovaConductor) -> str:
    """Return the command that moves deleted rows away, and removes old ones."""
    said = resource.spec.dbPurge
    return f"{programs.PURGE.destination} {said.archiveAge} {said.purgeAge}"


CONDUCTOR = Service(
    name="nova-conductor",
    chart="nova",
    image="nova",
    kind=NovaConductor,
    facts=NovaFacts,
    user="nova",
    needs=(
        needs.LOGIN,
        needs.MESSAGING,
        needs.NOTIFICATIONS_BUS,
        needs.CACHE,
        needs.OPTIONAL_API_DATABASE,
        needs.CELL_DATABASE,
    ),
    components=(
        Component(
            "conductor",
            command=lambda _: programs.command(programs.CONDUCTOR),
            files=files,
            values=programs.started,
            # Nova knows a conductor by the name of its host, which has to stay.
            workload="StatefulSet",
            suffix="",
            description="The conductors: a StatefulSet named after the release.",
            requests=programs.REQUESTS,
            trial=programs.trial(programs.CONDUCTOR),
        ),
    ),
    jobs=(
        Job(
            DB_SYNC,
            lambda resource: _sync(resource).destination,
            schemas,
            condition="DBSyncReady",
            files=manage_files,
            description="Makes or upgrades the tables of the cell; with those of cell0, also those of the API.",
            tables=True,
        ),
        # Only when somebody asks for it.
        Job(
            MIGRATE,
            lambda _: "nova-manage db online_data_migrations",
            lambda _, __: None,
            condition="",
            files=manage_files,
            description="Moves data of an older release to where the present one looks for it.",
            tables=True,
        ),
    ),
    schedules=(
        Schedule(
            PURGE,
            command=purge,
            when=lambda resource: resource.spec.dbPurge.schedule,
            # nova-manage archives nothing where it cannot ask the API's database.
            suspended=lambda resource: not (resource.spec.apiDatabaseSecret or resource.spec.apiDatabaseHostname),
            files=manage_files,
            description="Moves rows of deleted servers to the archive, and removes old ones.",
        ),
    ),
    actions={"migrate-data": RunJob(MIGRATE), "purge-database": RunJob(PURGE)},
    network=Network(dials=settings.DIALS),
    problems=service_problems,
    options=OPTIONS,
    unread=("networkAttachments", "serviceAccount"),
)

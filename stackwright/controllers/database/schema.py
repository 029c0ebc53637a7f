"""MariaDBDatabase: a schema on a server, with the character set that it should have."""

from dataclasses import dataclass

import msgspec

from stackwright.adapters.errors import AdapterError
from stackwright.adapters.mariadb import Schema
from stackwright.adapters.mariadb_names import schema_problem
from stackwright.api.annotations import PAUSED
from stackwright.api.mariadb import SERVER_LABEL, MariaDBDatabase, MariaDBDatabaseStatus
from stackwright.controllers.database.server import SERVER_READY, Server, World, find_server
from stackwright.controllers.outside import Absent
from stackwright.kube.errors import Blocked
from stackwright.kube.plan import Plan, Step
from stackwright.kube.shapes.external import external

DATABASE_READY = "MariaDBDatabaseReady"
FINALIZER = "openstack.org/mariadbdatabase"


@dataclass(frozen=True)
class Seen:
    """What there is of a schema. `server` is None where the resource names none, or nobody asks it."""

    server: Server | Absent | None
    wanted: Schema | None = None
    found: Schema | None = None
    foreign: Blocked | None = None


@dataclass(frozen=True)
class CreateSchema(Step):
    """Make the schema."""

    server: Server
    schema: Schema


@dataclass(frozen=True)
class AlterSchema(Step):
    """Set the schema's character set and collation."""

    server: Server
    schema: Schema


@dataclass(frozen=True)
class DropSchema(Step):
    """Delete the schema with its data."""

    server: Server
    schema: Schema


async def observe(database: MariaDBDatabase, world: World) -> Seen:
    """Look for the server, then for the schema on it."""
    look = world.looker(database)
    name = database.metadata.labels.get(SERVER_LABEL, "")
    retained = database.deleting and database.spec.deletionPolicy == "Retain"
    if not name or retained or schema_problem(database.spec.name):
        return Seen(None)
    server = find_server(name, look)
    foreign = world.foreign(database, DATABASE_READY)
    if isinstance(server, Absent) or foreign:
        return Seen(server, foreign=foreign)
    spec = database.spec
    session = await world.session(server)
    try:
        wanted = await session.named(Schema(spec.name, spec.defaultCharacterSet, spec.defaultCollation))
        return Seen(server, wanted, await session.schema(spec.name))
    except AdapterError as error:
        raise server.explain(error, DATABASE_READY) from error


def decide(database: MariaDBDatabase, seen: Seen) -> Plan:
    """Return what brings the schema to what the resource says."""
    if problem := schema_problem(database.spec.name):
        raise Blocked(f"spec.name: {problem}", reason="SchemaReserved", condition=DATABASE_READY)
    if seen.server is None:
        message = f"metadata.labels.{SERVER_LABEL} is missing; set it to the name of a Galera"
        raise Blocked(message, reason="LabelMissing", condition=SERVER_READY)
    if isinstance(seen.server, Absent):
        return Plan(waits=(seen.server.wait,))
    if seen.foreign is not None:
        raise seen.foreign
    if seen.wanted is None or seen.found == seen.wanted:
        return Plan()
    if seen.found is None:
        step: Step = CreateSchema(seen.server, seen.wanted, reason="CreatingSchema", condition=DATABASE_READY)
    else:
        step = AlterSchema(seen.server, seen.wanted, reason="AlteringSchema", condition=DATABASE_READY)
    return Plan(steps=(step,))


def remove(database: MariaDBDatabase, seen: Seen) -> Plan:
    """Return what is left to do before the resource may go: nothing, unless it takes the schema with it.

    A schema of the server itself stays, also where a version of before took the resource for good.
    """
    if database.spec.deletionPolicy == "Retain" or seen.server is None or seen.foreign:
        return Plan()
    if schema_problem(database.spec.name):
        return Plan()
    if isinstance(seen.server, Absent):
        return Plan() if seen.server.gone else Plan(waits=(seen.server.wait,))
    if seen.found is None:
        return Plan()
    return Plan(steps=(DropSchema(seen.server, seen.found, reason="DroppingSchema", condition=DATABASE_READY),))


def tell(database: MariaDBDatabase, seen: Seen) -> MariaDBDatabaseStatus:
    """Return the status with what was seen of the schema."""
    if schema_problem(database.spec.name):
        return msgspec.structs.replace(database.status, completed=False)
    if not isinstance(seen.server, Server) or seen.foreign:
        return msgspec.structs.replace(database.status, completed=database.status.completed and not seen.foreign)
    return msgspec.structs.replace(
        database.status,
        completed=seen.found is not None and seen.found == seen.wanted,
        enableMultiMaster=seen.server.multi_master,
    )


def takes_along(database: MariaDBDatabase) -> bool:
    """Return whether the schema goes with its resource; else the resource can go without anybody's help."""
    return database.spec.deletionPolicy == "Delete"


@external(
    of=MariaDBDatabase,
    read=observe,
    decide=decide,
    remove=remove,
    finalizer=FINALIZER,
    tell=tell,
    pause=PAUSED,
    holds=takes_along,
)
async def databases(step: CreateSchema | AlterSchema | DropSchema, world: World) -> None:
    """Carry out one step."""
    session = await world.session(step.server)
    try:
        match step:
            case CreateSchema(schema=schema):
                await session.create_schema(schema)
            case AlterSchema(schema=schema):
                await session.alter_schema(schema)
            case DropSchema(schema=schema):
                await session.drop_schema(schema.name)
    except AdapterError as error:
        raise step.server.explain(error, DATABASE_READY) from error

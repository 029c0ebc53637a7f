"""MariaDBDatabase: a schema on a server, with the character set that it should have."""

from dataclasses import dataclass

import msgspec

from stackwright.adapters.errors import AdapterError
from stackwright.adapters.mariadb import Schema
from stackwright.adapters.mariadb_names import schema_problem
from stackwright.api.annotations import PAUSED
from stackwright.api.mariadb import SERVER_LABEL, MariaDBDatabase, MariaDBDatabaseStatus
from stackwright.controllers.database.server import SERVER_READY, Server, World, find_server
from stackwright.controllers.outside import Absent, elder_of
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
    elder: str = ""


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
    elder = _elder(database, world.beside(database))
    if isinstance(server, Absent) or elder:
        return Seen(server, elder=elder)
    spec = database.spec
    session = await world.session(server)
    try:
        wanted = await session.named(Schema(spec.name, spec.defaultCharacterSet, spec.defaultCollation))
        return Seen(server, wanted, await session.schema(spec.name))
    except AdapterError as error:
        raise server.explain(error, DATABASE_READY) from error


def _elder(database: MariaDBDatabase, all_of_them: list[MariaDBDatabase]) -> str:
    """Return the name of an older resource that stands for the same schema."""
    server = database.metadata.labels.get(SERVER_LABEL)
    same = [
        other
        for other in all_of_them
        if other.spec.name == database.spec.name
        and other.metadata.labels.get(SERVER_LABEL) == server
        and not other.deleting
    ]
    elder = elder_of(database, same)
    return elder.metadata.name if elder is not None else ""


def decide(database: MariaDBDatabase, seen: Seen) -> Plan:
    """Return what brings the schema to what the resource says."""
    if problem := schema_problem(database.spec.name):
        raise Blocked(f"spec.name: {problem}", reason="SchemaReserved", condition=DATABASE_READY)
    if seen.server is None:
        message = f"metadata.labels.{SERVER_LABEL} is missing; set it to the name of a Galera"
        raise Blocked(message, reason="LabelMissing", condition=SERVER_READY)
    if isinstance(seen.server, Absent):
        return Plan(waits=(seen.server.wait,))
    if seen.elder:
        message = f"spec.name: the schema belongs to MariaDBDatabase {seen.elder} already; delete one of the two"
        raise Blocked(message, reason="SchemaTaken", condition=DATABASE_READY)
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
    if database.spec.deletionPolicy == "Retain" or seen.server is None or seen.elder:
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
    if not isinstance(seen.server, Server) or seen.elder:
        return msgspec.structs.replace(database.status, completed=database.status.completed and not seen.elder)
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

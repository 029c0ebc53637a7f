"""MariaDBDatabase: a schema on a server, and its character set."""

import secrets
from dataclasses import dataclass

import msgspec

from stackwright.adapters.errors import AdapterError
from stackwright.adapters.mariadb import Schema
from stackwright.adapters.mariadb_marks import DROPPED, SCHEMA, UNMARKED, Mark, Thing
from stackwright.adapters.mariadb_names import schema_problem
from stackwright.api.annotations import PAUSED
from stackwright.api.mariadb import FIRST, IDENTITY_KEY, SERVER_LABEL, MariaDBDatabase, MariaDBDatabaseStatus
from stackwright.controllers.absent_servers import Absent
from stackwright.controllers.database import marks
from stackwright.controllers.database.marks import UNKEPT, Holding
from stackwright.controllers.database.server import SERVER_READY, Server, World, find_server
from stackwright.kube.errors import Blocked
from stackwright.kube.plan import Plan, Step
from stackwright.kube.shapes.external import external

DATABASE_READY = "MariaDBDatabaseReady"
FINALIZER = "openstack.org/mariadbdatabase"
# Bytes of the random identity that tells a schema from an earlier one of the same name.
IDENTITY = 8


@dataclass(frozen=True)
class Seen:
    """What was seen of a schema. `server` is None if the resource names no server, or if nothing was asked of it."""

    server: Server | Absent | None
    wanted: Schema | None = None
    found: Schema | None = None
    foreign: Blocked | None = None
    holding: Holding = UNKEPT


@dataclass(frozen=True)
class CreateSchema(Step):
    """Create the schema for `owner`, which is empty if the server keeps no marks for us.

    `again` says that the schema existed before and was lost: whatever was done in it has to be done again.
    """

    server: Server
    schema: Schema
    owner: str = ""
    again: bool = False


@dataclass(frozen=True)
class MarkSchema(Step):
    """Record on the server which resource owns the schema."""

    server: Server
    schema: Schema
    mark: Mark


@dataclass(frozen=True)
class AlterSchema(Step):
    """Set the schema's character set and collation."""

    server: Server
    schema: Schema


@dataclass(frozen=True)
class DropSchema(Step):
    """Delete the schema with its data; `marked` says that the server keeps marks for us."""

    server: Server
    schema: Schema
    marked: bool = False


async def observe(database: MariaDBDatabase, world: World) -> Seen:
    """Look for the server, then for the schema on it."""
    look = world.looker(database)
    name = database.metadata.labels.get(SERVER_LABEL, "")
    retained = database.deleting and database.spec.deletionPolicy == "Retain"
    if not name or retained or schema_problem(database.schema):
        return Seen(None)
    server = find_server(name, look)
    foreign = world.foreign(database, DATABASE_READY)
    if isinstance(server, Absent) or foreign:
        return Seen(server, foreign=foreign)
    spec = database.spec
    session = await world.session(server)
    try:
        wanted = await session.named(Schema(database.schema, spec.defaultCharacterSet, spec.defaultCollation))
        holding = await world.holding(database, session, server, Thing(SCHEMA, database.schema))
        return Seen(server, wanted, await session.schema(database.schema), holding=holding)
    except AdapterError as error:
        raise server.explain(error, DATABASE_READY) from error


def decide(database: MariaDBDatabase, seen: Seen) -> Plan:
    """Return the steps that make the schema what the resource asks for."""
    if problem := schema_problem(database.schema):
        raise Blocked(f"spec.name: {problem}", reason="SchemaReserved", condition=DATABASE_READY)
    if seen.server is None:
        message = f"metadata.labels.{SERVER_LABEL} is missing; set it to the name of a Galera"
        raise Blocked(message, reason="LabelMissing", condition=SERVER_READY)
    if isinstance(seen.server, Absent):
        return Plan(waits=(seen.server.wait,))
    if seen.foreign is not None:
        raise seen.foreign
    if seen.wanted is None:
        return Plan()
    if seen.found is None:
        owner = marks.owner_of(database) if seen.holding.mark is not None else ""
        again = bool(database.status.completed or database.status.hash or seen.holding.mark not in (None, UNMARKED))
        made = CreateSchema(seen.server, seen.wanted, owner, again, reason="CreatingSchema", condition=DATABASE_READY)
        return Plan(steps=(made,))
    if marks.is_anothers(database, seen.holding):
        thing = Thing(SCHEMA, database.schema)
        raise marks.refusal(database, thing, seen.holding, "spec.name", DATABASE_READY)
    steps: list[Step] = []
    if mark := marks.adopted(database, seen.holding, known=database.status.completed):
        steps.append(MarkSchema(seen.server, seen.wanted, mark, reason="MarkingSchema", condition=DATABASE_READY))
    if seen.found != seen.wanted:
        steps.append(AlterSchema(seen.server, seen.wanted, reason="AlteringSchema", condition=DATABASE_READY))
    return Plan(steps=tuple(steps))


def remove(database: MariaDBDatabase, seen: Seen) -> Plan:
    """Return what is left to do before the resource can be deleted: nothing, unless its schema is dropped with it.

    One of the server's own schemas stays, even if an earlier version accepted the resource. So does a schema that this
    resource did not create.
    """
    if database.spec.deletionPolicy == "Retain" or seen.server is None or seen.foreign:
        return Plan()
    if schema_problem(database.schema):
        return Plan()
    if isinstance(seen.server, Absent):
        return Plan() if seen.server.gone else Plan(waits=(seen.server.wait,))
    if seen.found is None or not marks.may_drop(database, seen.holding, known=database.status.completed):
        return Plan()
    marked = seen.holding.mark is not None
    step = DropSchema(seen.server, seen.found, marked, reason="DroppingSchema", condition=DATABASE_READY)
    return Plan(steps=(step,))


def tell(database: MariaDBDatabase, seen: Seen) -> MariaDBDatabaseStatus:
    """Return the status, updated with what was seen of the schema."""
    if schema_problem(database.schema):
        return msgspec.structs.replace(database.status, completed=False)
    if not isinstance(seen.server, Server) or seen.foreign:
        return msgspec.structs.replace(database.status, completed=database.status.completed and not seen.foreign)
    ours = seen.found is not None and not marks.is_anothers(database, seen.holding)
    identity = seen.holding.mark.identity if seen.holding.mark is not None else ""
    galera = marks.noted(database, seen.holding)
    return msgspec.structs.replace(
        database.status,
        completed=ours and seen.found == seen.wanted,
        enableMultiMaster=seen.server.multi_master,
        # While the schema is missing, this says that there was one.
        hash={IDENTITY_KEY: identity or FIRST, **galera} if ours else database.status.hash,
    )


def takes_along(database: MariaDBDatabase) -> bool:
    """Return whether the schema is dropped with its resource; otherwise the resource needs no finalizer."""
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
async def databases(step: CreateSchema | MarkSchema | AlterSchema | DropSchema, world: World) -> None:
    """Carry out one step."""
    session = await world.session(step.server)
    thing = Thing(SCHEMA, step.schema.name)
    try:
        match step:
            case CreateSchema(schema=schema, owner=owner, again=again):
                # The mark comes first: if we are killed in between, the next pass finds no schema, and does both again.
                if owner:
                    identity = secrets.token_hex(IDENTITY) if again else ""
                    mark = Mark(owner, made=True, identity=identity, galera=step.server.uid)
                    await session.set_mark(thing, mark)
                await session.create_schema(schema)
            case MarkSchema(mark=mark):
                await session.set_mark(thing, mark)
            case AlterSchema(schema=schema):
                await session.alter_schema(schema)
            case DropSchema(schema=schema):
                await session.drop_schema(schema.name)
                if step.marked:
                    # A schema that is created later under this name is a new one.
                    await session.set_mark(thing, DROPPED)
    except AdapterError as error:
        raise step.server.explain(error, DATABASE_READY) from error

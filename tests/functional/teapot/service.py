"""Teapot makes tea: an API, and cells that brew. A small Nova, in Nova's words."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from stackwright.api.base import JsonObject
from stackwright.blueprint import apis, ini, oslo
from stackwright.blueprint.configuration import oslo_files
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.needs import Cache, CatalogEntry, Database, Each, Given, Login, Messaging, OutsideBroker
from stackwright.blueprint.needs.broker import BrokerFacts
from stackwright.blueprint.needs.cache import CacheFacts
from stackwright.blueprint.needs.database import DatabaseFacts
from stackwright.blueprint.needs.given import GIVEN_BROKER, GIVEN_DATABASE, broker_secret, database_secret
from stackwright.blueprint.needs.login import IdentityFacts
from stackwright.blueprint.needs.outside_broker import OutsideFacts
from stackwright.blueprint.service import Component, ConfigFile, Endpoint, Export, Job, Service
from stackwright.blueprint.workloads import Host
from stackwright.kube.plan import Wait
from stackwright.kube.resource import ObjectMeta
from stackwright.kube.shapes.child import Child, child

from .kinds import TeapotAPI, TeapotCell, TeapotCellSpec, TeapotCellTemplate, cell_condition

PORT = 8123
MAP = "map-"


@dataclass(frozen=True, kw_only=True)
class TeapotFacts(Facts):
    """What Teapot knows of the world around it."""

    database: DatabaseFacts
    identity: IdentityFacts
    # By the name of the cell.
    cell_databases: Mapping[str, DatabaseFacts] = field(default_factory=dict)
    cell_brokers: Mapping[str, BrokerFacts] = field(default_factory=dict)
    outside_brokers: Mapping[str, OutsideFacts] = field(default_factory=dict)


def cell_name(cell: str, resource: TeapotAPI) -> str:
    """Return what is named after a cell."""
    return f"{resource.metadata.name}-{cell}"


def cell_needs(resource: TeapotAPI) -> Iterator[Database | Messaging | OutsideBroker]:
    """Yield a database and a broker for each cell, the broker also as machines outside reach it."""
    for cell in sorted(resource.spec.cells):
        named = partial(cell_name, cell)
        yield Database(
            name="cell_databases",
            key=cell,
            instance=f"cells.{cell}.databaseInstance",
            account=f"cells.{cell}.databaseAccount",
            database=named,
            usual_account=named,
        )
        broker = Messaging(name="cell_brokers", key=cell, bus=f"cells.{cell}.messagingBus", url=named)
        yield broker
        yield OutsideBroker(name="outside_brokers", key=cell, broker=broker)


def files(resource: TeapotAPI, facts: TeapotFacts) -> tuple[ConfigFile, ...]:
    """Return the files that every program of Teapot reads."""
    settings = {
        "DEFAULT": {"kettle": resource.spec.kettle},
        **oslo.database(facts.database),
        **oslo.authtoken(facts.identity),
    }
    spec = resource.spec
    return oslo_files("teapot", settings, custom=spec.customServiceConfig, overwrite=spec.defaultConfigOverwrite)


def serve(_: TeapotAPI) -> str:
    """Return the command of the API."""
    return oslo.uwsgi("teapot.wsgi:application", PORT, processes=1, timeout=60)


def mapping(cell: str) -> Job[TeapotAPI, TeapotFacts]:
    """Return the job that writes into the API's database where a cell is: anew when one of its credentials changes."""
    return Job(
        f"{MAP}{cell}",
        lambda _: f"teapot-manage cell map {cell}",
        partial(mapping_inputs, cell),
        "MappingReady",
        files=files,
        after=("db-sync",),
    )


def mapping_inputs(cell: str, resource: TeapotAPI, facts: TeapotFacts) -> JsonObject:
    """Return all that a mapping writes."""
    return {**database_secret(facts.cell_databases[cell]), **broker_secret(facts.cell_brokers[cell])}


def jobs(resource: TeapotAPI) -> tuple[Job[TeapotAPI, TeapotFacts], ...]:
    """Return the jobs: the tables, and the mapping of each cell."""
    return (apis.db_sync("teapot-manage db sync", files), *(mapping(cell) for cell in sorted(resource.spec.cells)))


def exports(resource: TeapotAPI, facts: TeapotFacts) -> Iterator[Export]:
    """Yield what each cell reads, and what the machines outside read that pour for it."""
    for cell in sorted(resource.spec.cells):
        connections = {**database_secret(facts.cell_databases[cell]), **broker_secret(facts.cell_brokers[cell])}
        name = cell_name(cell, resource)
        yield Export(name, connections, readers=(("TeapotCell", name),))
        if url := facts.outside_brokers[cell].transport_url:
            reached = oslo.messaging(replace(facts.cell_brokers[cell], transport_url=url))
            yield Export(f"{name}-pourer-config", {"01-teapot.conf": ini.render(reached)})


def children(resource: TeapotAPI, facts: TeapotFacts) -> Iterator[Child | Wait]:
    """Yield the cells, each when it is mapped."""
    for cell, said in sorted(resource.spec.cells.items()):
        if f"{MAP}{cell}" not in facts.done:
            yield Wait("Mapping", f"Cell {cell} is created when it is mapped", cell_condition(cell))
            continue
        yield child(cell_of(cell, said, resource), condition=cell_condition(cell))


def cell_of(cell: str, said: TeapotCellTemplate, resource: TeapotAPI) -> TeapotCell:
    """Return the resource of a cell."""
    name = cell_name(cell, resource)
    spec = TeapotCellSpec(
        secret=name, replicas=said.replicas, kettle=resource.spec.kettle, memcachedInstance=said.memcachedInstance
    )
    return TeapotCell(metadata=ObjectMeta(name=name), spec=spec)


def foreseen(resource: TeapotAPI) -> Iterator[TeapotCell]:
    """Yield the cells: each has a cache, which the API has not."""
    yield from (cell_of(cell, said, resource) for cell, said in sorted(resource.spec.cells.items()))


API = Service(
    name="teapot",
    kind=TeapotAPI,
    facts=TeapotFacts,
    user="teapot",
    needs=(
        Database(),
        Login(),
        CatalogEntry(type="tea", description="Tea for everybody", path="/v1"),
        Each((Database, Messaging, OutsideBroker), cell_needs),
    ),
    endpoints=(Endpoint(port=PORT),),
    components=(apis.api(PORT, "/", serve, files),),
    jobs=jobs,
    forms=(apis.db_sync("", files), mapping("*")),
    exports=exports,
    children=children,
    owns=(TeapotCell,),
    foreseen=foreseen,
    problems=apis.problems,
    tell=apis.tell,
)


@dataclass(frozen=True, kw_only=True)
class CellFacts(Facts):
    """What a cell knows of the world around it."""

    database: DatabaseFacts
    messaging: BrokerFacts
    cache: CacheFacts | None


def cell_files(resource: TeapotCell, facts: CellFacts) -> Iterable[ConfigFile]:
    """Return the files that the programs of a cell read."""
    settings = {**oslo.messaging(facts.messaging), **oslo.database(facts.database)}
    if facts.cache is not None:
        settings |= oslo.cache(facts.cache)
    spec = resource.spec
    return oslo_files("teapot", settings, custom=spec.customServiceConfig, overwrite=spec.defaultConfigOverwrite)


CELL = Service(
    name="teapot-cell",
    chart="teapot",
    image="teapot",
    kind=TeapotCell,
    facts=CellFacts,
    user="teapot",
    needs=(
        Given(name="database", of=GIVEN_DATABASE),
        Given(name="messaging", of=GIVEN_BROKER),
        Cache(optional=True),
    ),
    components=(
        Component("brewer", command=lambda _: "teapot-brewer", files=cell_files),
        Component(
            "kettle",
            command=lambda resource: f"teapot-kettle --of {resource.spec.kettle}",
            files=cell_files,
            workload="DaemonSet",
            host=Host(network=True, pid=True),
        ),
    ),
)

SERVICES = (API, CELL)

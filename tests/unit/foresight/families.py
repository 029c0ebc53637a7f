"""A made-up service with children and children of these: a parent of cells, which each have a cook."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

from stackwright.api.base import VERSION, CustomResource, Definition, Kind, ObjectMeta, Value, shown
from stackwright.api.service import ServiceSpec, ServiceStatus
from stackwright.blueprint.children import Later
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.needs import Database, Each, Given, Password
from stackwright.blueprint.needs.database import DatabaseFacts
from stackwright.blueprint.needs.given import GIVEN_DATABASE, database_secret
from stackwright.blueprint.service import Component, ConfigFile, Export, Job, Service
from stackwright.kube.shapes.child import Child, child

GROUP = "tavern.openstack.org"


class Selectors(Value, frozen=True, kw_only=True):
    """Under which keys the passwords stand."""

    cells: str = "CellSecret"


class TavernSpec(ServiceSpec, frozen=True, kw_only=True):
    """A parent of cells, by name; each has a server for its schema."""

    cells: dict[str, str] = {}
    account: str = "tavern"
    passwordSelectors: Selectors = Selectors()


class Tavern(CustomResource, frozen=True, kw_only=True):
    """A parent of cells."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "Tavern", "taverns")
    definition: ClassVar[Definition] = shown()
    conditions: ClassVar[tuple[str, ...]] = ("InputReady", "DBReady", "MariaDBAccountReady", "CellsReady")

    spec: TavernSpec
    status: ServiceStatus = ServiceStatus()


class TavernCell(CustomResource, frozen=True, kw_only=True):
    """A cell."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "TavernCell", "taverncells")
    definition: ClassVar[Definition] = shown()
    conditions: ClassVar[tuple[str, ...]] = ("InputReady", "CookReady")

    spec: ServiceSpec
    status: ServiceStatus = ServiceStatus()


class TavernCook(CustomResource, frozen=True, kw_only=True):
    """What works in a cell."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "TavernCook", "taverncooks")
    definition: ClassVar[Definition] = shown()
    conditions: ClassVar[tuple[str, ...]] = ("InputReady",)

    spec: ServiceSpec
    status: ServiceStatus = ServiceStatus()


@dataclass(frozen=True, kw_only=True)
class TavernFacts(Facts):
    """What the parent knows."""

    databases: Mapping[str, DatabaseFacts] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CellFacts(Facts):
    """What a cell and its cook know."""

    database: DatabaseFacts


def _name(cell: str, tavern: Tavern) -> str:
    return f"{tavern.metadata.name}-{cell}"


def _needs(tavern: Tavern) -> Iterator[Any]:
    for cell in tavern.spec.cells:
        yield Password("cells", entry=cell)
        named = partial(_name, cell)
        yield Database(name="databases", key=cell, instance=f"cells.{cell}", account="account", database=named)


def _jobs(tavern: Tavern) -> tuple[Job[Any, Any], ...]:
    return tuple(
        Job(
            f"map-{cell}",
            lambda _: "map",
            lambda _, facts: {"done": sorted(facts.done)[:0]},
            "CellsReady",
            files=_files,
        )
        for cell in tavern.spec.cells
    )


def _exports(tavern: Tavern, facts: TavernFacts) -> Iterator[Export]:
    for cell in tavern.spec.cells:
        content = {**database_secret(facts.databases[cell]), "shared": facts.passwords[f"cells.{cell}"]}
        yield Export(_name(cell, tavern), content)


def _cells(tavern: Tavern, facts: TavernFacts) -> Iterator[Child]:
    for cell in tavern.spec.cells:
        if f"map-{cell}" in facts.done:
            name = _name(cell, tavern)
            made = TavernCell(metadata=ObjectMeta(name=name), spec=ServiceSpec(secret=name))
            yield child(made, condition="CellsReady")


def _cook(cell: TavernCell, facts: CellFacts) -> Iterator[Child]:
    metadata = ObjectMeta(name=f"{cell.metadata.name}-cook")
    yield child(TavernCook(metadata=metadata, spec=ServiceSpec(secret=cell.spec.secret)), condition="CookReady")


def _files(_: Any, facts: Any) -> tuple[ConfigFile, ...]:
    database = getattr(facts, "database", None)
    return (ConfigFile("own.conf", f"schema = {database.schema if database else ''}", "/etc/own.conf"),)


def _component(name: str) -> Component[Any, Any]:
    return Component(name, command=lambda _: name, files=_files)


GIVEN = Given(name="database", of=GIVEN_DATABASE)
TAVERN = Service[Any, Any](
    name="tavern",
    kind=Tavern,
    facts=TavernFacts,
    user="tavern",
    components=(_component("door"),),
    needs=(Each((Password, Database), _needs),),
    jobs=_jobs,
    exports=_exports,
    children=_cells,
    owns=(TavernCell,),
)
CELL = Service[Any, Any](
    name="tavern-cell",
    chart="tavern",
    image="tavern",
    kind=TavernCell,
    facts=CellFacts,
    user="tavern",
    components=(_component("table"),),
    needs=(GIVEN,),
    children=_cook,
    owns=(TavernCook,),
)
COOK = Service[Any, Any](
    name="tavern-cook",
    chart="tavern",
    image="kitchen",
    kind=TavernCook,
    facts=CellFacts,
    user="tavern",
    components=(_component("cook"),),
    needs=(GIVEN,),
)
SERVICES: dict[type[CustomResource], Service[Any, Any]] = {service.kind: service for service in (TAVERN, CELL, COOK)}


def _in_turn(tavern: Tavern, facts: TavernFacts) -> Iterator[Child | Later]:
    before = ""
    for cell in tavern.spec.cells:
        name = _name(cell, tavern)
        made = child(TavernCell(metadata=ObjectMeta(name=name), spec=ServiceSpec(secret=name)), condition="CellsReady")
        yield Later(made, after=(before,)) if before else made
        before = f"TavernCell/{name}"


# A parent that runs nothing itself: it has no chart and no image, and its cells come one after the other.
INN = replace(TAVERN, name="inn", components=(), jobs=(), children=_in_turn)


def _foreseen(tavern: Tavern) -> Iterator[CustomResource]:
    for cell in tavern.spec.cells:
        yield TavernCell(metadata=ObjectMeta(name=_name(cell, tavern)), spec=ServiceSpec(secret=tavern.spec.secret))


def _foreseen_cook(cell: TavernCell) -> Iterator[CustomResource]:
    yield TavernCook(metadata=ObjectMeta(name=f"{cell.metadata.name}-cook"), spec=cell.spec)


FORESEEN: dict[type[CustomResource], Service[Any, Any]] = {
    **SERVICES,
    Tavern: replace(TAVERN, foreseen=_foreseen),
    TavernCell: replace(CELL, foreseen=_foreseen_cook),
}


def tavern(**cells: str) -> Tavern:
    """Return a parent with cells, each with the name of its server."""
    return Tavern(metadata=ObjectMeta(name="tavern"), spec=TavernSpec(secret="osp-secret", cells=cells))

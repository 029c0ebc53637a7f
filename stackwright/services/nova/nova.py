"""Nova: it makes databases, users and logins, packs them into Secrets, and hands these to its cells and services."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import msgspec

from stackwright.api.base import JsonObject, ObjectMeta
from stackwright.api.keystone import KeystoneService
from stackwright.blueprint.children import Later
from stackwright.blueprint.claims import Claim
from stackwright.blueprint.facts import BrokerFacts, Endpoints
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs import (
    Api,
    Cache,
    CatalogEntry,
    Database,
    Each,
    Leftovers,
    Login,
    Messaging,
    Need,
    Notifications,
    Password,
    Reported,
)
from stackwright.blueprint.needs.given import broker_secret, database_secret
from stackwright.blueprint.network import Network
from stackwright.blueprint.providers import Sight
from stackwright.blueprint.service import Export, Service, Told
from stackwright.kube import conditions
from stackwright.kube.plan import Wait
from stackwright.kube.shapes.children import Child, child
from stackwright.services.nova import connections, mapping, outside_compute, rows, standing_for, upgrade
from stackwright.services.nova.api import OPTIONS
from stackwright.services.nova.api import PORT as API_PORT
from stackwright.services.nova.cell import CELL
from stackwright.services.nova.checks import is_metadata_global, nova_problems
from stackwright.services.nova.facts import NOTIFICATIONS, NOTIFICATIONS_SERVER, SERVICE_PASSWORD, SHARED_SECRET
from stackwright.services.nova.kinds.cell import CELL0, NovaCell, NovaCellSpec, compute_name
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.kinds.services import (
    NovaAPI,
    NovaAPISpec,
    NovaConductor,
    NovaMetadata,
    NovaMetadataSpec,
    NovaScheduler,
    NovaSchedulerSpec,
)
from stackwright.services.nova.parent import ParentFacts, cell_name, count_computes, has_seen, ready_cells
from stackwright.services.nova.standing_for import Part
from stackwright.services.nova.templates import spec_of

METADATA, CELL_METADATA = "metadataSecret", "prefixMetadataCellsSecret"
# What a cell has that reads its database, and how that is called behind the cell's name; not every cell has all of it.
IN_CELL = (("NovaConductor", "conductor"), ("NovaMetadata", "metadata"), ("NovaNoVNCProxy", "novncproxy"))


# What each cell needs.


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
                url=partial(_transport, cell),
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


def _transport(cell: str, resource: Nova) -> str:
    return f"{cell_name(resource, cell)}-transport"


def _api_transport(resource: Nova) -> str:
    return f"{resource.metadata.name}-api-transport"


def _notification_transport(resource: Nova) -> str:
    return f"{resource.metadata.name}-notification-transport"


# The Secrets that are handed down: the same that a user would write by hand.


def exports(resource: Nova, facts: ParentFacts) -> Iterator[Export]:
    """Yield the logins of the services for all cells, those of each cell, and each database."""
    name = facts.name
    whole = (("NovaAPI", f"{name}-api"), ("NovaScheduler", f"{name}-scheduler"), ("NovaMetadata", f"{name}-metadata"))
    content = _logins(facts, facts.messaging)
    if is_metadata_global(resource):
        content[SHARED_SECRET] = facts.passwords[METADATA]
    yield Export(name, content, readers=whole)
    # All that are declared: the Secret is not to change with each cell that is ready.
    asking = (cell for cell in sorted(resource.spec.cellTemplates) if _asks_api(resource, cell))
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
        yield Export(f"{own}-database", database, readers=(*readers, *(whole if cell == CELL0 else ())))
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


# What Nova stands for.


def children(resource: Nova, facts: ParentFacts) -> Iterator[Child | Later | Wait]:
    """Yield the cells, all at once, and the services for all cells when the declared cells are mapped.

    A cell is created when Keystone has the user that its services work as.
    """
    cells = ready_cells(resource, facts)
    course = upgrade.course(resource, facts)
    yield from course.waits
    for cell in sorted(resource.spec.cellTemplates):
        if cell in cells:
            cell_child = child(_cell(resource, facts, cell, course.images), condition="NovaAllCellReady")
            # Its processes end if they cannot log in to Keystone.
            yield Later(cell_child, after=(f"{KeystoneService.kind.name}/{resource.metadata.name}",))
        else:
            yield Wait("CellNotReady", f"Cell {cell} waits for its database and its broker", "NovaAllCellReady")
    missing = sorted(set(resource.spec.cellTemplates) - set(mapping.mapped(resource, facts)))
    yield from mapping.waits(resource, facts)
    yield from mapping.removals(resource, facts)
    yield from _without_computes(resource, facts)
    # One that was mapped before goes on with the mapping that it has, while that is written anew. One that is removed
    # is told until Nova does not know it any more: processes remember the cells that they found when they started.
    known = mapping.remembered(resource, facts)
    if missing and not _known(resource) and (patience := mapping.patience(facts)) is not None:
        message = f"Cells that are not mapped yet: {', '.join(missing)}"
        for condition in ("NovaAPIReady", "NovaSchedulerReady", "NovaMetadataReady"):
            if condition in resource.declared_conditions():
                yield Wait("CellsNotMapped", message, condition, after=patience)
        return
    yield from _services(resource, facts, known, course.images)


def _without_computes(resource: Nova, facts: ParentFacts) -> Iterator[Child]:
    """Yield the cells that are removed, as they are but for their computes, which go when no server is left on them."""
    for cell, there in facts.former.items():
        if there is not None and rows.is_emptied(facts, cell):
            spec = msgspec.structs.replace(there.spec, novaComputeTemplates={})
            named = NovaCell(metadata=ObjectMeta(name=there.metadata.name), spec=spec)
            yield child(named, condition="NovaCellsDeletion")


def _known(resource: Nova) -> dict[str, str]:
    """Return the cells that the services were told of, as far as they are declared."""
    declared = {cell_name(resource, cell) for cell in resource.spec.cellTemplates}
    return {name: value for name, value in resource.status.registeredCells.items() if name in declared}


def _asks_api(resource: Nova, cell: str) -> bool:
    """Return whether the conductors of a cell have the API's database."""
    return resource.spec.cellTemplates[cell].hasAPIAccess or cell == CELL0


def _cell(resource: Nova, facts: ParentFacts, cell: str, images: Mapping[str, str]) -> NovaCell:
    spec, said, name = resource.spec, resource.spec.cellTemplates[cell], cell_name(resource, cell)
    known = {key: value for key, value in msgspec.structs.asdict(said).items() if key in NovaCellSpec.__struct_fields__}
    known |= {
        "cellName": cell,
        "secret": name,
        "keystoneAuthURL": facts.identity.url,
        "keystonePublicAuthURL": facts.identity.public_url,
        "serviceUser": spec.serviceUser,
        "region": facts.identity.region,
        "apiTimeout": spec.apiTimeout,
        "memcachedInstance": said.memcachedInstance or spec.memcachedInstance,
        "cellDatabaseSecret": f"{name}-database",
        "nodeSelector": said.nodeSelector if said.nodeSelector is not None else spec.nodeSelector,
        "topologyRef": said.topologyRef or spec.topologyRef,
        "preserveJobs": spec.preserveJobs,
    }
    if _asks_api(resource, cell):
        known["apiDatabaseSecret"] = f"{facts.name}-api-database"
    # Also those that the image manifest says: another manifest must not restart what is to wait.
    known |= {f"{service}ContainerImageURL": images[service] for service in upgrade.OF_CELLS}
    del known["cellDatabaseAccount"]
    return NovaCell(metadata=ObjectMeta(name=name), spec=NovaCellSpec(**known))


def _services(
    resource: Nova, facts: ParentFacts, cells: Mapping[str, str], images: Mapping[str, str]
) -> Iterator[Child]:
    spec, name = resource.spec, resource.metadata.name
    common: JsonObject = {
        "secret": name,
        "keystoneAuthURL": facts.identity.url,
        "keystonePublicAuthURL": facts.identity.public_url,
        "serviceUser": spec.serviceUser,
        "region": facts.identity.region,
        "apiTimeout": spec.apiTimeout,
        "memcachedInstance": spec.memcachedInstance,
        "apiDatabaseSecret": f"{name}-api-database",
        "cell0DatabaseSecret": f"{cell_name(resource, CELL0)}-database",
        "cellDatabaseSecret": f"{cell_name(resource, CELL0)}-database",
        "registeredCells": dict(cells),
        "preserveJobs": spec.preserveJobs,
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


# What its names come to.


def parts(resource: Nova, *, whole: bool = True) -> Iterator[Part]:
    """Yield what Nova stands for; unless `whole`, without what its cells stand for."""
    name = resource.metadata.name
    yield from standing_for.services(name, metadata=is_metadata_global(resource))
    for cell, said in sorted(resource.spec.cellTemplates.items(), key=lambda entry: (entry[0] != CELL0, entry[0])):
        own, path = cell_name(resource, cell), f"spec.cellTemplates[{cell}]"
        secrets = (*_secrets(own), outside_compute.secret_name(own), _login_to(_transport(cell, resource)))
        yield standing_for.part(CELL, own, path, secrets=secrets, cellName=cell)
        if whole:
            yield from standing_for.services_of_cell(own, cell, said, path)


def _secrets(own: str) -> tuple[str, ...]:
    """Return the Secrets that Nova writes for a cell."""
    return own, f"{own}-database", mapping.scripts_name(own)


def _secrets_for_all(resource: Nova) -> tuple[str, ...]:
    name = resource.metadata.name
    return name, f"{name}-api-database"


def _login_to(url: str) -> str:
    """Return the Secret that is made for a TransportURL."""
    return f"rabbitmq-transport-url-{url}"


def problems(resource: Nova, look: Look) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with Nova, and with the names of what it stands for."""
    found = tuple(nova_problems(resource, look))
    yield from found
    # A name that is none is told once.
    if not found:
        urls = (_api_transport(resource), _notification_transport(resource))
        own = Part(NOVA, resource, secrets=(*_secrets_for_all(resource), *map(_login_to, urls)))
        yield from standing_for.problems(own, parts(resource))


def claims(resource: Nova) -> Iterator[Claim]:
    """Yield what Nova creates, besides what its needs ask for."""
    cells = (name for cell in resource.spec.cellTemplates for name in _secrets(cell_name(resource, cell)))
    return standing_for.claims(parts(resource, whole=False), (*_secrets_for_all(resource), *cells))


def present_needs(resource: Nova) -> Iterable[Need]:
    """Return all that Nova needs now: what it needed for a removed cell is not among it."""
    return NOVA.needs_of(resource)


def served(resource: Nova, sight: Sight) -> Endpoints | None:
    """Return where the API is, once it says so."""
    api = sight(NovaAPI, f"{resource.metadata.name}-api")
    urls = api.status.apiEndpoints if api is not None else {}
    return Endpoints(**urls) if urls else None


def tell(resource: Nova, facts: ParentFacts | None, look: Look) -> Told[Nova]:
    """Return where Nova is, which cells are mapped, what runs, and how many pods of each service are ready."""
    name = resource.metadata.name
    api = look(NovaAPI, f"{name}-api")
    found: dict[str, Any] = {
        "apiServiceReadyCount": api,
        "schedulerServiceReadyCount": look(NovaScheduler, f"{name}-scheduler"),
        "metadataServiceReadyCount": look(NovaMetadata, f"{name}-metadata"),
    }
    changes: JsonObject = {key: of.status.readyCount if of is not None else 0 for key, of in found.items()}
    if api is not None and api.status.apiEndpoints:
        changes["apiEndpoints"] = api.status.apiEndpoints
    if facts is not None:
        changes["databaseHostname"] = facts.api_database.hostname
        course = upgrade.course(resource, facts)
        changes["serviceHosts"] = rows.remembered(resource, facts)
        changes |= {"images": dict(sorted(course.images.items())), "upgradePhase": course.phase}
    if facts is not None and api is not None:
        changes["registeredCells"] = mapping.remembered(resource, facts)
        changes["discoveredCells"] = mapping.discovered(resource, facts)
    return Told(msgspec.structs.replace(resource.status, **changes))


NOVA = Service(
    name="nova",
    kind=Nova,
    facts=ParentFacts,
    user="nova",
    components=(),
    needs=(
        Password(METADATA),
        Database(
            name="api_database",
            instance="apiDatabaseInstance",
            account="apiDatabaseAccount",
            database=lambda resource: f"{resource.metadata.name}-api",
            made="NovaAPIDBReady",
        ),
        Messaging(
            name="messaging",
            cluster="apiMessageBusInstance",
            usual="rabbitmq",
            url=_api_transport,
            condition="NovaAPIMQReady",
        ),
        Notifications(
            cluster="notificationsBusInstance",
            url=_notification_transport,
            condition="NovaNotificationMQReady",
            apart=True,
        ),
        # Its services say themselves how they are without it.
        Cache(name="", apart=True, optional=True),
        # What servers are made of; the services find them in the catalog.
        Api(type="placement", usual="placement", optional=True),
        Api(type="image", usual="glance", optional=True),
        Api(type="network", usual="neutron", optional=True),
        Login(),
        CatalogEntry(type="compute", description="Nova", path="/v2.1", served_by=served),
        Each((Database, Messaging, Password, Reported), cell_needs),
        Leftovers(present=present_needs),
        Each((Reported,), upgrade.needs),
        Each((Reported,), rows.needs),
        Reported(
            name="synced",
            of=NovaConductor,
            resource=lambda resource: f"{cell_name(resource, CELL0)}-conductor",
            condition="DBSyncReady",
        ),
    ),
    jobs=mapping.jobs,
    # The jobs that delete rows ask Nova's API.
    network=Network(dials=(API_PORT,)),
    forms=mapping.FORMS,
    exports=exports,
    children=children,
    owns=(NovaCell, NovaAPI, NovaScheduler, NovaMetadata),
    problems=problems,
    claims=claims,
    advice=connections.advice,
    options=OPTIONS,
    tell=tell,
)

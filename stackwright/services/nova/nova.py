"""Nova: it makes databases, users and logins, packs them into Secrets, and hands these to its cells and services.

| what | where |
|---|---|
| what each cell needs | `cell_needs.py` |
| the Secrets that are handed down | `handed_down.py` |
| the resources that Nova stands for | `children.py` |
| which cells it knows, which rows are too many, how far an upgrade is | `mapping.py`, `rows.py`, `upgrade.py` |
| what all of that is called | `own_names.py` |
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from stackwright.api.base import JsonObject
from stackwright.api.dataplane import OpenStackDataPlaneNode
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.blueprint.facts import Endpoints
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs import (
    Api,
    Cache,
    CatalogEntry,
    Census,
    Database,
    Each,
    GivenEarlier,
    Leftovers,
    Login,
    Messaging,
    Need,
    Notifications,
    Password,
    Reported,
)
from stackwright.blueprint.network import Network
from stackwright.blueprint.providers import Sight
from stackwright.blueprint.service import Service, Told
from stackwright.services.nova import (
    cell_needs,
    children,
    connection_limits,
    generic_computes,
    handed_down,
    mapping,
    own_names,
    rows,
    upgrade,
)
from stackwright.services.nova.api import OPTIONS
from stackwright.services.nova.api import PORT as API_PORT
from stackwright.services.nova.checks import nova_problems
from stackwright.services.nova.kinds.cell import CELL0, NovaCell
from stackwright.services.nova.kinds.external_compute import NovaExternalCompute
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.kinds.services import NovaAPI, NovaConductor, NovaMetadata, NovaScheduler
from stackwright.services.nova.parent import METADATA, ParentFacts, api_transport, cell_name, notification_transport


def problems(resource: Nova, look: Look) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with Nova, and with the names of what it stands for."""
    found = tuple(nova_problems(resource, look))
    # A name that is none is told once.
    yield from found or own_names.problems(NOVA, resource)


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
        stage = upgrade.find_stage(resource, facts)
        changes["serviceHosts"] = rows.remembered(resource, facts)
        changes |= {"images": dict(sorted(stage.images.items())), "upgradePhase": stage.phase}
    if facts is not None and api is not None:
        changes["registeredCells"] = mapping.remembered(resource, facts)
        changes["discoveredCells"] = mapping.discovered(resource, facts)
        changes["discoveredHosts"] = mapping.met(resource, facts)
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
            url=api_transport,
            condition="NovaAPIMQReady",
        ),
        Notifications(
            cluster="notificationsBusInstance",
            url=notification_transport,
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
        Each((Database, Messaging, Password, Reported), cell_needs.cell_needs),
        Leftovers(present=present_needs),
        Each((Reported,), upgrade.needs),
        Each((Reported, GivenEarlier), rows.needs),
        Census(name="machines", of=NovaExternalCompute, read=cell_needs.read_machine),
        Census(name="nodes", of=OpenStackDataPlaneNode, read=generic_computes.read_node),
        Census(name="node_services", of=OpenStackDataPlaneService, read=generic_computes.read_service),
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
    exports=handed_down.exports,
    children=children.children,
    owns=(NovaCell, NovaAPI, NovaScheduler, NovaMetadata),
    forsaken=children.is_forsaken,
    problems=problems,
    claims=own_names.claims,
    advice=connection_limits.advice,
    options=OPTIONS,
    tell=tell,
)

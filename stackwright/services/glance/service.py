"""Glance keeps the images that servers start from, and serves them to clients and to other services."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec

from stackwright.api.base import JsonObject
from stackwright.api.keystone import KeystoneService
from stackwright.blueprint.apis import db_sync
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs import Cache, CatalogEntry, Database, Login, Notifications, Snippets
from stackwright.blueprint.network import Network
from stackwright.blueprint.service import DB_SYNC, Component, RunJob, Schedule, Service, Told
from stackwright.blueprint.workloads import Port
from stackwright.kube.builtin import Deployment
from stackwright.kube.conditions import READY, Finding
from stackwright.services.glance import apis
from stackwright.services.glance.apis import ApiComponent
from stackwright.services.glance.checks import advice, problems
from stackwright.services.glance.kinds import Glance
from stackwright.services.glance.settings import GlanceFacts, files, manage_files, serve, snippet_secrets

SYNC = db_sync("glance-manage db_sync", manage_files)
METADEFS = "load-metadefs"
PURGE = "db-purge"
# More than a cloud deletes in a day, and little enough for one transaction of the database's cluster.
MOST_ROWS = 10000
# What every API is to the chart, under whatever name.
API = Component[Glance, GlanceFacts](
    "*",
    ports=(Port("api", apis.PORT),),
    probe="/healthcheck",
    # One that is busy with transfers is not taken for dead.
    probes={"liveness": {"tcpSocket": {"port": "api"}}},
    after=(DB_SYNC,),
    # Images, what is staged for an import, and what tasks write.
    data="/var/lib/glance",
    # A transfer may end before a pod goes.
    finish=600,
)


def components(resource: Glance) -> tuple[Component[Glance, GlanceFacts], ...]:
    """Return the pods of all APIs."""
    return tuple(
        replace(
            API,
            name=component.name,
            command=partial(lambda component, _: serve(component), component),
            files=partial(files, component),
            template=partial(lambda component, _: component.api.template, component),
            values=partial(store, component),
        )
        for component in apis.components(resource)
    )


def store(component: ApiComponent, resource: Glance, facts: GlanceFacts) -> JsonObject:
    """Return where the chart finds the volume of a component; without one, images are elsewhere."""
    claim = {"claim": f"{facts.name}-{component.api.name}", "shared": component.api.shared}
    return {} if component.api.external else {"volume": claim}


def purge(resource: Glance) -> str:
    """Return the command that removes the rows of what was deleted."""
    return f"glance-manage db purge --age_in_days {resource.spec.dbPurge.age} --max_rows {MOST_ROWS}"


def tell(resource: Glance, facts: GlanceFacts | None, look: Look) -> Told[Glance]:
    """Return where Glance is, and how many pods of each API serve."""
    ready = {api.name: [_ready(resource, component, look) for component in api.components] for api in apis.of(resource)}
    registered = look(KeystoneService, resource.metadata.name)
    changes: JsonObject = {"glanceAPIReadyCounts": {name: sum(counts) for name, counts in ready.items()}}
    if registered is not None:
        changes["serviceID"] = registered.status.serviceID
    if facts is not None:
        changes["databaseHostname"] = facts.database.hostname
        if facts.endpoints is not None:
            changes["apiEndpoint"] = {"public": facts.endpoints.public, "internal": facts.endpoints.internal}
    return Told(msgspec.structs.replace(resource.status, **changes), (_served(resource, ready),))


def _ready(resource: Glance, component: ApiComponent, look: Look) -> int:
    deployment = look(Deployment, f"{resource.metadata.name}-{component.name}")
    return int(deployment.status.get("readyReplicas", 0)) if deployment is not None else 0


def _served(resource: Glance, ready: dict[str, list[int]]) -> Finding:
    missing = [api.name for api in apis.of(resource) if min(ready[api.name]) < min(api.template.replicas, 1)]
    if not missing:
        return Finding("GlanceAPIReady", "True", READY, "")
    return Finding("GlanceAPIReady", "False", "Waiting", f"No pod is ready yet of: {', '.join(missing)}", "Info")


SERVICE = Service(
    name="glance",
    kind=Glance,
    facts=GlanceFacts,
    user="glance",
    needs=(
        Database(),
        Cache(),
        Notifications(cluster="notificationBusInstance", condition="NotificationBusInstanceReady"),
        Login(),
        CatalogEntry(type="image", description="Glance", urls="apiEndpoint"),
        Snippets(snippet_secrets),
    ),
    endpoints=apis.endpoints,
    components=components,
    forms=(API,),
    volumes=apis.volumes,
    # A pod hands an import to the one that has staged the image; and users name the web page that an image comes from.
    network=Network(peers=True, dials=(80, 443)),
    jobs=(
        SYNC,
        # The definitions of metadata that Glance comes with; what is there already stays, and nobody waits for it.
        replace(
            SYNC,
            name=METADEFS,
            command=lambda _: "glance-manage db_load_metadefs",
            condition="",
            description="Loads the definitions of metadata that Glance comes with.",
            after=(DB_SYNC,),
        ),
    ),
    schedules=(
        Schedule(
            PURGE,
            command=purge,
            when=lambda resource: resource.spec.dbPurge.schedule,
            files=manage_files,
            description="Deletes for good what was deleted a while ago.",
            after=(DB_SYNC,),
        ),
    ),
    actions={METADEFS: RunJob(METADEFS), "purge-database": RunJob(PURGE)},
    problems=problems,
    advice=advice,
    tell=tell,
    options=Path(__file__).with_name("options.json"),
    unread=("glanceAPIs.*.networkAttachments",),
    image_fields=("containerImage", "glanceAPIs.*.containerImage"),
)

"""Placement counts which resources there are, and who uses how much of them."""

from dataclasses import dataclass
from pathlib import Path

from stackwright.blueprint import apis, oslo, serving
from stackwright.blueprint.configuration import oslo_files
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.ini import Ini
from stackwright.blueprint.needs import CatalogEntry, Database, Login
from stackwright.blueprint.needs.database import DatabaseFacts
from stackwright.blueprint.needs.login import IdentityFacts
from stackwright.blueprint.service import DB_SYNC, ConfigFile, Endpoint, Job, RunJob, Service
from stackwright.services.placement.kinds import PlacementAPI

PORT = 8778
PROCESSES = 2
IMPORTS = ("placement.wsgi", "placement.handler", "keystonemiddleware.auth_token")
MIGRATE = "online-data-migrations"


@dataclass(frozen=True, kw_only=True)
class PlacementFacts(Facts):
    """What Placement knows of the world around it."""

    database: DatabaseFacts
    identity: IdentityFacts


def settings(facts: PlacementFacts) -> Ini:
    """Return only what differs from Placement's own defaults."""
    return {
        **oslo.LOGGING,
        **oslo.database(facts.database, "placement_database"),
        **oslo.authtoken(facts.identity),
        "oslo_middleware": {"enable_proxy_headers_parsing": True},
    }


def files(resource: PlacementAPI, facts: PlacementFacts) -> tuple[ConfigFile, ...]:
    """Return the files that every program of Placement reads."""
    spec = resource.spec
    said = settings(facts)
    return (
        *oslo_files("placement", said, custom=spec.customServiceConfig, overwrite=spec.defaultConfigOverwrite),
        # It reads its tables while it is loaded.
        serving.application("placement", "placement.wsgi.api"),
    )


def serve(resource: PlacementAPI) -> str:
    """Return the command of the API."""
    timeout = resource.spec.apiTimeout
    return oslo.uwsgi(serving.place("placement"), PORT, processes=PROCESSES, timeout=timeout, imports=IMPORTS)


SERVICE = Service(
    name="placement",
    kind=PlacementAPI,
    facts=PlacementFacts,
    user="placement",
    needs=(Database(), Login(), CatalogEntry(type="placement", description="Placement")),
    endpoints=(Endpoint(port=PORT),),
    components=(apis.api(PORT, "/", serve, files),),
    jobs=(
        apis.db_sync("placement-manage db sync", files),
        # Only when somebody asks for it.
        Job(
            MIGRATE,
            lambda _: "placement-manage db online_data_migrations",
            lambda _, __: None,
            condition="",
            files=files,
            description="Moves data of an older release to where the present one looks for it.",
            tables=True,
            after=(DB_SYNC,),
        ),
    ),
    actions={"migrate-data": RunJob(MIGRATE)},
    problems=apis.problems,
    tell=apis.tell,
    options=Path(__file__).with_name("options.json"),
    unread=("networkAttachments",),
)

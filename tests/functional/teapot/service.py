"""Teapot makes tea."""

from dataclasses import dataclass

from stackwright.blueprint import apis, oslo
from stackwright.blueprint.configuration import oslo_files
from stackwright.blueprint.facts import DatabaseFacts, Facts, IdentityFacts
from stackwright.blueprint.needs import CatalogEntry, Database, Login
from stackwright.blueprint.service import ConfigFile, Endpoint, Service

from .kinds import TeapotAPI

PORT = 8123


@dataclass(frozen=True, kw_only=True)
class TeapotFacts(Facts):
    """What Teapot knows of the world around it."""

    database: DatabaseFacts
    identity: IdentityFacts


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


SERVICE = Service(
    name="teapot",
    kind=TeapotAPI,
    facts=TeapotFacts,
    user="teapot",
    needs=(Database(), Login(), CatalogEntry(type="tea", description="Tea for everybody", path="/v1")),
    endpoints=(Endpoint(port=PORT),),
    components=(apis.api(PORT, "/", serve, files),),
    jobs=(apis.db_sync("teapot-manage db sync", files),),
    problems=apis.problems,
    tell=apis.tell,
)

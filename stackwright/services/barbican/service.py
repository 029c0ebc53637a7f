"""Barbican keeps secrets: those that users bring, and keys that it generates for them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from stackwright.api.base import JsonObject
from stackwright.blueprint import apis, oslo, serving, start
from stackwright.blueprint.configuration import oslo_files
from stackwright.blueprint.facts import BrokerFacts, DatabaseFacts, Facts, IdentityFacts
from stackwright.blueprint.ini import Ini
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs import CatalogEntry, Database, Login, Messaging, Password
from stackwright.blueprint.service import DB_SYNC, Component, ConfigFile, Endpoint, Job, RunJob, Service, Told
from stackwright.services.barbican.kinds import Barbican

PORT = 9311
PROCESSES = 2
IMPORTS = ("barbican.api.app", "barbican.api.controllers.versions", "keystonemiddleware.auth_token")
CLEAN = "db-clean"
KEY = "simplecryptokek"
TEMPLATES = {"api": "barbicanAPI", "worker": "barbicanWorker"}


# What encrypts and keeps secrets is loaded when the first request asks for it; one that is not there is only logged.
PLUGINS = """
def plugins():
    from barbican.plugin import store_crypto
    from barbican.plugin.crypto import manager
    from barbican.plugin.interface import secret_store

    stores = secret_store.get_manager()
    require("What [secretstore] enabled_secretstore_plugins names", [stores])
    if any(isinstance(each.obj, store_crypto.StoreCryptoAdapterPlugin) for each in stores.extensions):
        require("What [crypto] enabled_crypto_plugins names", [manager.get_manager()])


plugins()
"""
WORK = f"""\
from barbican.cmd import worker
from barbican.common import config

# By its name oslo.config finds files for it alone.
sys.argv[0] = "barbican-worker"
config.CONF(sys.argv[1:], project="barbican")
check()
{PLUGINS}
STARTED.touch()
worker.main()
"""
PROGRAMS = {
    # It reads its tables while it is loaded.
    "api": serving.application("barbican", "barbican.wsgi.api", PLUGINS),
    "worker": serving.daemon("barbican", WORK),
}


@dataclass(frozen=True, kw_only=True)
class BarbicanFacts(Facts):
    """What Barbican knows of the world around it."""

    database: DatabaseFacts
    messaging: BrokerFacts
    identity: IdentityFacts


def settings(facts: BarbicanFacts) -> Ini:
    """Return only what differs from Barbican's own defaults."""
    return {
        **oslo.messaging(facts.messaging),
        **oslo.database(facts.database),
        **oslo.authtoken(facts.identity),
        "oslo_middleware": {"enable_proxy_headers_parsing": True},
        "queue": {"enable": True},
        "simple_crypto_plugin": {"kek": facts.passwords[KEY]},
    }


def template(component: str, resource: Barbican) -> Any:
    """Return what a component says of its pods, with what it leaves to the whole filled in."""
    spec = resource.spec
    said = getattr(spec, TEMPLATES[component])
    selected = spec.nodeSelector if said.nodeSelector is None else said.nodeSelector
    return msgspec.structs.replace(said, nodeSelector=selected)


def files(component: str, resource: Barbican, facts: BarbicanFacts) -> tuple[ConfigFile, ...]:
    """Return the files that a component reads: ours, those for all of Barbican, its own last."""
    spec, name = resource.spec, f"03-barbican-{component}-override.conf"
    ours = oslo_files(
        "barbican", settings(facts), custom=spec.customServiceConfig, overwrite=spec.defaultConfigOverwrite
    )
    own = template(component, resource).customServiceConfig
    return (*ours, PROGRAMS[component], ConfigFile(name, own, f"/etc/barbican/barbican.conf.d/{name}"))


def serve(resource: Barbican) -> str:
    """Return the command of the API."""
    timeout = resource.spec.barbicanAPI.apiTimeout
    return oslo.uwsgi(serving.place("barbican"), PORT, processes=PROCESSES, timeout=timeout, imports=IMPORTS)


def started(resource: Barbican, facts: BarbicanFacts) -> JsonObject:
    """Return what the chart looks for once a worker has read its configuration; a user's own command leaves nothing."""
    own = start.own_of(template("worker", resource))
    return {} if own is not None and own.command else {"started": serving.STARTED}


def endpoints(resource: Barbican) -> tuple[Endpoint, ...]:
    """Return the API; what users say of its Services stands in its own template."""
    return (Endpoint(port=PORT, override=resource.spec.barbicanAPI.override.service),)


def problems(resource: Barbican, look: Look) -> Iterable[tuple[str, str]]:
    """Yield the path of each field that cannot be, and what to do about it."""
    yield from apis.problems(resource, look, api="barbicanAPI")


def tell(resource: Barbican, facts: BarbicanFacts | None, look: Look) -> Told[Barbican]:
    """Return where Barbican is."""
    told = apis.tell(resource, facts, look)
    if facts is None:
        return told
    return Told(msgspec.structs.replace(told.status, transportURLSecret=facts.messaging.secret))


SERVICE = Service(
    name="barbican",
    kind=Barbican,
    facts=BarbicanFacts,
    user="barbican",
    needs=(
        Password(KEY, fernet=True),
        Database(),
        Messaging(),
        Login(),
        CatalogEntry(type="key-manager", description="Barbican"),
    ),
    endpoints=endpoints,
    components=(
        replace(apis.api(PORT, "/healthcheck", serve, partial(files, "api")), template=partial(template, "api")),
        Component(
            "worker",
            command=lambda _: f"python3 {PROGRAMS['worker'].destination}",
            files=partial(files, "worker"),
            template=partial(template, "worker"),
            values=started,
            description="What carries out orders: the Deployment <release>-worker.",
            after=(DB_SYNC,),
        ),
    ),
    jobs=(
        apis.db_sync("barbican-manage db upgrade", partial(files, "api")),
        # Only when somebody asks for it.
        Job(
            CLEAN,
            lambda _: "barbican-manage db clean",
            lambda _, __: None,
            condition="",
            files=partial(files, "api"),
            description="Removes rows of what was deleted long ago.",
            after=(DB_SYNC,),
        ),
    ),
    actions={"clean-database": RunJob(CLEAN)},
    problems=problems,
    tell=tell,
    options=Path(__file__).with_name("options.json"),
    unread=(
        "topologyRef",
        "barbicanAPI.topologyRef",
        "barbicanAPI.networkAttachments",
        "barbicanWorker.topologyRef",
        "barbicanWorker.networkAttachments",
    ),
)

"""What Glance's configuration says, beyond Glance's own defaults, and how its programs start."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from stackwright.blueprint import oslo, placeholders, serving
from stackwright.blueprint.configuration import oslo_files, snippet_files
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.ini import Ini
from stackwright.blueprint.needs.broker import BrokerFacts
from stackwright.blueprint.needs.cache import CacheFacts
from stackwright.blueprint.needs.database import DatabaseFacts
from stackwright.blueprint.needs.login import IdentityFacts
from stackwright.blueprint.service import ConfigFile
from stackwright.services.glance import apis
from stackwright.services.glance.apis import ApiComponent
from stackwright.services.glance.kinds import Glance

# Where the chart mounts the volume of an API, or a directory of the pod's own where images are elsewhere.
DATA = "/var/lib/glance"
SNIPPETS = "/etc/glance/glance.conf.d"
PROCESSES = 2
# How a snippet names the stores.
_STORES = re.compile(r"^\s*enabled_backends\s*[=:](.*)$", re.MULTILINE)
IMPORTS = (
    "glance.common.wsgi_app",
    "glance.api.v2.router",
    "glance.db.sqlalchemy.api",
    "keystonemiddleware.auth_token",
)


_ASK = """
import sqlalchemy
from glance.db.sqlalchemy import api


def ask():
    with api.get_engine().connect() as connection:
        connection.execute(sqlalchemy.text("SELECT id FROM images LIMIT 1"))


reach(ask)
"""
PREPARE = serving.policies("glance.api", "Enforcer().load_rules") + _ASK


@dataclass(frozen=True, kw_only=True)
class GlanceFacts(Facts):
    """What Glance knows of the world around it."""

    database: DatabaseFacts
    cache: CacheFacts
    notifications: BrokerFacts | None
    identity: IdentityFacts
    # The user's own, by Secret and key.
    snippets: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)


def settings(component: ApiComponent, facts: GlanceFacts) -> Ini:
    """Return what the pods of a component read."""
    return {
        "DEFAULT": {
            "use_stderr": True,
            "show_image_direct_url": component.shows_locations,
            "show_multiple_locations": component.shows_locations,
            # Where images are elsewhere, the user's snippet says in which stores.
            "enabled_backends": None if component.api.external else "file:file",
        },
        "glance_store": {"default_backend": None if component.api.external else "file"},
        "file": {"filesystem_store_datadir": None if component.api.external else f"{DATA}/images"},
        # On the volume, so that any pod imports what another one has staged, also after a restart. Without a volume
        # each pod stages for itself: the chart then tells it the URL under which the others hand it the request.
        "os_glance_staging_store": {"filesystem_store_datadir": f"{DATA}/staging"},
        "os_glance_tasks_store": {"filesystem_store_datadir": f"{DATA}/tasks"},
        "paste_deploy": {"flavor": "keystone"},
        "oslo_middleware": {"enable_proxy_headers_parsing": True},
        # Under uwsgi Python does not know where it is itself.
        "wsgi": {"python_interpreter": "python3"},
        **oslo.database(facts.database),
        **oslo.authtoken(facts.identity, facts.cache),
        **oslo.notifications(facts.notifications),
    }


def import_methods(component: ApiComponent, said: Iterable[str]) -> str | None:
    """Return the ways to import an image: no copies between stores where there is one; None for Glance's defaults.

    `said` is what the user's snippets say, the last one last.
    """
    stores = "" if component.api.external else "file:file"
    for text in said:
        for found in _STORES.finditer(text):
            stores = found[1]
    return None if "," in stores else "[glance-direct,web-download]"


def files(component: ApiComponent, resource: Glance, facts: GlanceFacts) -> tuple[ConfigFile, ...]:
    """Return the files of a component: ours, those for all APIs, and those for its own API last."""
    theirs = tuple(_theirs(component, resource, facts))
    general = settings(component, facts)
    methods = import_methods(component, (resource.spec.customServiceConfig, *(file.content for file in theirs)))
    ours = oslo_files(
        "glance",
        {**general, "DEFAULT": {**general["DEFAULT"], "enabled_import_methods": methods}},
        custom=placeholders.fill(resource.spec.customServiceConfig, facts.identity),
        overwrite=component.api.template.defaultConfigOverwrite,
        component=component.name,
    )
    return (*ours, serving.application("glance", "glance.wsgi.api", PREPARE), *theirs)


def _theirs(component: ApiComponent, resource: Glance, facts: GlanceFacts) -> Iterator[ConfigFile]:
    """Yield what users say of a component: for its API alone, and in Secrets."""
    template, before = component.api.template, f"{component.name}-"
    custom = placeholders.fill(template.customServiceConfig, facts.identity)
    yield _snippet("03-glance-api-override.conf", custom, before)
    yield from snippet_files(SNIPPETS, 4, resource.spec.customServiceConfigSecrets, facts.snippets, before)
    yield from snippet_files(SNIPPETS, 5, template.customServiceConfigSecrets, facts.snippets, before)


def manage_files(resource: Glance, facts: GlanceFacts) -> tuple[ConfigFile, ...]:
    """Return what glance-manage reads: it needs only the database."""
    said = {**oslo.LOGGING, **oslo.database(facts.database)}
    custom = placeholders.fill(resource.spec.customServiceConfig, facts.identity)
    ours = oslo_files("glance", said, custom=custom, overwrite={})
    return (*ours, *snippet_files(SNIPPETS, 4, resource.spec.customServiceConfigSecrets, facts.snippets))


def snippet_secrets(resource: Glance) -> Iterable[str]:
    """Return the Secrets with snippets that a Glance reads."""
    own = (name for template in resource.spec.glanceAPIs.values() for name in template.customServiceConfigSecrets)
    return dict.fromkeys((*resource.spec.customServiceConfigSecrets, *own))


def _snippet(name: str, content: str, before: str) -> ConfigFile:
    return ConfigFile(f"{before}{name}", content, f"{SNIPPETS}/{name}")


def serve(component: ApiComponent) -> str:
    """Return the command of a component."""
    timeout = component.api.template.apiTimeout or 0
    return oslo.uwsgi(
        serving.place("glance"), apis.PORT, processes=PROCESSES, timeout=timeout, streams=True, imports=IMPORTS
    )

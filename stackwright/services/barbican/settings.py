"""What Barbican's configuration says, beyond Barbican's own defaults, and how its programs start."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from stackwright.api.base import JsonObject
from stackwright.blueprint import oslo, serving
from stackwright.blueprint.configuration import oslo_files, snippet_files
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.ini import Ini, Repeated, Setting
from stackwright.blueprint.needs import Password
from stackwright.blueprint.needs.broker import BrokerFacts
from stackwright.blueprint.needs.database import DatabaseFacts
from stackwright.blueprint.needs.login import IdentityFacts
from stackwright.blueprint.service import ConfigFile
from stackwright.services.barbican.kinds import Barbican

PORT = 9311
PROCESSES = 2
IMPORTS = ("barbican.api.app", "barbican.api.controllers.versions", "keystonemiddleware.auth_token")
KEY = "simplecryptokek"
LISTENER = "keystone-listener"
TEMPLATES = {"api": "barbicanAPI", "worker": "barbicanWorker", LISTENER: "barbicanKeystoneListener"}
SNIPPETS = "/etc/barbican/barbican.conf.d"
# The Secret with the encryption keys, where it is not the one with the passwords.
KEYS_SECRET = "simpleCryptoBackendSecret"  # noqa: S105  the name of a field


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
meet(peers)
{PLUGINS}
STARTED.touch()
worker.main()
"""
LISTEN = """\
from barbican.cmd import keystone_listener
from barbican.common import config

# By its name oslo.config finds files for it alone.
sys.argv[0] = "barbican-keystone-listener"
config.CONF(sys.argv[1:], project="barbican")
check()
meet(peers)
STARTED.touch()
keystone_listener.main()
"""
PROGRAMS = {
    # It reads its tables while it is loaded.
    "api": serving.application("barbican", "barbican.wsgi.api", serving.policies("barbican.common") + PLUGINS),
    "worker": serving.daemon("barbican", WORK),
    LISTENER: replace(serving.daemon("barbican", LISTEN), key=f"{LISTENER}-daemon.py"),
}


@dataclass(frozen=True, kw_only=True)
class BarbicanFacts(Facts):
    """What Barbican knows of the world around it."""

    database: DatabaseFacts
    messaging: BrokerFacts
    identity: IdentityFacts
    notifications: BrokerFacts | None = None
    # The user's own, by Secret and key.
    snippets: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)


def settings(resource: Barbican, facts: BarbicanFacts) -> Ini:
    """Return only what differs from Barbican's own defaults."""
    # The first key encrypts; the others only open what they have closed.
    keys = Repeated((facts.passwords[KEY], *(facts.passwords[need.key] for need in earlier_keys(resource))))
    secure = resource.spec.barbicanAPI.enableSecureRBAC
    return {
        **oslo.messaging(facts.messaging),
        **oslo.database(facts.database),
        **oslo.authtoken(facts.identity),
        "oslo_middleware": {"enable_proxy_headers_parsing": True},
        "queue": {"enable": True},
        "simple_crypto_plugin": {"kek": keys},
        "oslo_policy": {} if secure else {"enforce_scope": False, "enforce_new_defaults": False},
    }


def listening(resource: Barbican, facts: BarbicanFacts) -> Ini:
    """Return the settings of the listener: it has one broker, that at which Keystone notifies."""
    # With a queue of its own, it takes no notification away from others that listen.
    heard: dict[str, Setting] = {"enable": True, "pool_name": f"{facts.name}-listener"}
    return {
        **settings(resource, facts),
        **oslo.messaging(facts.notifications or facts.messaging),
        "keystone_notifications": heard,
    }


def template(component: str, resource: Barbican) -> Any:
    """Return what a component says of its pods, with what it leaves to the whole filled in."""
    spec = resource.spec
    said = getattr(spec, TEMPLATES[component])
    selected = spec.nodeSelector if said.nodeSelector is None else said.nodeSelector
    changes: JsonObject = {
        "nodeSelector": selected,
        "topologyRef": said.topologyRef or spec.topologyRef,
        "extraMounts": (*spec.extraMounts, *said.extraMounts),
    }
    return msgspec.structs.replace(said, **changes)


def files(component: str, resource: Barbican, facts: BarbicanFacts) -> tuple[ConfigFile, ...]:
    """Return the files that a component reads: ours, those for all of Barbican, its own last."""
    spec, said, name = resource.spec, template(component, resource), f"03-barbican-{component}-override.conf"
    listens = component == LISTENER
    ours = oslo_files(
        "barbican",
        listening(resource, facts) if listens else settings(resource, facts),
        custom=spec.customServiceConfig,
        overwrite={
            file: text for file, text in spec.defaultConfigOverwrite.items() if file not in said.defaultConfigOverwrite
        },
        component=component if listens else "",
    )
    return (
        *ours,
        PROGRAMS[component],
        ConfigFile(name, said.customServiceConfig, f"{SNIPPETS}/{name}"),
        *snippet_files(SNIPPETS, 4, said.customServiceConfigSecrets, facts.snippets, f"{component}-"),
        *(
            ConfigFile(f"{component}-own-{file}", text, f"/etc/barbican/{file}")
            for file, text in sorted(said.defaultConfigOverwrite.items())
        ),
    )


def list_components(resource: Barbican) -> tuple[str, ...]:
    """Return the names of the components that a resource asks for."""
    return tuple(name for name, path in TEMPLATES.items() if getattr(resource.spec, path) is not None)


def earlier_keys(resource: Barbican) -> tuple[Password, ...]:
    """Return the keys that were used before, and that still open what is stored."""
    names = resource.spec.passwordSelectors.simplecryptoadditionalkeks
    return tuple(Password(KEY, fernet=True, named=name, secret=KEYS_SECRET) for name in names)


def snippet_secrets(resource: Barbican) -> Iterable[str]:
    """Return the Secrets with snippets that the components read."""
    said = (getattr(resource.spec, TEMPLATES[name]) for name in list_components(resource))
    return dict.fromkeys(secret for component in said for secret in component.customServiceConfigSecrets)


def serve(resource: Barbican) -> str:
    """Return the command of the API."""
    timeout = resource.spec.barbicanAPI.apiTimeout or resource.spec.apiTimeout
    return oslo.uwsgi(serving.place("barbican"), PORT, processes=PROCESSES, timeout=timeout, imports=IMPORTS)


def started(component: str, resource: Barbican, facts: BarbicanFacts) -> JsonObject:
    """Return what the chart looks for once a daemon has started."""
    return serving.started(template(component, resource))

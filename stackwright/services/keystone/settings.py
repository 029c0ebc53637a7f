"""What keystone.conf says, beyond Keystone's own defaults, and how its programs start."""

from dataclasses import dataclass

from stackwright.blueprint import oslo, serving
from stackwright.blueprint.configuration import oslo_files
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.ini import Ini
from stackwright.blueprint.needs.broker import BrokerFacts
from stackwright.blueprint.needs.cache import CacheFacts
from stackwright.blueprint.needs.database import DatabaseFacts
from stackwright.blueprint.service import ConfigFile
from stackwright.services.keystone.kinds import KeystoneAPI

PORT = 5000
FERNET_KEYS = "/etc/keystone/fernet-keys"
CREDENTIAL_KEYS = "/etc/keystone/credential-keys"
IMPORTS = ("keystone.server.wsgi",)
PREPARE = """
import sqlalchemy
from keystone.common import sql
from keystone.common.rbac_enforcer.enforcer import RBACEnforcer

rules = RBACEnforcer()._enforcer
rules.suppress_deprecation_warnings = True
prepare_policies(rules.load_rules)


def ask():
    with sql.session_for_read() as session:
        session.execute(sqlalchemy.text("SELECT id FROM project LIMIT 1"))


reach(ask)
"""


@dataclass(frozen=True, kw_only=True)
class KeystoneFacts(Facts):
    """What Keystone knows of the world around it."""

    database: DatabaseFacts
    cache: CacheFacts
    notifications: BrokerFacts | None


def settings(resource: KeystoneAPI, facts: KeystoneFacts) -> Ini:
    """Return only what differs from Keystone's own defaults."""
    secure = resource.spec.enableSecureRBAC
    return {
        "DEFAULT": {
            "use_stderr": True,
            # It complains of each use of a ring that is a mounted Secret: the directory's mode is the kubelet's.
            "default_log_levels": ["keystone.common.fernet_utils=ERROR", "oslo.messaging=INFO", "urllib3=WARN"],
        },
        # What bcrypt reads; without it every login warns that it truncates.
        "identity": {"max_password_length": 72},
        **oslo.database(facts.database),
        **oslo.cache(facts.cache),
        # Processes hear by the cache that the catalog has changed. Where it did not answer just then, as while it is
        # away, they would go on with the old one for ten minutes.
        "catalog": {"cache_time": 30},
        "fernet_tokens": {"key_repository": FERNET_KEYS, "max_active_keys": resource.spec.fernetMaxActiveKeys},
        "credential": {"key_repository": CREDENTIAL_KEYS},
        "oslo_middleware": {"enable_proxy_headers_parsing": True},
        "oslo_policy": {} if secure else {"enforce_scope": False, "enforce_new_defaults": False},
        **oslo.notifications(facts.notifications),
    }


def files(resource: KeystoneAPI, facts: KeystoneFacts) -> tuple[ConfigFile, ...]:
    """Return the files that every program of Keystone reads."""
    said = settings(resource, facts)
    custom, overwrite = resource.spec.customServiceConfig, resource.spec.defaultConfigOverwrite
    return (
        *oslo_files("keystone", said, custom=custom, overwrite=overwrite),
        serving.application("keystone", "keystone.wsgi.api", PREPARE),
    )


def serve(resource: KeystoneAPI) -> str:
    """Return the command of the API."""
    spec = resource.spec
    processes = spec.httpdCustomization.processNumber
    return oslo.uwsgi(serving.place("keystone"), PORT, processes=processes, timeout=spec.apiTimeout, imports=IMPORTS)

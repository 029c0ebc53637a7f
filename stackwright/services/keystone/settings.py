"""What keystone.conf says, beyond Keystone's own defaults, and how its programs start."""

from dataclasses import dataclass
from urllib.parse import quote

from stackwright.blueprint.configuration import oslo_files
from stackwright.blueprint.facts import BrokerFacts, CacheFacts, DatabaseFacts, Facts
from stackwright.blueprint.ini import Ini
from stackwright.blueprint.service import ConfigFile
from stackwright.services.keystone.kinds import KeystoneAPI

PORT = 5000
FERNET_KEYS = "/etc/keystone/fernet-keys"
CREDENTIAL_KEYS = "/etc/keystone/credential-keys"


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
        "database": {
            "connection": connection(facts.database),
            # A server that went away is noticed on the first use, not by the client's request.
            "connection_recycle_time": 300,
            "max_retries": 10,
            "retry_interval": 1,
        },
        "cache": {
            "enabled": True,
            # The other backends raise into the request when a server goes away.
            "backend": "oslo_cache.memcache_pool",
            "memcache_servers": list(facts.cache.servers),
            # A server that is away costs one short wait now and then.
            "memcache_socket_timeout": 0.5,
            "memcache_dead_retry": 10,
        },
        "fernet_tokens": {"key_repository": FERNET_KEYS, "max_active_keys": resource.spec.fernetMaxActiveKeys},
        "credential": {"key_repository": CREDENTIAL_KEYS},
        "oslo_middleware": {"enable_proxy_headers_parsing": True},
        "oslo_policy": {} if secure else {"enforce_scope": False, "enforce_new_defaults": False},
        **_notifications(facts.notifications),
    }


def _notifications(broker: BrokerFacts | None) -> Ini:
    if broker is None:
        return {"oslo_messaging_notifications": {"driver": "noop"}}
    return {
        "oslo_messaging_notifications": {"driver": "messagingv2", "transport_url": broker.transport_url},
        "oslo_messaging_rabbit": {"rabbit_quorum_queue": broker.quorum_queues},
    }


def connection(database: DatabaseFacts) -> str:
    """Return the URL by which SQLAlchemy finds the schema."""
    account = f"{quote(database.user, safe='')}:{quote(database.password, safe='')}"
    return f"mysql+pymysql://{account}@{database.hostname}:{database.port}/{database.schema}?charset=utf8"


def files(resource: KeystoneAPI, facts: KeystoneFacts) -> tuple[ConfigFile, ...]:
    """Return the files that every program of Keystone reads."""
    return oslo_files(
        "keystone",
        settings(resource, facts),
        custom=resource.spec.customServiceConfig,
        overwrite=resource.spec.defaultConfigOverwrite,
    )


def serve(resource: KeystoneAPI) -> str:
    """Return the command of the API."""
    words = (
        "uwsgi --master --die-on-term --need-app --enable-threads --lazy-apps --thunder-lock",
        f"--processes {resource.spec.httpdCustomization.processNumber} --threads 4",
        f"--buffer-size 65535 --http-timeout {resource.spec.apiTimeout} --harakiri {resource.spec.apiTimeout}",
        # The start contract splits the command on blanks, so a header has none.
        f"--add-header Connection:close --http-socket :{PORT} --module keystone.wsgi.api:application",
    )
    return " ".join(words)

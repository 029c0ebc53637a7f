"""Configuration that services have in common: the database, the cache, the broker, and access to Keystone. Pure."""

from urllib.parse import quote

from stackwright.blueprint.ini import Ini, Setting
from stackwright.blueprint.needs.broker import BrokerFacts
from stackwright.blueprint.needs.cache import CacheFacts
from stackwright.blueprint.needs.database import DatabaseFacts
from stackwright.blueprint.needs.login import IdentityFacts

# What every service logs: to its container, where Kubernetes reads it.
LOGGING: Ini = {"DEFAULT": {"use_stderr": True}}


def database(facts: DatabaseFacts, section: str = "database") -> Ini:
    """Return how a service connects to its schema."""
    account = f"{quote(facts.user, safe='')}:{quote(facts.password, safe='')}"
    return {
        section: {
            "connection": f"mysql+pymysql://{account}@{facts.hostname}:{facts.port}/{facts.schema}?charset=utf8",
            # A connection that was lost is noticed on its first use, not by the client's request.
            "connection_recycle_time": 300,
            "max_retries": 10,
            "retry_interval": 1,
        }
    }


def cache(facts: CacheFacts) -> Ini:
    """Return how a service uses a cache that may go away."""
    return {
        "cache": {
            "enabled": True,
            # The other backends raise into the request when a server goes away.
            "backend": "oslo_cache.memcache_pool",
            "memcache_servers": list(facts.servers),
            # A server that does not answer costs one short wait now and then.
            "memcache_socket_timeout": 0.5,
            "memcache_dead_retry": 10,
        }
    }


def notifications(facts: BrokerFacts | None) -> Ini:
    """Return where notifications go; without a broker, nowhere."""
    if facts is None:
        return {"oslo_messaging_notifications": {"driver": "noop"}}
    return {
        "oslo_messaging_notifications": {
            "driver": "messagingv2",
            "transport_url": facts.transport_url,
            # Upstream retries forever, and the client waits as long; here every node of three is tried once.
            "retry": 2,
        },
        "oslo_messaging_rabbit": {"rabbit_quorum_queue": facts.quorum_queues},
    }


def messaging(facts: BrokerFacts) -> Ini:
    """Return the broker through which the service's own components call each other, and the logging settings."""
    return {
        "DEFAULT": {**LOGGING["DEFAULT"], "transport_url": facts.transport_url},
        "oslo_messaging_rabbit": {
            "rabbit_quorum_queue": facts.quorum_queues,
            # The queues of answers as well; otherwise a call is lost with the node that holds its answer.
            "rabbit_transient_quorum_queue": facts.quorum_queues,
        },
    }


def login(facts: IdentityFacts) -> dict[str, Setting]:
    """Return how the service's user logs in to Keystone, for every section of keystoneauth."""
    return {
        "auth_type": "password",
        "auth_url": facts.url,
        "username": facts.user,
        "password": facts.password,
        "user_domain_name": "Default",
        "project_name": "service",
        "project_domain_name": "Default",
        "region_name": facts.region,
    }


def authtoken(facts: IdentityFacts, cached: CacheFacts | None = None) -> Ini:
    """Return how a service validates tokens."""
    section: dict[str, Setting] = {
        "www_authenticate_uri": facts.public_url,
        "interface": "internal",
        "service_token_roles": "service",
        "service_token_roles_required": True,
        **login(facts),
    }
    if cached is not None:
        section |= {"memcached_servers": list(cached.servers), "memcache_pool_socket_timeout": 1}
    return {"keystone_authtoken": section}


def uwsgi(
    application: str,
    port: int,
    *,
    processes: int,
    timeout: int,
    streams: bool = False,
    imports: tuple[str, ...] = (),
) -> str:
    """Return the command of an API that uwsgi serves; the application is in a module, or in a file.

    Where it `streams` files, a request takes as long as it takes, and the timeout is for a client that is silent.

    Each process makes an application of its own, because connections and threads do not survive a fork. `imports` are
    modules that it needs and that do nothing but define: they are loaded once, before the fork, and their memory is
    shared by all processes.
    """
    # A client that sends in chunks may use chunks of this size; uwsgi's own limit is one mebibyte.
    limits = f"--socket-timeout {timeout} --chunked-input-limit 67108864" if streams else f"--harakiri {timeout}"
    place = f"--wsgi-file {application}" if application.startswith("/") else f"--module {application}"
    words = (
        "uwsgi --master --die-on-term --need-app --enable-threads --lazy-apps --thunder-lock",
        f"--processes {processes} --threads {16 if streams else 4}",
        f"--buffer-size 65535 --http-timeout {timeout} {limits}",
        # The start contract splits the command on blanks, so a header has none.
        f"--add-header Connection:close --http-socket :{port} {place}",
        *(f"--shared-import {module}" for module in imports),
    )
    return " ".join(words)

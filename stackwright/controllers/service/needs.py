"""What each need of a service asks for, and the fact that it yields once that is there. Pure: it reads caches alone.

What is asked for outlives the service: a schema, an account and a broker's user are kept, and a service that is made
again under the same name finds them.
"""

import base64
from collections.abc import Iterable
from typing import Any, TypeVar

from stackwright.adapters.mariadb_grants import NEEDED
from stackwright.api.base import JsonObject, ObjectMeta
from stackwright.api.keystone import KeystoneEndpoint, KeystoneService
from stackwright.api.mariadb import (
    DATABASE_LABEL,
    SERVER_LABEL,
    MariaDBAccount,
    MariaDBAccountSpec,
    MariaDBDatabase,
    MariaDBDatabaseSpec,
)
from stackwright.api.rabbitmq import TransportURL, TransportURLSpec
from stackwright.api.service import RabbitMqConfig
from stackwright.blueprint import names
from stackwright.blueprint.configuration import digest
from stackwright.blueprint.facts import BrokerFacts, CacheFacts, DatabaseFacts
from stackwright.blueprint.key_rings import KEY_BYTES
from stackwright.blueprint.service import (
    Cache,
    Database,
    Identity,
    Look,
    Messaging,
    Need,
    Notifications,
    Password,
    Snippets,
)
from stackwright.controllers.outside import read_value, text_of
from stackwright.controllers.service import catalog, snippets
from stackwright.controllers.service.resolved import NewSecret, Resolved
from stackwright.kube import conditions
from stackwright.kube.builtin import Secret
from stackwright.kube.conditions import Finding
from stackwright.kube.plan import Ends, Wait
from stackwright.kube.resource import CustomResource, Resource
from stackwright.kube.shapes.belonging import not_anothers
from stackwright.kube.shapes.children import child
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.mariadb.kinds import Galera
from stackwright.services.mariadb.service import root_secret
from stackwright.services.memcached.kinds import Memcached
from stackwright.services.rabbitmq.kinds import RabbitMq

# The keys of the Secrets that the needs read.
DATABASE_PASSWORD = "DatabasePassword"  # noqa: S105  the name of a key, not a password
TRANSPORT_URL = "transport_url"

# What the needs read, so that a service is woken when it changes.
READ: tuple[type[Resource], ...] = (
    Secret,
    Galera,
    Memcached,
    KeystoneAPI,
    MariaDBDatabase,
    MariaDBAccount,
    TransportURL,
    RabbitMq,
)
# What the needs keep.
KEPT: tuple[type[Resource], ...] = (MariaDBDatabase, MariaDBAccount, TransportURL)
# What goes with a service that is in the catalog.
LISTED: tuple[type[Resource], ...] = (KeystoneService, KeystoneEndpoint)


C = TypeVar("C", bound=CustomResource)


def resolve(need: Need, resource: Any, look: Look) -> Resolved:
    """Return what a need of a resource comes to."""
    match need:
        case Database():
            return (_database_by_job if resource.spec.provisioning == "Job" else _database)(resource, look)
        case Cache():
            return _cache(resource, look)
        case Notifications() | Messaging():
            return _broker(need, resource, look)
        case Identity():
            password = _password(resource, resource.spec.passwordSelectors.service, look)
            return catalog.resolve(need, resource, password, look)
        case Password(selector, fernet):
            found = _password(resource, getattr(resource.spec.passwordSelectors, selector), look)
            return _key(resource, selector, found) if fernet else found
        case Snippets(secrets):
            return snippets.resolve(secrets(resource), look)


def kept(asked: Iterable[Need], resource: Any, look: Look) -> Iterable[Resource]:
    """Return what the needs of a resource keep and what is there of it: it has no owner by which it could be found."""
    name = resource.metadata.name
    for need in asked:
        match need:
            case Database():
                account = look(MariaDBAccount, resource.spec.databaseAccount)
                # The account of another schema is somebody else's to rest or to go on.
                ours = account is not None and account.metadata.labels.get(DATABASE_LABEL) == name
                found: tuple[Resource | None, ...] = (look(MariaDBDatabase, name), account if ours else None)
            case Notifications():
                found = (look(TransportURL, names.notifications(resource)),)
            case Messaging():
                found = (look(TransportURL, names.messaging(resource)),)
            case _:
                found = ()
        yield from (item for item in found if item is not None and not_anothers(item, resource))


def _database(resource: Any, look: Look) -> Resolved:
    name, spec = resource.metadata.name, resource.spec
    account = look(MariaDBAccount, spec.databaseAccount)
    secret_name = account.spec.secret if account else names.account_secret(spec.databaseAccount)
    # An account that is there already keeps its name: on the server it cannot be renamed.
    user = account.spec.userName if account else names.database_user(spec.databaseAccount)
    database = MariaDBDatabase(
        metadata=ObjectMeta(name=name, labels={SERVER_LABEL: spec.databaseInstance}),
        spec=MariaDBDatabaseSpec(name=names.schema(resource)),
    )
    wanted = MariaDBAccount(
        metadata=ObjectMeta(name=spec.databaseAccount, labels={DATABASE_LABEL: name}),
        spec=MariaDBAccountSpec(userName=user, secret=secret_name),
    )
    children = (
        child(database, condition="DBReady", kept=True),
        child(wanted, condition="MariaDBAccountReady", kept=True),
    )
    secret = look(Secret, secret_name)
    if secret is None:
        new = NewSecret(secret_name, lambda source: {DATABASE_PASSWORD: source.password()})
        return Resolved(ready=False, children=children, secrets=(new,))
    fact = _database_fact(look, spec.databaseInstance, look(MariaDBDatabase, name), account, secret)
    waits = (_no_server(resource),) if look(Galera, spec.databaseInstance) is None else ()
    return Resolved(ready=fact is not None, fact=fact, children=children, waits=waits)


def _no_server(resource: Any) -> Wait:
    name = resource.spec.databaseInstance
    message = f"Galera {name} does not exist; create it, or name another one in spec.databaseInstance"
    return Wait("MariaDBServerMissing", message, "DBReady", ends=Ends.BY_AUTHOR)


def _database_fact(
    look: Look, server: str, database: MariaDBDatabase | None, account: MariaDBAccount | None, secret: Secret
) -> DatabaseFacts | None:
    """Return how to log in, once schema and account were made; that they cannot be seen right now changes nothing."""
    galera = look(Galera, server)
    # What is wrong with it, its account says.
    password = read_value(secret, secret.metadata.name, DATABASE_PASSWORD, "")
    made = database is not None and database.status.completed and account is not None and account.status.currentSecret
    if galera is None or not galera.status.hostname or not made or isinstance(password, Wait):
        return None
    assert database is not None  # noqa: S101  `made` says so
    assert account is not None  # noqa: S101  likewise
    status = galera.status
    return DatabaseFacts(status.hostname, status.port, database.spec.name, account.spec.userName, password)


def _database_by_job(resource: Any, look: Look) -> Resolved:
    """Return how the chart's own Job makes schema and account: no resource of ours stands for them."""
    spec = resource.spec
    secret_name = names.account_secret(spec.databaseAccount)
    secret = look(Secret, secret_name)
    if secret is None:
        new = NewSecret(secret_name, lambda source: {DATABASE_PASSWORD: source.password()})
        return Resolved(ready=False, secrets=(new,))
    galera = look(Galera, spec.databaseInstance)
    if galera is None or not galera.status.bootstrapped:
        wait = _no_server(resource) if galera is None else Wait("MariaDBServerNotReady", _why(galera), "DBReady")
        return Resolved(ready=False, waits=(wait,))
    schema, user = names.schema(resource), names.database_user(spec.databaseAccount)
    password = read_value(secret, secret_name, DATABASE_PASSWORD, "MariaDBAccountReady")
    if isinstance(password, Wait):
        return Resolved(ready=False, waits=(password,))
    fact = DatabaseFacts(galera.status.hostname, galera.status.port, schema, user, password)
    made = provisioned(galera, fact, secret_name)
    # Another password is another Job, and says nothing of itself by the name. So is another list of what an account may
    # do: the Job brings accounts of before to it.
    made["hash"] = digest({**made, "password": password, "privileges": sorted(NEEDED)})
    return Resolved(ready=True, fact=fact, values={"provision": {"database": made}})


def provisioned(galera: Galera, database: DatabaseFacts, secret: str) -> JsonObject:
    """Return what a chart's Job makes: a schema, and an account whose password is in a Secret."""
    return {
        "host": database.hostname,
        "port": database.port,
        "name": database.schema,
        "admin": _administrator(galera),
        "account": {"username": database.user, "secret": secret, "key": DATABASE_PASSWORD},
    }


def _administrator(galera: Galera) -> JsonObject:
    """Return in which Secret the server's administrator is."""
    if galera.spec.external is not None:
        return {"secret": galera.spec.external.secret, "usernameKey": "username", "key": "password"}
    secret, key = root_secret(galera)
    return {"username": "root", "secret": secret, "key": key}


def _cache(resource: Any, look: Look) -> Resolved:
    name = resource.spec.memcachedInstance
    cache = look(Memcached, name)
    if cache is None:
        message = f"Memcached {name} does not exist; create it, or name another one in spec.memcachedInstance"
        return Resolved(ready=False, waits=(Wait("MemcachedMissing", message, "MemcachedReady", ends=Ends.BY_AUTHOR),))
    if not cache.status.serverList:
        return Resolved(ready=False, waits=(Wait("MemcachedNotReady", _why(cache), "MemcachedReady"),))
    findings: tuple[Finding, ...] = ()
    if not conditions.is_true(cache.status.conditions):
        # A cache that is away costs time, not answers: the service goes on and says so.
        findings = (Finding("MemcachedReady", "False", "MemcachedNotReady", _why(cache), "Warning"),)
    return Resolved(ready=True, fact=CacheFacts(cache.status.serverList), findings=findings)


def _broker(need: Notifications | Messaging, resource: Any, look: Look) -> Resolved:
    spec = resource.spec
    if isinstance(need, Messaging):
        return _bus(names.messaging(resource), spec.messagingBus, look)
    bus = spec.notificationsBus
    # The older name, which not every kind has.
    if bus is None and (cluster := getattr(spec, "rabbitMqClusterName", None)):
        bus = RabbitMqConfig(cluster=cluster)
    return _bus(names.notifications(resource), bus, look) if bus is not None else Resolved(ready=True)


def _bus(name: str, bus: RabbitMqConfig, look: Look) -> Resolved:
    wanted = TransportURL(
        metadata=ObjectMeta(name=name),
        spec=TransportURLSpec(rabbitmqClusterName=bus.cluster, username=bus.user, vhost=bus.vhost),
    )
    children = (child(wanted, condition="RabbitMqTransportURLReady", kept=True),)
    present = look(TransportURL, name)
    secret = look(Secret, present.status.secretName) if present and present.status.secretName else None
    url = text_of(secret, TRANSPORT_URL)
    quorum = text_of(secret, "quorumqueues") == "true"
    fact = BrokerFacts(url, quorum, secret.metadata.name) if secret is not None and url else None
    waits: tuple[Wait, ...] = ()
    if not url and look(RabbitMq, bus.cluster) is None:
        message = f"RabbitMq {bus.cluster} does not exist; create it, or name another one where its cluster is named"
        waits = (Wait("RabbitMqMissing", message, "RabbitMqTransportURLReady", ends=Ends.BY_AUTHOR),)
    return Resolved(ready=bool(url), fact=fact, children=children, waits=waits)


def _password(resource: Any, key: str, look: Look) -> Resolved:
    name = resource.spec.secret
    secret = look(Secret, name)
    if secret is None:
        message = f"Secret {name}, which spec.secret names, does not exist; create it with the key {key}"
        return Resolved(ready=False, waits=(Wait("SecretMissing", message, "InputReady", ends=Ends.BY_AUTHOR),))
    password = read_value(secret, name, key, "InputReady")
    if isinstance(password, Wait):
        return Resolved(ready=False, waits=(password,))
    return Resolved(ready=True, fact=password)


def _key(resource: Any, selector: str, found: Resolved) -> Resolved:
    """Return a password that is a key, if it has the form of one: what it says otherwise is shown to nobody."""
    if not found.ready or _is_fernet_key(found.fact):
        return found
    key = getattr(resource.spec.passwordSelectors, selector)
    message = (
        f"what Secret {resource.spec.secret} has under {key} is no Fernet key: 32 bytes in URL-safe base64; make one "
        "by: openssl rand -base64 32 | tr +/ -_"
    )
    return Resolved(ready=False, waits=(Wait("KeyInvalid", message, "InputReady", ends=Ends.BY_USER),))


def _is_fernet_key(text: str) -> bool:
    try:
        return len(base64.b64decode(text.encode(), altchars=b"-_", validate=True)) == KEY_BYTES
    except ValueError:
        return False


def _why(resource: CustomResource) -> str:
    ready = conditions.find(resource.status.conditions, conditions.READY)
    said = f": {ready.message}" if ready is not None and ready.status != "True" else " is not ready yet"
    return f"{resource.kind.name} {resource.metadata.name}{said}"

"""A connection that somebody else has made, given as a Secret: a kind that works alone needs no server's resource.

A parent writes such Secrets for its children (`database_secret`, `broker_secret`); a user can write one by hand.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from urllib.parse import quote

from stackwright.api import paths
from stackwright.api.rabbitmq import PORT
from stackwright.blueprint.needs.broker import BROKER, BrokerFacts
from stackwright.blueprint.needs.database import DATABASE, DatabaseFacts
from stackwright.blueprint.needs.need import Need, Places, Resolved
from stackwright.blueprint.places import MOST_PORTS, broker_places
from stackwright.blueprint.providers import Sight
from stackwright.blueprint.secret_values import has_value, read_value, text_of
from stackwright.blueprint.whole_numbers import read_number
from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Ends, Wait

# Under which keys a Secret names the servers, for NetworkPolicies; one that runs elsewhere has no name. A Secret may
# have a database and a broker.
DATABASE_SERVER, BROKER_SERVER = "databaseServer", "brokerServer"


@dataclass(frozen=True)
class Connection:
    """What a given Secret stands for: the keys that it must have, and how they become the fact that a need yields.

    `optional` are further keys that it may have. `instead` are keys that it may have in place of `keys`.
    """

    word: str
    pods: str
    keys: tuple[str, ...]
    server: str
    read: Callable[[Mapping[str, str], str], Any]
    places: Callable[[Any], Places]
    optional: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Given(Need):
    """A connection in the Secret that the field at `secret` names: `of` says what kind of connection.

    `prefix` stands before its keys, where one Secret has several connections. `otherwise` is the field that names the
    Secret where `secret` does not. One that is not `required` may be missing in the Secret, and is None then.
    """

    of: Connection
    secret: str = "secret"  # noqa: S105  the name of a field
    otherwise: str = ""
    required: bool = True
    prefix: str = ""
    condition: str = "InputReady"
    labelled: ClassVar[bool] = True

    @property
    def word(self) -> str:
        """The word of what is connected to."""
        return self.of.word

    def resolve(self, resource: Any, sight: Sight) -> Resolved:
        """Return the connection, or what is missing in the Secret."""
        name = self._secret_of(resource)
        secret = sight(Secret, name)
        if secret is None:
            wanted = ", ".join(f"{self.prefix}{key}" for key in self.of.keys)
            message = f"Secret {name}, which spec.{self.secret} names, does not exist; create it with the keys {wanted}"
            return Resolved(ready=False, waits=(Wait("SecretMissing", message, self.condition, ends=Ends.BY_AUTHOR),))
        keys = self._keys_of(secret)
        if not self.required and not any(has_value(secret, f"{self.prefix}{key}") for key in keys):
            return Resolved(ready=True)
        read = {key: read_value(secret, name, f"{self.prefix}{key}", self.condition) for key in keys}
        waits = tuple(value for value in read.values() if isinstance(value, Wait))
        if waits:
            return Resolved(ready=False, waits=waits)
        further = (*self.of.keys, *self.of.instead, *self.of.optional, self.of.server)
        texts = {key: text_of(secret, f"{self.prefix}{key}") or "" for key in further}
        try:
            return Resolved(ready=True, fact=self.of.read(texts, name))
        except ValueError as error:
            wait = Wait("SecretInvalid", f"Secret {name}: {error}", self.condition, ends=Ends.BY_USER)
            return Resolved(ready=False, waits=(wait,))

    def _secret_of(self, resource: Any) -> str:
        """Return the name of the Secret: the first of the fields that says one."""
        fields = (self.secret, *((self.otherwise,) if self.otherwise else ()))
        return str(next(filter(None, (paths.find(resource.spec, field) for field in fields)), ""))

    def _keys_of(self, secret: Secret) -> tuple[str, ...]:
        """Return the keys that a Secret must have: the others only where it has begun with them."""
        has_first = any(has_value(secret, f"{self.prefix}{key}") for key in self.of.keys)
        has_others = any(has_value(secret, f"{self.prefix}{key}") for key in self.of.instead)
        return self.of.instead if has_others and not has_first else self.of.keys

    def used(self, resource: Any, sight: Sight) -> Iterator[Secret]:
        """Yield the Secret that it reads."""
        secret = sight(Secret, self._secret_of(resource))
        if secret is not None:
            yield secret

    def server(self, resource: Any, fact: Any) -> str:
        """Return the server that the Secret names."""
        return str(fact.server) if fact is not None and self.of.server else ""

    def places(self, fact: Any) -> Places:
        """Return where the server is."""
        return self.of.places(fact)

    def pods(self, fact: Any) -> str:
        """Return what the server's pods are called."""
        return self.of.pods


def database_secret(fact: DatabaseFacts) -> dict[str, str]:
    """Return the content of a Secret that gives a database to others."""
    return {
        "hostname": fact.hostname,
        "port": str(fact.port),
        "database": fact.schema,
        "user": fact.user,
        "password": fact.password,
        DATABASE_SERVER: fact.server,
    }


def _read_database(texts: Mapping[str, str], secret: str) -> DatabaseFacts:
    return DatabaseFacts(
        texts["hostname"],
        _read_port(texts["port"]),
        texts["database"],
        texts["user"],
        texts["password"],
        texts[DATABASE_SERVER],
    )


def broker_secret(fact: BrokerFacts) -> dict[str, str]:
    """Return the content of a Secret that gives a broker to others."""
    queues = str(fact.quorum_queues).lower()
    return {"transport_url": fact.transport_url, "quorumqueues": queues, BROKER_SERVER: fact.server}


def _read_broker(texts: Mapping[str, str], secret: str) -> BrokerFacts:
    queues = texts["quorumqueues"] or texts.get("quorum_queues")
    url = read_broker_url(texts["transport_url"] or _url(texts), "transport_url")
    return BrokerFacts(url, queues != "false", secret, texts[BROKER_SERVER])


def read_broker_url(url: str, key: str) -> str:
    """Return the URL of a broker; raise a ValueError, which names the key, if it has no hosts."""
    try:
        named = all(host for host, _ in broker_places(url))
    except ValueError:
        named = False
    if not named:
        message = f"the value of the key {key} is no URL of a broker; write rabbit://user:password@host:port/"
        raise ValueError(message)
    return url


def _read_port(text: str) -> int:
    port = read_number(text)
    if port is None or not 0 < port <= MOST_PORTS:
        message = "the value of the key port is no port; correct it"
        raise ValueError(message)
    return port


def _url(texts: Mapping[str, str]) -> str:
    """Return the URL of a broker that is given by host, user and password."""
    user, password, vhost = (quote(texts[key], safe="") for key in ("user", "password", "vhost"))
    port = _read_port(texts["port"] or str(PORT))
    return f"rabbit://{user}:{password}@{texts['hostname']}:{port}/{vhost}"


GIVEN_DATABASE = Connection(
    DATABASE,
    "mariadb",
    ("hostname", "port", "database", "user", "password"),
    DATABASE_SERVER,
    _read_database,
    lambda fact: ((fact.hostname, fact.port),),
)
GIVEN_BROKER = Connection(
    BROKER,
    "rabbitmq",
    ("transport_url", "quorumqueues"),
    BROKER_SERVER,
    _read_broker,
    lambda fact: tuple(broker_places(fact.transport_url)),
)
# For a Secret that has no database: its parts would be taken for those of the broker.
GIVEN_BROKER_ALONE = replace(
    GIVEN_BROKER,
    keys=("transport_url",),
    # Quorum queues are what a broker has unless its Secret says otherwise; both spellings are upstream's.
    optional=("port", "vhost", "quorumqueues", "quorum_queues"),
    instead=("hostname", "user", "password"),
)

"""A connection that somebody else has made, given as a Secret: a kind that works alone needs no server's resource.

A parent writes such Secrets for its children (`database_secret`, `broker_secret`); a user can write one by hand.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stackwright.api import paths
from stackwright.blueprint.facts import BrokerFacts, DatabaseFacts
from stackwright.blueprint.needs.need import Need, Places, Resolved
from stackwright.blueprint.places import broker_places
from stackwright.blueprint.providers import BROKER, DATABASE, Sight
from stackwright.blueprint.secret_values import read_value, text_of
from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Ends, Wait

# Under which keys a Secret names the servers, for NetworkPolicies; one that runs elsewhere has no name. A Secret may
# have a database and a broker.
DATABASE_SERVER, BROKER_SERVER = "databaseServer", "brokerServer"


@dataclass(frozen=True)
class Connection:
    """What a given Secret stands for: the keys that it must have, and how they become the fact that a need yields."""

    word: str
    pods: str
    keys: tuple[str, ...]
    server: str
    read: Callable[[Mapping[str, str], str], Any]
    places: Callable[[Any], Places]


@dataclass(frozen=True, kw_only=True)
class Given(Need):
    """A connection in the Secret that the field at `secret` names: `of` says what kind of connection.

    `prefix` stands before its keys, where one Secret has several connections.
    """

    of: Connection
    secret: str = "secret"  # noqa: S105  the name of a field
    prefix: str = ""
    condition: str = "InputReady"

    @property
    def word(self) -> str:
        """The word of what is connected to."""
        return self.of.word

    def resolve(self, resource: Any, sight: Sight) -> Resolved:
        """Return the connection, or what is missing in the Secret."""
        name = str(paths.find(resource.spec, self.secret) or "")
        secret = sight(Secret, name)
        if secret is None:
            keys = ", ".join(f"{self.prefix}{key}" for key in self.of.keys)
            message = f"Secret {name}, which spec.{self.secret} names, does not exist; create it with the keys {keys}"
            return Resolved(ready=False, waits=(Wait("SecretMissing", message, self.condition, ends=Ends.BY_AUTHOR),))
        read = {key: read_value(secret, name, f"{self.prefix}{key}", self.condition) for key in self.of.keys}
        waits = tuple(value for value in read.values() if isinstance(value, Wait))
        if waits:
            return Resolved(ready=False, waits=waits)
        texts = {key: text_of(secret, f"{self.prefix}{key}") or "" for key in (*self.of.keys, self.of.server)}
        try:
            return Resolved(ready=True, fact=self.of.read(texts, name))
        except ValueError as error:
            wait = Wait("SecretInvalid", f"Secret {name}: {error}", self.condition, ends=Ends.BY_USER)
            return Resolved(ready=False, waits=(wait,))

    def used(self, resource: Any, sight: Sight) -> Iterator[Secret]:
        """Yield the Secret that it reads."""
        secret = sight(Secret, str(paths.find(resource.spec, self.secret) or ""))
        if secret is not None:
            yield secret

    def server(self, resource: Any, fact: Any) -> str:
        """Return the server that the Secret names."""
        return str(fact.server) if fact is not None else ""

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
    if not texts["port"].isdigit():
        message = "the value of the key port is no number; correct it"
        raise ValueError(message)
    return DatabaseFacts(
        texts["hostname"],
        int(texts["port"]),
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
    return BrokerFacts(texts["transport_url"], texts["quorumqueues"] == "true", secret, texts[BROKER_SERVER])


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

"""What a service gets to know of the world around it. Each need adds one field to the service's own facts."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class DatabaseFacts:
    """A schema, and an account that may use it."""

    hostname: str
    port: int
    schema: str
    user: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class CacheFacts:
    """The nodes of a cache, each as host:port."""

    servers: tuple[str, ...]


@dataclass(frozen=True)
class BrokerFacts:
    """How to log in to a message broker."""

    transport_url: str = field(repr=False)
    quorum_queues: bool = True
    # The Secret that has the URL.
    secret: str = ""


@dataclass(frozen=True)
class IdentityFacts:
    """Where Keystone is, and as whom the service works there; `url` is for services, `public_url` for clients."""

    url: str
    public_url: str
    region: str
    user: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class Endpoints:
    """The URLs of a service, as its catalog entry has them."""

    public: str
    internal: str


@dataclass(frozen=True)
class Facts:
    """What every service knows; a service's own facts have a field more for each of its needs."""

    name: str
    namespace: str
    image: str
    # None before the cluster has given its Services addresses.
    endpoints: Endpoints | None = None
    # By the name of the selector that says under which key of spec.secret they stand.
    passwords: Mapping[str, str] = field(default_factory=dict, repr=False)
    # A short name for the keys of each ring that was turned since it was made, once all pods hold what is migrated to.
    rings: Mapping[str, str] = field(default_factory=dict)

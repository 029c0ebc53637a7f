"""The steps that are taken for a TransportURL, as data."""

from dataclasses import dataclass, field

from stackwright.api.rabbitmq import TransportURL
from stackwright.controllers.broker.broker import Broker
from stackwright.controllers.broker.secrets import Url
from stackwright.kube.plan import Step


@dataclass(frozen=True)
class BrokerStep(Step):
    """A step that concerns the broker or the Secrets of its users."""

    broker: Broker


@dataclass(frozen=True)
class KeepPassword(BrokerStep):
    """Generate a password for a user, and store it in a Secret."""

    secret: str
    user: str


@dataclass(frozen=True)
class PutVhost(BrokerStep):
    """Create a virtual host, or set its default queue type."""

    vhost: str


@dataclass(frozen=True)
class Admit(BrokerStep):
    """Create or update a user with this password, these tags and all rights in a virtual host."""

    user: str
    vhost: str
    password: str = field(repr=False)
    tags: frozenset[str] = frozenset()


@dataclass(frozen=True)
class GrantVhost(BrokerStep):
    """Give a user all rights in a virtual host."""

    user: str
    vhost: str


@dataclass(frozen=True)
class Revoke(BrokerStep):
    """Take a user's rights in a virtual host away; the user stays, because others use it elsewhere."""

    user: str
    vhost: str


@dataclass(frozen=True)
class WriteUrl(BrokerStep):
    """Write the Secret with the URL; it is deleted with its owner."""

    owner: TransportURL
    url: Url


@dataclass(frozen=True)
class Retire(BrokerStep):
    """Delete a user that is not used any more, then its password, and finally the Secret with its URL.

    That Secret tells a later pass that the user existed, so it is deleted last. Empty names are skipped.
    """

    user: str
    password: str
    url: str = ""

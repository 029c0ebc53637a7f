"""What can be done for a TransportURL, as data."""

from dataclasses import dataclass, field

from stackwright.api.rabbitmq import TransportURL
from stackwright.controllers.broker.broker import Broker
from stackwright.controllers.broker.secrets import Url
from stackwright.kube.plan import Step


@dataclass(frozen=True)
class BrokerStep(Step):
    """Something to do at the broker or with the Secrets of its users."""

    broker: Broker


@dataclass(frozen=True)
class KeepPassword(BrokerStep):
    """Generate a password for a user, and store it in a Secret."""

    secret: str
    user: str


@dataclass(frozen=True)
class PutVhost(BrokerStep):
    """Make a virtual host, or set its default queue type."""

    vhost: str


@dataclass(frozen=True)
class Admit(BrokerStep):
    """Let a user in: with this password and these tags, and with all rights in a virtual host."""

    user: str
    vhost: str
    password: str = field(repr=False)
    tags: frozenset[str] = frozenset()


@dataclass(frozen=True)
class GrantVhost(BrokerStep):
    """Let a user do everything in a virtual host."""

    user: str
    vhost: str


@dataclass(frozen=True)
class WriteUrl(BrokerStep):
    """Write the Secret with the URL; it goes with its owner."""

    owner: TransportURL
    url: Url


@dataclass(frozen=True)
class Retire(BrokerStep):
    """Delete a user that is not used any more, its password, and last of all the Secret with its URL.

    That Secret is how a later pass knows that there was such a user, so it goes last. Empty names are left out.
    """

    user: str
    password: str
    url: str = ""

"""A message broker: for calls between the service's own parts, or for notifications to whoever listens.

A TransportURL stands for the login; it outlives the service, and so does the broker's user.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec

from stackwright.api import paths
from stackwright.api.base import ObjectMeta, Resource
from stackwright.api.rabbitmq import TransportURL, TransportURLSpec, TransportURLStatus
from stackwright.api.service import RabbitMqConfig
from stackwright.blueprint import names
from stackwright.blueprint.claims import Claim, claim_object
from stackwright.blueprint.needs.need import (
    KEEP,
    MAKE,
    Imagination,
    Need,
    Places,
    Resolved,
    Retirement,
    UnknownHere,
)
from stackwright.blueprint.places import broker_places
from stackwright.blueprint.providers import Sight
from stackwright.blueprint.secret_values import text_of
from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Ends, Wait
from stackwright.kube.shapes.belonging import made_for, not_anothers
from stackwright.kube.shapes.child import child

# The word of what provides it.
BROKER = "broker"


@dataclass(frozen=True)
class BrokerServer:
    """A message broker; a TransportURL says how to log in to it.

    `outside` is where clients outside of the cluster reach it, as host:port; "" where they cannot. `apart` tells the
    users that are made for this resource from those of others at a broker that several may share; "" at one of ours.
    """

    outside: str = ""
    apart: str = ""


@dataclass(frozen=True)
class BrokerFacts:
    """How to log in to a message broker."""

    transport_url: str = field(repr=False)
    quorum_queues: bool = True
    # The Secret that has the URL.
    secret: str = ""
    # The resource that provides it; "" where it runs elsewhere and nothing here stands for it.
    server: str = ""


# The keys of the Secret that a TransportURL writes.
TRANSPORT_URL = "transport_url"
QUORUM_QUEUES = "quorumqueues"


def _always(_: Any) -> bool:
    return True


@dataclass(frozen=True, kw_only=True)
class _Broker(Need):
    """A login to the broker that the field at `bus` names; `url` is the name of the TransportURL."""

    bus: str = ""
    url: Callable[[Any], str] = names.messaging
    condition: str = "RabbitMqTransportURLReady"
    reads: ClassVar[tuple[type[Resource], ...]] = (Secret, TransportURL)
    everywhere: ClassVar[tuple[str, ...]] = (BROKER,)
    labelled: ClassVar[bool] = True
    credential: ClassVar[type[Resource] | None] = TransportURL
    retirement: ClassVar[str] = "BusRetired"

    def bus_of(self, resource: Any) -> RabbitMqConfig | None:
        """Return what the resource says of its broker; None where it asks for none."""
        found: RabbitMqConfig | None = paths.find(resource.spec, self.bus)
        return found

    @property
    def word(self) -> str:
        """The word of what provides it."""
        return BROKER

    def provided_by(self, resource: Any) -> str:
        """Return the name of the broker."""
        bus = self.bus_of(resource)
        return bus.cluster if bus is not None else ""

    def resolve(self, resource: Any, sight: Sight) -> Resolved:
        """Return the login, once the broker has let the service's user in."""
        bus = self.bus_of(resource)
        if bus is None:
            return Resolved(ready=True)
        name = self.url(resource)
        broker = sight.provider(self.word, bus.cluster)
        wanted = TransportURL(
            metadata=ObjectMeta(name=name),
            spec=TransportURLSpec(
                rabbitmqClusterName=bus.cluster, username=bus.user or _own_user(name, broker.offer), vhost=bus.vhost
            ),
        )
        children = (child(wanted, condition=self.condition, kept=True),)
        present = sight(TransportURL, name)
        secret = sight(Secret, present.status.secretName) if present and present.status.secretName else None
        fact = broker_facts(secret, bus.cluster)
        waits: tuple[Wait, ...] = ()
        if fact is None and broker.offer is None:
            message = f"{broker} does not exist; create it, or name another one in spec.{self.bus}.cluster"
            waits = (Wait("RabbitMqMissing", message, self.condition, ends=Ends.BY_AUTHOR),)
        return Resolved(ready=fact is not None, fact=fact, children=children, waits=waits)

    def used(self, resource: Any, sight: Sight) -> Iterator[Secret]:
        """Yield the Secret of the URL: the former user stays at the broker until all of the service has this one."""
        present = sight(TransportURL, self.url(resource)) if self.bus_of(resource) is not None else None
        secret = sight(Secret, present.status.secretName) if present is not None and present.status.secretName else None
        if secret is not None:
            yield secret

    def kept(self, resource: Any, sight: Sight) -> Iterator[Resource]:
        """Yield the TransportURL."""
        found = sight(TransportURL, self.url(resource))
        if found is not None and not_anothers(found, resource):
            yield found

    def claims(self, resource: Any, sight: Sight) -> Iterator[Claim]:
        """Yield the TransportURL, where there is to be one."""
        if self.bus_of(resource) is not None:
            yield claim_object(TransportURL, self.url(resource))

    def places(self, fact: BrokerFacts) -> Places:
        """Return where the broker's nodes are."""
        return tuple(broker_places(fact.transport_url))

    def pods(self, fact: BrokerFacts) -> str:
        """Return what the broker's pods are called."""
        return "rabbitmq"

    def logs_in_with(self, resource: Any, item: Resource) -> bool:
        """Return whether a TransportURL is that of the service."""
        return isinstance(item, TransportURL) and item.metadata.name == self.url(resource)

    def finish(self, resource: Any, made: Resource, world: Imagination) -> Resource:
        """Return the TransportURL with its Secret, which only a file can have."""
        if not isinstance(made, TransportURL) or made.metadata.name != self.url(resource):
            return made
        secret = f"rabbitmq-transport-url-{made.metadata.name}"
        if world(Secret, secret) is None:
            raise UnknownHere(
                f"spec.{self.bus}: how to log in to {made.spec.rabbitmqClusterName} is not known here; "
                f"put a Secret {secret} with the key {TRANSPORT_URL} into a file{self._instead}."
            )
        return msgspec.structs.replace(made, status=TransportURLStatus(secretName=secret))

    @property
    def _instead(self) -> str:
        return ""


@dataclass(frozen=True, kw_only=True)
class Messaging(_Broker):
    """A broker by which the service's own parts call each other.

    `cluster` is the older field, which not every kind has; `usual` is the broker where the resource names none.
    """

    name: str = "messaging"
    bus: str = "messagingBus"
    cluster: str = ""
    usual: str = ""
    keeps: ClassVar[Mapping[type[Resource], frozenset[str]]] = {TransportURL: MAKE}

    def bus_of(self, resource: Any) -> RabbitMqConfig | None:
        """Return what the resource says of its broker, by the present field or the former one."""
        bus = super().bus_of(resource)
        if bus is not None:
            return bus
        older = paths.find(resource.spec, self.cluster) if self.cluster else ""
        cluster = older or self.usual
        return RabbitMqConfig(cluster=cluster) if cluster else None

    def claims(self, resource: Any, sight: Sight) -> Iterator[Claim]:
        """Yield the TransportURL, and the queues: two services of a kind with the same take each other's calls."""
        yield from super().claims(resource, sight)
        bus = self.bus_of(resource)
        if bus is not None:
            broker = str(sight.provider(self.word, bus.cluster))
            sort = f"virtual host for the queues of {resource.kind.name}:"
            advice = "name another broker, or a vhost of its own, in its messagingBus"
            # All parts of one resource share them, by whichever field each of them names its broker.
            # Without a name it is the broker's default one.
            yield Claim(sort, bus.vhost or "/", broker, "spec.messagingBus", advice)


@dataclass(frozen=True, kw_only=True)
class Notifications(_Broker):
    """A broker for notifications, if the resource names one; otherwise the fact is None.

    `cluster` is the older field, which not every kind has; "" where the kind means something else by it. `when` says
    whether a resource has a use for such a broker at all.
    """

    name: str = "notifications"
    bus: str = "notificationsBus"
    cluster: str = "rabbitMqClusterName"
    when: Callable[[Any], bool] = _always
    url: Callable[[Any], str] = names.notifications
    # One that is no longer used goes.
    keeps: ClassVar[Mapping[type[Resource], frozenset[str]]] = {TransportURL: KEEP}

    def bus_of(self, resource: Any) -> RabbitMqConfig | None:
        """Return what the resource says of its broker, in the present field or in the older one."""
        if not self.when(resource):
            return None
        bus = super().bus_of(resource)
        if bus is None and self.cluster and (cluster := paths.find(resource.spec, self.cluster)):
            return RabbitMqConfig(cluster=cluster)
        return bus

    def retired(self, resource: Any, fact: Any, sight: Sight, known: Iterable[Resource]) -> Iterator[Retirement]:
        """Yield the former login if no notifications are sent any more."""
        bus = sight(TransportURL, self.url(resource))
        if fact is None and bus is not None and not bus.deleting and made_for(bus, resource):
            yield self.retire(bus, resource, sight)

    @property
    def _instead(self) -> str:
        return f", or remove {self.bus}"


def _own_user(url: str, broker: BrokerServer | None) -> str:
    """Return the user of a service that names none: its own, as a TransportURL without one means the administrator."""
    return f"{url}-{broker.apart}" if broker is not None and broker.apart else url


def broker_facts(secret: Secret | None, server: str) -> BrokerFacts | None:
    """Return the login that a Secret has; None where it has none yet."""
    url = text_of(secret, TRANSPORT_URL)
    if secret is None or not url:
        return None
    return BrokerFacts(url, text_of(secret, QUORUM_QUEUES) == "true", secret.metadata.name, server)

"""What Neutron knows of the world around it, and by which needs."""

from collections.abc import Iterator
from dataclasses import dataclass

from stackwright.blueprint.facts import Facts
from stackwright.blueprint.needs import (
    Cache,
    CatalogEntry,
    Database,
    Each,
    Login,
    Messaging,
    NetworkDatabase,
    Notifications,
    OutsideBroker,
)
from stackwright.blueprint.needs.broker import BrokerFacts
from stackwright.blueprint.needs.cache import CacheFacts
from stackwright.blueprint.needs.database import DatabaseFacts
from stackwright.blueprint.needs.login import IdentityFacts
from stackwright.blueprint.needs.network_database import NetworkDatabaseFacts
from stackwright.blueprint.needs.outside_broker import OutsideFacts
from stackwright.services.neutron.kinds import NeutronAPI

OVN = "ovn"


@dataclass(frozen=True, kw_only=True)
class NeutronFacts(Facts):
    """What Neutron knows; without the driver ovn it knows no databases of networks."""

    database: DatabaseFacts
    cache: CacheFacts
    messaging: BrokerFacts
    outside_messaging: OutsideFacts
    identity: IdentityFacts
    notifications: BrokerFacts | None = None
    northbound: NetworkDatabaseFacts | None = None
    southbound: NetworkDatabaseFacts | None = None


def has_ovn(resource: NeutronAPI) -> bool:
    """Return whether OVN builds the networks."""
    return OVN in resource.spec.ml2MechanismDrivers


def network_databases(resource: NeutronAPI) -> Iterator[NetworkDatabase]:
    """Yield the need of OVN's databases, where OVN builds the networks."""
    if has_ovn(resource):
        yield NetworkDatabase(name="northbound", role="NB", usual="ovndbcluster-nb")
        yield NetworkDatabase(name="southbound", role="SB", usual="ovndbcluster-sb")


MESSAGING = Messaging(
    cluster="rabbitMqClusterName",
    usual="rabbitmq",
    url=lambda resource: f"{resource.metadata.name}-neutron-transport",
)
NEEDS = (
    Database(),
    MESSAGING,
    OutsideBroker(name="outside_messaging", broker=MESSAGING),
    Notifications(
        cluster="notificationsBusInstance",
        # With the usual name of the resource it is upstream's name.
        url=lambda resource: f"notifications-{resource.metadata.name}-transport",
        condition="NotificationBusInstanceReady",
    ),
    Cache(),
    Login(),
    CatalogEntry(type="network", description="Neutron"),
    # They are the last that InputReady speaks of: a missing password is told before them.
    Each((NetworkDatabase,), network_databases),
)

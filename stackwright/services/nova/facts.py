"""What the services of Nova know of the world around them, and by which needs: from Secrets, whoever wrote those."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from stackwright.blueprint.facts import Facts
from stackwright.blueprint.needs import Account, Cache, Each, Given, GivenLogin, OutsideBroker
from stackwright.blueprint.needs.broker import BrokerFacts
from stackwright.blueprint.needs.cache import CacheFacts
from stackwright.blueprint.needs.database import DatabaseFacts
from stackwright.blueprint.needs.given import GIVEN_BROKER_ALONE, GIVEN_DATABASE, Connection, read_broker_url
from stackwright.blueprint.needs.login import IdentityFacts
from stackwright.blueprint.places import broker_places

# The keys of the Secrets that `Nova` writes, and that a user may write.
SERVICE_PASSWORD = "ServicePassword"  # noqa: S105  the name of a key
SHARED_SECRET = "MetadataSecret"  # noqa: S105  likewise
NOTIFICATIONS, NOTIFICATIONS_SERVER = "notification_transport_url", "notificationsServer"


@dataclass(frozen=True, kw_only=True)
class NovaFacts(Facts):
    """What a service of Nova knows; what it has no need of is None."""

    identity: IdentityFacts
    messaging: BrokerFacts
    notifications: BrokerFacts | None = None
    cache: CacheFacts | None = None
    # For a service of all cells the database is that of cell0.
    api_database: DatabaseFacts | None = None
    database: DatabaseFacts | None = None
    shared_secret: str = field(default="", repr=False)


GIVEN_NOTIFICATIONS = Connection(
    GIVEN_BROKER_ALONE.word,
    GIVEN_BROKER_ALONE.pods,
    (NOTIFICATIONS,),
    NOTIFICATIONS_SERVER,
    lambda texts, secret: BrokerFacts(
        read_broker_url(texts[NOTIFICATIONS], NOTIFICATIONS),
        texts["quorum_queues"] != "false",
        secret,
        texts[NOTIFICATIONS_SERVER],
    ),
    lambda fact: tuple(broker_places(fact.transport_url)),
    optional=("quorum_queues",),
)
GIVEN_SHARED_SECRET = Connection("", "", (SHARED_SECRET,), "", lambda texts, _: texts[SHARED_SECRET], lambda _: ())

LOGIN = GivenLogin()
LOGIN_WITH_PUBLIC_URL = GivenLogin(public_url="keystonePublicAuthURL")
MESSAGING = Given(name="messaging", of=GIVEN_BROKER_ALONE, secret="messagingSecret", otherwise="secret")  # noqa: S106  names of fields
NOTIFICATIONS_BUS = Given(name="notifications", of=GIVEN_NOTIFICATIONS, required=False)
OUTSIDE_MESSAGING = OutsideBroker(name="outside_messaging", broker=MESSAGING)
OUTSIDE_NOTIFICATIONS = OutsideBroker(name="outside_notifications", broker=NOTIFICATIONS_BUS)
CACHE = Cache(optional=True)
METADATA_SECRET = Given(name="shared_secret", of=GIVEN_SHARED_SECRET)


def database(field: str, fields: str, *, required: bool = True) -> Each:
    """Return the need of a database: a Secret has it, or a host name and a MariaDBAccount do.

    `fields` is how the names of the three fields begin. Where it is not required, the fields may be empty.
    """
    secret, hostname, account = f"{fields}Secret", f"{fields}Hostname", f"{fields}Account"

    def needs(resource: Any) -> Iterator[Given | Account]:
        if getattr(resource.spec, secret):
            yield Given(name=field, of=GIVEN_DATABASE, secret=secret)
        elif required or getattr(resource.spec, hostname):
            yield Account(name=field, hostname=hostname, account=account, instead=secret)

    return Each((Given, Account), needs)


API_DATABASE = database("api_database", "apiDatabase")
CELL0_DATABASE = database("database", "cell0Database")
CELL_DATABASE = database("database", "cellDatabase")
# The conductors of a cell do without it where the cell has no access to the API's database.
OPTIONAL_API_DATABASE = database("api_database", "apiDatabase", required=False)
OPTIONAL_CELL_DATABASE = database("database", "cellDatabase", required=False)

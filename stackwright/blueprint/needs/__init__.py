"""What a service can need, one file for each: a database, a cache, a broker, a login, a place in the catalog."""

from stackwright.blueprint.needs.account import Account
from stackwright.blueprint.needs.api import Api
from stackwright.blueprint.needs.broker import Messaging, Notifications
from stackwright.blueprint.needs.cache import Cache
from stackwright.blueprint.needs.catalog_entry import CatalogEntry
from stackwright.blueprint.needs.census import Census
from stackwright.blueprint.needs.database import Database
from stackwright.blueprint.needs.given import Given
from stackwright.blueprint.needs.given_earlier import GivenEarlier
from stackwright.blueprint.needs.given_login import GivenLogin
from stackwright.blueprint.needs.leftovers import Leftovers
from stackwright.blueprint.needs.login import Login
from stackwright.blueprint.needs.need import Each, Need
from stackwright.blueprint.needs.network_database import NetworkDatabase
from stackwright.blueprint.needs.outside_broker import OutsideBroker
from stackwright.blueprint.needs.password import Password
from stackwright.blueprint.needs.published import Published
from stackwright.blueprint.needs.reported import Reported
from stackwright.blueprint.needs.snippets import Snippets
from stackwright.blueprint.needs.topologies import Topologies

__all__ = [
    "TYPES",
    "Account",
    "Api",
    "Cache",
    "CatalogEntry",
    "Census",
    "Database",
    "Each",
    "Given",
    "GivenEarlier",
    "GivenLogin",
    "Leftovers",
    "Login",
    "Messaging",
    "Need",
    "NetworkDatabase",
    "Notifications",
    "OutsideBroker",
    "Password",
    "Published",
    "Reported",
    "Snippets",
    "Topologies",
]

# All needs that there are.
TYPES: tuple[type[Need], ...] = tuple(
    found for name in sorted(__all__) if isinstance(found := globals().get(name), type) and issubclass(found, Need)
)

"""Barbican."""

from stackwright.services.barbican.service import SERVICE
from tests.functional.services.case import ServiceCase

CASES = (
    ServiceCase(
        blueprint=SERVICE,
        name="barbican",
        least={"databaseInstance": "openstack"},
        ports={"public": 9311, "internal": 9311},
        listed="key-manager",
        jobs=frozenset({"db-sync"}),
        pods=2,
        actions=frozenset({"sync-database", "clean-database"}),
        stays=frozenset(
            {
                "MariaDBDatabase barbican",
                "MariaDBAccount barbican",
                "Secret barbican-db-secret",
                "TransportURL barbican-messaging",
                "Secret rabbitmq-transport-url-barbican-messaging",
            }
        ),
    ),
)

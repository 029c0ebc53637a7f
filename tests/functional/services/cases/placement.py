"""Placement."""

from stackwright.services.placement.service import SERVICE
from tests.functional.services.case import ServiceCase

CASES = (
    ServiceCase(
        blueprint=SERVICE,
        name="placement",
        ports={"public": 8778, "internal": 8778},
        listed="placement",
        jobs=frozenset({"db-sync"}),
        actions=frozenset({"sync-database", "migrate-data"}),
        stays=frozenset({"MariaDBDatabase placement", "MariaDBAccount placement", "Secret placement-db-secret"}),
    ),
)

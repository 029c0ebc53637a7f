"""Keystone."""

from stackwright.services.keystone.service import SERVICE
from tests.functional.services.case import Refusal, ServiceCase

CASES = (
    ServiceCase(
        blueprint=SERVICE,
        name="keystone",
        ports={"public": 5000, "internal": 5000},
        jobs=frozenset({"db-sync", "bootstrap"}),
        actions=frozenset({"sync-database", "rotate-keys", "rotate-credential-keys", "flush-trusts"}),
        stays=frozenset(
            {
                "MariaDBDatabase keystone",
                "MariaDBAccount keystone",
                "Secret keystone-db-secret",
                "Secret keystone-fernet-keys",
                "Secret keystone-credential-keys",
            }
        ),
        refused=(
            Refusal(
                {"customServiceConfig": "[token]\nexpiration = 60\nnonsense\n"}, "spec.customServiceConfig: line 3"
            ),
        ),
    ),
)

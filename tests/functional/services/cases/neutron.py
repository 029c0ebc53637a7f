"""Neutron."""

from stackwright.services.neutron.service import SERVICE
from tests.functional.services.case import Refusal, ServiceCase

CASES = (
    ServiceCase(
        blueprint=SERVICE,
        name="neutron",
        ports={"public": 9696, "internal": 9696},
        listed="network",
        jobs=frozenset({"db-sync"}),
        pods=4,
        actions=frozenset({"sync-database", "check-networks", "repair-networks"}),
        stays=frozenset(
            {
                "MariaDBDatabase neutron",
                "MariaDBAccount neutron",
                "Secret neutron-db-secret",
                "TransportURL neutron-neutron-transport",
                "Secret rabbitmq-transport-url-neutron-neutron-transport",
            }
        ),
        refused=(
            Refusal({"defaultConfigOverwrite": {"api-paste.ini": "[pipeline]"}}, "policy.yaml", at_once=True),
            Refusal({"apiTimeout": 0}, "should be greater than or equal to 1", at_once=True),
        ),
    ),
)

"""The name server."""

from stackwright.services.dnsmasq.service import SERVICE
from tests.functional.services.case import Refusal, ServiceCase

CASES = (
    ServiceCase(
        blueprint=SERVICE,
        name="dns",
        least={},
        further={"options": [{"key": "server", "values": ["192.0.2.1#5300"]}]},
        refused=(
            Refusal({"options": [{"key": "user", "values": ["root"]}]}, "Unsupported value", at_once=True),
            Refusal({"options": [{"key": "local", "values": ["/a/\nuser=root"]}]}, "should match", at_once=True),
            Refusal(
                {"override": {"service": {"spec": {"type": "ExternalName", "externalName": "dns.example.com"}}}},
                "spec.override.service.spec.type: Invalid value: cannot be ExternalName",
                at_once=True,
            ),
            Refusal({"replicas": -1}, "should be greater than or equal to 0", at_once=True),
        ),
    ),
)

"""OVN: its databases, its daemon, its gateways."""

from stackwright.services.ovn import controller, database, northd
from tests.functional.services.case import CLASS, Refusal, ServiceCase

CASES = (
    ServiceCase(
        blueprint=database.SERVICE,
        name="ovndbcluster-sb",
        least={"storageRequest": "1G"},
        further={"dbType": "SB", "storageClass": CLASS},
        stays=frozenset({"PersistentVolumeClaim data-ovsdbserver-sb-0"}),
        refused=(
            Refusal({"dbType": "SBx"}, "Unsupported value", at_once=True),
            Refusal(
                {"override": {"service": {"spec": {"type": "ExternalName", "externalName": "sb.example.com"}}}},
                "spec.override.service.spec.type: Invalid value: cannot be ExternalName",
                at_once=True,
            ),
            Refusal({"electionTimer": 50}, "should be greater than or equal to 100", at_once=True),
            Refusal({"tls": {"secretName": "certificate"}}, "TLS is not supported yet"),
        ),
    ),
    ServiceCase(blueprint=northd.SERVICE, name="ovnnorthd", least={}),
    ServiceCase(
        blueprint=controller.SERVICE,
        name="ovncontroller",
        least={},
        further={"nicMappings": {"datacentre": "enp2s0"}},
        # One of each DaemonSet.
        pods=2,
        refused=(
            Refusal({"nicMappings": {"a": "eth1", "b": "eth1"}}, "eth1 is named twice"),
            Refusal(
                {"nicMappings": {"a": "bond0"}, "bondConfiguration": {"bond0": {"links": ["eth1"]}}},
                "bonds are not made yet",
            ),
            Refusal({"nicMappings": {"a-name-that-is-long": "eth1"}}, "at most 12", at_once=True),
        ),
    ),
)

"""Glance."""

from stackwright.services.glance.service import SERVICE
from tests.functional.services.case import CLASS, Refusal, ServiceCase

STORE = "[DEFAULT]\nenabled_backends = s3:s3\n[glance_store]\ndefault_backend = s3\n"

CASES = (
    ServiceCase(
        blueprint=SERVICE,
        name="glance",
        further={"storage": {"storageClass": CLASS}},
        without_state={"storage": {"external": True}, "customServiceConfig": STORE},
        ports={"default-public": 9292, "default-internal": 9292},
        listed="image",
        jobs=frozenset({"db-sync", "load-metadefs"}),
        pods=2,
        actions=frozenset({"sync-database", "load-metadefs", "purge-database"}),
        stays=frozenset(
            {
                "MariaDBDatabase glance",
                "MariaDBAccount glance",
                "Secret glance-db-secret",
                "PersistentVolumeClaim glance-default",
            }
        ),
        refused=(
            Refusal({"glanceAPIs": {"a": {}, "b": {}}}, "there are several glanceAPIs", at_once=True),
            Refusal({"glanceAPIs": {"a": {}}, "keystoneEndpoint": "b"}, "names none of the glanceAPIs", at_once=True),
            Refusal({"keystoneEndpoint": "b"}, "names none of the glanceAPIs", at_once=True),
            Refusal({"glanceAPIs": {"A_b": {}}}, "the name of an API must be a DNS label", at_once=True),
        ),
    ),
)

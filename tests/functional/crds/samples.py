"""Resources to write: files of examples, and the least that each kind takes."""

import secrets
from pathlib import Path

import yaml

from stackwright import services
from stackwright.kube.resource import CustomResource, JsonObject
from tests.functional.services.rows import rows

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "kinds"
UPSTREAM = Path(__file__).parent / "data" / "upstream.yaml"

KINDS: dict[str, type[CustomResource]] = {kind.kind.name: kind for kind in services.kinds()}

# The least that a resource of each kind says in its spec; of services their rows say it.
LEAST: dict[str, JsonObject] = {
    **{row.kind.kind.name: row.least for row in rows() if row.kind in KINDS.values()},
    "DNSData": {},
    "Galera": {"storageClass": "local", "storageRequest": "10G"},
    "IPSet": {"networks": []},
    "KeystoneEndpoint": {"serviceName": "image", "endpoints": {"public": "http://image.example.org"}},
    "KeystoneService": {
        "serviceName": "image",
        "serviceType": "image",
        "serviceUser": "glance",
        "secret": "osp-secret",
        "passwordSelector": "GlancePassword",
    },
    "MariaDBAccount": {"userName": "glance_1a2b", "secret": "glance-db-secret"},
    "MariaDBDatabase": {},
    "NetConfig": {"networks": []},
    "NovaExternalCompute": {},
    "OVNMetadataAgent": {},
    "OpenStackAnsibleEE": {"playbook": "stackwright.edpm.bootstrap"},
    "OpenStackControlPlane": {"secret": "osp-secret", "storageClass": "local"},
    "OpenStackDataPlane": {},
    "OpenStackDataPlaneNode": {"role": "compute"},
    "OpenStackDataPlaneRole": {},
    "OpenStackDataPlaneService": {"playbook": "stackwright.edpm.bootstrap"},
    "Reservation": {},
    "Topology": {},
    "TransportURL": {"rabbitmqClusterName": "rabbitmq"},
}


def resource(kind: str, namespace: str, spec: JsonObject | None = None, *, name: str = "") -> JsonObject:
    """Return a resource that says the least, and what is given besides, under a name of its own."""
    of = KINDS[kind].kind
    return {
        "apiVersion": of.api_version,
        "kind": of.name,
        "metadata": {"name": name or f"sample-{secrets.token_hex(4)}", "namespace": namespace},
        "spec": LEAST[kind] | (spec or {}),
    }


def documents(path: Path) -> list[JsonObject]:
    """Return the resources in a file."""
    return [body for body in yaml.safe_load_all(path.read_text(encoding="utf-8")) if body]

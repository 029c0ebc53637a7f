"""A small cloud as the API server would have it, for tests of what is shown of it."""

from typing import Any

import msgspec

from stackwright import services
from stackwright.kube.resource import Resource

NAMESPACE = "openstack"
CREATED = "2026-11-15T10:00:00Z"
READY_SINCE = "2026-11-15T10:01:00Z"


def ready(status: str = "True", severity: str = "", message: str = "Setup complete", reason: str = "Ready") -> Any:
    condition = {"type": "Ready", "status": status, "severity": severity, "reason": reason, "message": message}
    return {"conditions": [{**condition, "lastTransitionTime": READY_SINCE}], "observedGeneration": 1}


def kind(name: str) -> Any:
    return next(kind for kind in services.kinds() if kind.kind.name == name)


def made(of: Any, name: str, *, owner: Resource | None = None, **fields: Any) -> Any:
    """Return a resource with the metadata that a server gives."""
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": NAMESPACE,
        "uid": f"{of.kind.name}-{name}",
        "generation": 1,
        "creationTimestamp": CREATED,
        **fields.pop("metadata", {}),
    }
    if owner is not None:
        reference = {"apiVersion": owner.kind.api_version, "kind": owner.kind.name, "name": owner.metadata.name}
        metadata["ownerReferences"] = [{**reference, "uid": owner.metadata.uid, "controller": True}]
    return msgspec.convert({"metadata": metadata, **fields}, of)


def control_plane(**fields: Any) -> Any:
    spec = {"secret": "osp-secret", "storageClass": "local", "keystone": {}}
    return made(services.control_plane(), "openstack", **{"spec": spec, "status": ready(), **fields})


def keystone(owner: Resource | None = None, **fields: Any) -> Any:
    spec = {"secret": "osp-secret", "databaseInstance": "openstack"}
    return made(kind("KeystoneAPI"), "keystone", owner=owner, **{"spec": spec, "status": ready(), **fields})


def galera(owner: Resource | None = None, **fields: Any) -> Any:
    spec = {"storageClass": "local", "storageRequest": "10G"}
    return made(kind("Galera"), "openstack", owner=owner, **{"spec": spec, "status": ready(), **fields})

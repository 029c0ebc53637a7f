"""Control planes, and what there is beside them, for tests."""

from typing import Any

import msgspec

from stackwright import services
from stackwright.api.base import CustomResource, JsonObject
from stackwright.api.controlplane import OpenStackControlPlane
from stackwright.controllers.controlplane.controller import Facts
from stackwright.controllers.controlplane.passwords import SecretKeys
from stackwright.controllers.controlplane.resolution import Instance, resolve

KINDS = {kind.kind.name: kind for kind in services.kinds()}

# A Secret with all that any service wants.
FULL = SecretKeys(frozenset({"AdminPassword"}), generated=False, version="1")


def umbrella(spec: JsonObject | None = None, name: str = "cloud") -> OpenStackControlPlane:
    said = {"secret": "osp-secret", "storageClass": "fast", **(spec or {})}
    body = {"metadata": {"name": name, "namespace": "here", "generation": 1}, "spec": said}
    return msgspec.convert(body, services.control_plane())


def instances(spec: JsonObject, foreign: frozenset[tuple[str, str]] = frozenset()) -> dict[str, Instance]:
    found = resolve(umbrella(spec).spec, services.sections(), foreign)
    return {str(instance): instance for instance in found}


def resource(kind: str, name: str, *, ready: bool | None = None, deleting: bool = False) -> CustomResource:
    """Return a resource as its operator left it; without `ready` nobody looked at it."""
    least: dict[str, Any] = {"KeystoneAPI": {"secret": "s", "databaseInstance": "d"}}
    metadata = {"name": name, "namespace": "here", "generation": 1, "uid": f"{kind}-{name}"}
    if deleting:
        metadata["deletionTimestamp"] = "2026-11-15T00:00:00Z"
    status: JsonObject = {}
    if ready is not None:
        condition = {"type": "Ready", "status": "True" if ready else "False", "severity": "", "reason": "Pods"}
        condition |= {"message": "all is well" if ready else "no pods yet"}
        status = {"observedGeneration": 1, "conditions": [condition]}
    return msgspec.convert({"metadata": metadata, "spec": least.get(kind, {}), "status": status}, KINDS[kind])


def facts(*present: CustomResource, foreign: bool = False, secret: SecretKeys | None = FULL, first: str = "") -> Facts:
    known = {(one.kind.name, one.metadata.name): one for one in present}
    return Facts(known, frozenset(known) if foreign else frozenset(), secret, first)

"""A service on a node as a test works with it: what it would run, its run, and how that ended."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.node_service import NodeServiceResource
from stackwright.blueprint.dataplane.node_service import NodeService
from stackwright.blueprint.dataplane.schedule import Backoff
from stackwright.controllers.node_services import fleet
from stackwright.controllers.node_services.deployment import Seen, tell
from stackwright.controllers.node_services.preparation import Whole, prepare
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.resource import Resource
from tests.unit.controllers.node_services.place import (
    AROUND,
    COMPUTE,
    inventory,
    made,
    role,
    seeing,
)

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


def whole(service: NodeService, resource: NodeServiceResource, *others: Resource) -> Whole:
    found = prepare(service, resource, seeing(*others), AROUND)
    assert isinstance(found, Whole), found
    return found


def seen(resource: NodeServiceResource, *others: Resource, **further: Any) -> Seen:
    return Seen(prepare(COMPUTE, resource, seeing(*others), AROUND), **further)


def begin(service: NodeService, resource: NodeServiceResource, *others: Resource) -> OpenStackAnsibleEE:
    found = fleet.Seen(role(), NOW, {"one": resource}, {"one": whole(service, resource, *others)})
    (beginning,) = fleet.decide(service, found, fleet.candidates_of(service, found), Backoff()).begins
    bodies = [body for kind, body in beginning.bodies() if kind is OpenStackAnsibleEE]
    return msgspec.convert(bodies[0], OpenStackAnsibleEE)


def ended(run: OpenStackAnsibleEE, state: str = "Ok", **said: str) -> OpenStackAnsibleEE:
    status = {"finishedAt": "2026-11-16T11:59:00Z", "hosts": [{"host": "one", "state": state, **said}]}
    owner = {"apiVersion": "v1", "kind": "X", "name": "one", "uid": "NovaExternalCompute-one", "controller": True}
    metadata = {"name": run.metadata.name, "namespace": "openstack", "uid": run.metadata.name}
    body = {"metadata": {**metadata, "ownerReferences": [owner]}, "spec": msgspec.to_builtins(run.spec)}
    return msgspec.convert({**body, "status": status}, OpenStackAnsibleEE)


def after(resource: NodeServiceResource, of: Seen) -> NodeServiceResource:
    return msgspec.structs.replace(resource, status=tell(COMPUTE, resource, of))


def inventory_of(host: str) -> ConfigMap:
    """Return the inventory of the node `one`, whose machine has another name."""
    return made(ConfigMap, "dataplanenode-one", data={"inventory": inventory(host).data["inventory"]})

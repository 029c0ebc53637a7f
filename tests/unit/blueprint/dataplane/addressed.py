"""A node in networks, and the addresses that it was given."""

from typing import Any

import msgspec

from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.network import IPSet
from stackwright.blueprint.addresses.allocation import Around, allocate, describe_addresses
from stackwright.kube.resource import R, Resource
from tests.unit.blueprint.addresses.networks import ip_set, net_config, reservation

NETWORKS: list[dict[str, object]] = [
    {"name": "ctlplane", "subnetName": "subnet1", "defaultRoute": True},
    {"name": "internalapi", "subnetName": "subnet1"},
]

ROLE = msgspec.convert(
    {
        "metadata": {"name": "compute", "namespace": "openstack"},
        "spec": {"nodeTemplate": {"networks": NETWORKS}, "preProvisioned": True},
    },
    OpenStackDataPlaneRole,
)

MINE = (reservation("node", "192.168.122.100"), reservation("node", "fd00:bbbb::10", "InternalApi"))


class Caches:
    """Looks into a few objects."""

    def __init__(self, *there: Resource) -> None:
        self.there = there

    def __call__(self, kind: type[R], name: str, *, namespace: str = "") -> R | None:  # noqa: ARG002  the form of a look
        return next((each for each in self.of_kind(kind) if each.metadata.name == name), None)

    def of_kind(self, kind: type[R]) -> list[R]:
        return [each for each in self.there if isinstance(each, kind)]


def node(**spec: Any) -> OpenStackDataPlaneNode:
    body = {"metadata": {"name": "node", "namespace": "openstack"}, "spec": {"role": "compute", **spec}}
    return msgspec.convert(body, OpenStackDataPlaneNode)


def told(*, ready: bool = True, generation: int = 1) -> IPSet:
    asked = ip_set({"name": "ctlplane", "defaultRoute": True}, {"name": "internalapi"})
    found = describe_addresses(allocate(asked, Around(net_config().spec, MINE)))
    status = {
        "reservations": msgspec.to_builtins(found),
        "observedGeneration": 1,
        "conditions": [
            {"type": "Ready", "status": "True" if ready else "False", "message": "no address is left", "reason": "x"}
        ],
    }
    body = {**msgspec.to_builtins(asked), "status": status}
    body["metadata"]["generation"] = generation
    return msgspec.convert(body, IPSet)

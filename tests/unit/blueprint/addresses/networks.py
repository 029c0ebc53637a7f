"""Networks, IPSets and Reservations to decide on."""

from typing import Any

import msgspec

from stackwright.api.base import JsonObject
from stackwright.api.network import IPSet, NetConfig, Reservation
from stackwright.kube.shapes.child import mark_by

CTLPLANE: JsonObject = {
    "name": "ctlplane",
    "dnsDomain": "ctlplane.example.com",
    "subnets": [
        {
            "name": "subnet1",
            "cidr": "192.168.122.0/24",
            "gateway": "192.168.122.1",
            "allocationRanges": [
                {"start": "192.168.122.100", "end": "192.168.122.102"},
                {"start": "192.168.122.200", "end": "192.168.122.200"},
            ],
            "excludeAddresses": ["192.168.122.101"],
            "routes": [{"destination": "10.0.0.0/8", "nexthop": "192.168.122.2"}],
        }
    ],
}
INTERNAL: JsonObject = {
    "name": "InternalApi",
    "dnsDomain": "internalapi.example.com",
    "mtu": 9000,
    "subnets": [
        {
            "name": "subnet1",
            "cidr": "fd00:bbbb::/64",
            "vlan": 20,
            "allocationRanges": [{"start": "fd00:bbbb::10", "end": "fd00:bbbb::1f"}],
        }
    ],
}


def net_config(*networks: JsonObject, name: str = "netconfig", **metadata: Any) -> NetConfig:
    body = {
        "metadata": {"name": name, "namespace": "openstack", **metadata},
        "spec": {"networks": networks or [CTLPLANE, INTERNAL]},
    }
    return msgspec.convert(body, NetConfig)


def changed(network: JsonObject, **fields: Any) -> JsonObject:
    """Return a network whose first subnet has other fields."""
    first, *others = network["subnets"]
    return {**network, "subnets": [{**first, **fields}, *others]}


def ip_set(*networks: JsonObject, name: str = "node", uid: str = "", status: JsonObject | None = None) -> IPSet:
    asked = [{"subnetName": "subnet1", **each} for each in networks or ({"name": "ctlplane"},)]
    body = {
        "metadata": {"name": name, "namespace": "openstack", "uid": uid or f"uid-of-{name}"},
        "spec": {"networks": asked},
        "status": status or {},
    }
    return msgspec.convert(body, IPSet)


def given(name: str, address: str, network: str = "ctlplane") -> IPSet:
    """Return the IPSet of a node that was given an address."""
    entry = {"network": network, "subnet": "subnet1", "address": address, "serviceNetwork": network}
    ready = {"type": "Ready", "status": "True", "reason": "Ready", "message": ""}
    reservations = [{**entry, "dnsDomain": f"{network}.example.com"}]
    found = ip_set({"name": network}, name=name, status={"reservations": reservations, "conditions": [ready]})
    metadata = msgspec.structs.replace(found.metadata, annotations={mark_by("stackwright"): "as it was applied"})
    return msgspec.structs.replace(found, metadata=metadata)


def reservation(
    holder: str, address: str, network: str = "ctlplane", *, owned: bool = True, name: str = "", uid: str = ""
) -> Reservation:
    owner = {
        "apiVersion": "network.openstack.org/v1beta1",
        "kind": "IPSet",
        "name": holder,
        "uid": uid or f"uid-of-{holder}",
        "controller": True,
    }
    entry = {"network": network, "subnet": "subnet1", "address": address}
    body = {
        "metadata": {
            "name": name or f"{network.lower()}-{address.replace('.', '-')}",
            "namespace": "openstack",
            "ownerReferences": [owner] if owned else [],
        },
        "spec": {"ipSetRef": {"name": holder}, "reservation": {network: entry}},
    }
    return msgspec.convert(body, Reservation)

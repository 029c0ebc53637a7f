"""Networks for machines outside of the cluster, and what an IPSet asks for in them."""

from stackwright.kube.resource import JsonObject

CTLPLANE: JsonObject = {
    "name": "ctlplane",
    "dnsDomain": "ctlplane.example.com",
    "subnets": [
        {
            "name": "subnet1",
            "cidr": "192.168.122.0/24",
            "gateway": "192.168.122.1",
            "allocationRanges": [{"start": "192.168.122.100", "end": "192.168.122.109"}],
        }
    ],
}
INTERNAL: JsonObject = {
    "name": "InternalApi",
    "dnsDomain": "internalapi.example.com",
    "subnets": [
        {
            "name": "subnet1",
            "cidr": "172.17.0.0/24",
            "vlan": 20,
            "allocationRanges": [{"start": "172.17.0.100", "end": "172.17.0.250"}],
        }
    ],
}
BOTH = [{"name": "ctlplane", "subnetName": "subnet1"}, {"name": "internalapi", "subnetName": "subnet1"}]

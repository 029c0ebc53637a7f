"""Networks in the shared cloud: OVN's agents are alive, and a server becomes ACTIVE with a bound port.

What passes through the networks is tests/long/test_networks.py.
"""

from tests.e2e import servers
from tests.e2e.cloud import Cloud
from tests.e2e.compute import COMPUTE
from tests.e2e.servers import Server
from tests.e2e.waiting import eventually

GATEWAY = "OVN Controller Gateway agent"


def test_the_node_is_a_gateway_and_stands_in_for_the_fake_compute(cloud: Cloud) -> None:
    wanted = {(GATEWAY, "node-1"): True, ("OVN Controller agent", COMPUTE): True}
    eventually(lambda: servers.agents(cloud) == wanted, lambda: str(servers.agents(cloud)))


def test_a_server_becomes_active_with_a_bound_port(cloud: Cloud) -> None:
    assert servers.tried(cloud, "networked") == Server("ACTIVE", COMPUTE, COMPUTE, "ovs")

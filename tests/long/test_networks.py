"""What passes through the cloud's networks: probes are plugged in where servers would be, and ask each other.

Servers get ports in two cells, of which one comes while the cloud runs. Pods are killed. After all that Neutron and OVN
still say the same.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from stackwright.local.cluster.lifecycle import Cluster
from tests.checkout import ROOT
from tests.e2e import cloud as clouds
from tests.e2e import network_check, servers
from tests.e2e.cloud import Cloud
from tests.e2e.compute import COMPUTE, pods
from tests.e2e.servers import Server
from tests.e2e.waiting import eventually
from tests.long import probes
from tests.long.cells import CELL2
from tests.long.probes import Probe

NODE = "node-1"
SECOND = "nova-cell2-fake-compute-0"
# Geneve over 1500 bytes.
MTU = "1442"

Tell = Callable[[str], None]


@pytest.fixture(scope="module")
def cloud(cluster: Cluster) -> Iterator[Cloud]:
    """The cloud of `make up`."""
    with clouds.raised(cluster, ROOT / "examples" / "cloud" / "openstack.yaml") as made:
        made.with_client()
        yield made


def make(cloud: Cloud, kind: str, *words: str) -> Any:
    """Make something by the client, and return what it says of it."""
    return cloud.openstack(*kind.split(), "create", *words)


def instruct(cloud: Cloud, *words: str) -> None:
    """Have the client do something that it does not answer."""
    cloud.kubectl("exec", "client", "--", "openstack", *words)


@dataclass(frozen=True)
class Plugged:
    """Probes: two in one network, and one in another."""

    first: Probe
    second: Probe
    beyond: Probe


@pytest.fixture(scope="module")
def plugged(cluster: Cluster, cloud: Cloud, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plugged]:
    """Three probes in two networks that nothing connects, in a security group that lets pings and a page in."""
    make(cloud, "security group", "open")
    make(cloud, "security group rule", "--protocol", "icmp", "open")
    make(cloud, "security group rule", "--protocol", "tcp", "--dst-port", str(probes.PORT), "open")
    for number, name in enumerate(("inside", "beyond"), 1):
        make(cloud, "network", name)
        make(cloud, "subnet", "--network", name, "--subnet-range", f"10.{number}.0.0/24", name)
    with ExitStack() as left:

        def probe(network: str, name: str) -> Probe:
            port = make(cloud, "port", "--network", network, "--host", NODE, "--security-group", "open", name)
            folder = tmp_path_factory.mktemp(name)
            return left.enter_context(probes.plugged(cluster, cloud, port, folder))

        yield Plugged(probe("inside", "first"), probe("inside", "second"), probe("beyond", "beyond"))


def test_the_node_is_a_gateway(cloud: Cloud) -> None:
    eventually(lambda: all(servers.agents(cloud).values()), lambda: str(servers.agents(cloud)))
    assert {host for _, host in servers.agents(cloud)} == {NODE, COMPUTE}


def test_probes_get_the_addresses_of_their_ports_by_dhcp(plugged: Plugged, cloud: Cloud) -> None:
    for probe in (plugged.first, plugged.second, plugged.beyond):
        assert probe.lease[:2] == (probe.port["fixed_ips"][0]["ip_address"], MTU)
        is_up(cloud, probe)


def is_up(cloud: Cloud, probe: Probe) -> None:
    """Wait until Neutron knows that a probe is plugged in."""
    eventually(lambda: cloud.openstack("port", "show", probe.port["id"])["status"] == "ACTIVE", "the port is up")


def test_two_in_one_network_reach_each_other(plugged: Plugged) -> None:
    first, second = plugged.first, plugged.second
    eventually(lambda: first.reaches(second.address), "a ping is answered", 30.0)
    # OVN answers for the other one, with its address.
    assert second.port["mac_address"] in first.run("ip", "neighbour", "show", second.address)
    with second.serving():
        eventually(lambda: first.fetches(second.address), "the page is there", 30.0)
    # The largest packet that fits.
    first.run("busybox", "ping", "-c", "1", "-s", str(int(MTU) - 28), second.address)


def test_two_networks_are_connected_by_a_router_alone(plugged: Plugged, cloud: Cloud) -> None:
    first, beyond = plugged.first, plugged.beyond
    assert not first.reaches(beyond.address)
    make(cloud, "router", "way-out")
    for network in ("inside", "beyond"):
        instruct(cloud, "router", "add", "subnet", "way-out", network)
    eventually(lambda: first.reaches(beyond.address), "a ping is routed", 60.0)


def test_this_machine_reaches_a_floating_ip_and_the_probe_reaches_this_machine(
    plugged: Plugged, cloud: Cloud, cluster: Cluster
) -> None:
    spare = cluster.settings.network.spare
    physical = ("--provider-network-type", "flat", "--provider-physical-network", "datacentre")
    make(cloud, "network", "--external", *physical, "outside")
    pool = f"start={spare.free[0]},end={spare.free[1]}"
    addresses = ("--subnet-range", spare.range, "--gateway", spare.host, "--allocation-pool", pool)
    make(cloud, "subnet", "--network", "outside", "--no-dhcp", *addresses, "outside")
    instruct(cloud, "router", "set", "--external-gateway", "outside", "way-out")
    floating = str(make(cloud, "floating ip", "--port", plugged.second.port["id"], "outside")["floating_ip_address"])
    eventually(lambda: probes.succeeds(list(probes.ping(floating))), "a ping is answered", 60.0)
    with plugged.second.serving():
        eventually(lambda: probes.succeeds(list(probes.fetch(floating))), "the page is there", 30.0)
    # By its own floating IP, and by that of the router.
    assert plugged.second.reaches(spare.host)
    assert plugged.first.reaches(spare.host)


def test_a_security_group_that_closes_a_port_closes_it(plugged: Plugged, cloud: Cloud) -> None:
    first, second = plugged.first, plugged.second
    make(cloud, "security group", "closed")
    make(cloud, "security group rule", "--protocol", "icmp", "closed")
    with second.serving():
        eventually(lambda: first.fetches(second.address), "the page is there", 30.0)
        instruct(cloud, "port", "set", "--no-security-group", "--security-group", "closed", second.port["id"])
        eventually(lambda: not first.fetches(second.address), "the page is closed", 30.0)
        assert first.reaches(second.address)
        make(cloud, "security group rule", "--protocol", "tcp", "--dst-port", str(probes.PORT), "closed")
        eventually(lambda: first.fetches(second.address), "the page is there again", 30.0)


def test_trunks_and_policies_are_made(plugged: Plugged, cloud: Cloud) -> None:
    for name, network in (("parent", "inside"), ("child", "beyond")):
        make(cloud, "port", "--network", network, name)
    trunk = make(
        *(cloud, "network trunk", "--parent-port", "parent"),
        *("--subport", "port=child,segmentation-type=vlan,segmentation-id=7", "trunk"),
    )
    assert [one["segmentation_id"] for one in trunk["sub_ports"]] == [7]
    make(cloud, "network qos policy", "slow")
    make(cloud, "network qos rule", "--type", "bandwidth-limit", "--max-kbps", "1000", "slow")
    instruct(cloud, "port", "set", "--qos-policy", "slow", plugged.first.port["id"])
    assert plugged.first.reaches(plugged.second.address)


def test_servers_are_active_in_both_cells_of_which_one_comes_now(cloud: Cloud) -> None:
    assert servers.tried(cloud, "before", COMPUTE) == Server("ACTIVE", COMPUTE, COMPUTE, "ovs")
    cloud.ask(
        nova={"template": {"cellTemplates": {"cell2": CELL2}}},
        ovn={"template": {"ovnController": {"fakeHosts": {NODE: [COMPUTE, SECOND]}}}},
    )
    cloud.kubectl("wait", "--for=create", "novacell/nova-cell2", "--timeout=120s")
    cloud.kubectl.wait("novacell/nova-cell2", "condition=Ready")
    cloud.settle()
    eventually(lambda: servers.agents(cloud).get(("OVN Controller agent", SECOND)), lambda: str(servers.agents(cloud)))
    for host in (COMPUTE, SECOND):
        assert servers.tried(cloud, "both", host) == Server("ACTIVE", host, host, "ovs")


@pytest.mark.parametrize("service", ["neutron", "nova"])
def test_the_next_server_is_active_though_every_pod_was_killed(plugged: Plugged, cloud: Cloud, service: str) -> None:
    found = pods(cloud, f"{service}-")
    names = [name for name in found if not re.search(r"-(map|sync|discover|machines|check)-", name)]
    cloud.kubectl("delete", "pod", "--grace-period=0", "--force", *names)
    # What is there already needs none of them.
    assert plugged.first.reaches(plugged.second.address)
    cloud.settle()
    for host in (COMPUTE, SECOND):
        assert servers.tried(cloud, "after", host).status == "ACTIVE"


def removed(cloud: Cloud, component: str, *words: str) -> None:
    """Delete the pods of a part of OVN on the nodes, and wait until others are there."""
    label = f"--selector=app.kubernetes.io/component={component},app.kubernetes.io/instance=ovncontroller"
    cloud.kubectl("delete", "pod", label, *words)
    cloud.settle()


# The flows stay when their controller is away, and Open vSwitch's kernel or process forwards on. Without the process
# nothing is forwarded; one that is stopped in order saves its flows, so that the next one has them at once.
@pytest.mark.parametrize(
    ("component", "words", "most"),
    [
        pytest.param("controller", ("--grace-period=0", "--force"), 5, id="controller-killed"),
        pytest.param("ovs", (), None, id="switch-stopped"),
        pytest.param("ovs", ("--grace-period=0", "--force"), None, id="switch-killed"),
    ],
)
def test_the_network_is_as_before_when_a_part_of_it_went_away(
    plugged: Plugged, cloud: Cloud, tell: Tell, component: str, words: tuple[str, ...], most: int | None
) -> None:
    first, second = plugged.first, plugged.second
    eventually(lambda: first.reaches(second.address), "a ping is answered before", 60.0)
    with first.pinging(second.address) as losses:
        removed(cloud, component, *words)
        eventually(lambda: first.reaches(second.address), f"a ping is answered after {component} went", 60.0)
    tell(f"{component} {'killed' if words else 'stopped'}: {losses}")
    assert losses.answered
    assert most is None or losses.lost <= most
    assert network_check.differences(cloud) == []


# A server that stays, in the network of the probes.
_STAYS = """
import sys, openstack
cloud = openstack.connect()
image = cloud.image.create_image(name="stays", data=b"fake", disk_format="raw", container_format="bare", wait=True)
flavor = cloud.compute.create_flavor(name="stays", ram=64, vcpus=1, disk=0)
networks = [{"uuid": cloud.network.find_network("inside").id}]
server = cloud.compute.create_server(
    name="stays", image_id=image.id, flavor_id=flavor.id, networks=networks, host=sys.argv[1]
)
print(cloud.compute.wait_for_server(server, wait=120).status)
"""
# For how many seconds a cell that is to go has to stay for its server: its jobs have tried to empty it by then.
STAYS = 90.0


def test_a_cell_stays_as_long_as_it_has_a_server(plugged: Plugged, cloud: Cloud) -> None:
    printed = cloud.kubectl("exec", "client", "--", "python3", "-c", _STAYS, SECOND)
    assert printed.splitlines()[-1] == "ACTIVE"
    cloud.ask(nova={"template": {"cellTemplates": {"cell2": None}}})
    path = '{.status.conditions[?(@.type=="NovaCellsDeletion")].message}'
    eventually(lambda: "cell2" in cloud.kubectl.get("nova/nova", path), "Nova says that the cell is not empty")
    time.sleep(STAYS)
    assert not cloud.kubectl.get("novacell/nova-cell2", "{.metadata.deletionTimestamp}")
    assert cloud.openstack("server", "show", "stays")["status"] == "ACTIVE"

    instruct(cloud, "server", "delete", "--wait", "stays")
    cloud.kubectl("wait", "--for=delete", "novacell/nova-cell2", "--timeout=900s")
    cloud.settle()
    assert servers.tried(cloud, "left", COMPUTE).status == "ACTIVE"


def test_neutron_and_ovn_say_the_same(plugged: Plugged, cloud: Cloud) -> None:
    assert network_check.differences(cloud) == []

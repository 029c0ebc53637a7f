"""Neutron in the cloud, with OVN below it: what the real client asks for becomes part of the virtual network."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from stackwright.local.cluster.lifecycle import Cluster
from tests.checkout import ROOT
from tests.e2e import cloud as clouds
from tests.e2e.cloud import Cloud
from tests.e2e.waiting import eventually

DEPLOYMENTS = {"neutron", "neutron-rpc", "neutron-periodic-workers", "neutron-ovn-maintenance-worker"}


@pytest.fixture(scope="module")
def cloud(cluster: Cluster) -> Iterator[Cloud]:
    """The cloud that the documentation brings up."""
    with clouds.raised(cluster, ROOT / "examples" / "cloud" / "neutron.yaml") as made:
        made.with_client()
        yield made


def made(cloud: Cloud, kind: str, *words: str) -> Any:
    """Make something by the client, and return what it says of it."""
    return cloud.openstack(*kind.split(), "create", *words)


def named(cloud: Cloud, table: str) -> str:
    """Return what the northbound database has in a table."""
    ask = ("ovn-nbctl", "--no-leader-only", "--db=tcp:127.0.0.1:6641", "list", table)
    return cloud.kubectl("exec", "ovsdbserver-nb-0", "--", *ask)


def test_everything_came_up_once(cloud: Cloud) -> None:
    history = cloud.installation.history
    assert {"NeutronAPI", "OVNDBCluster", "OVNNorthd"} <= {name.split()[0] for name, _ in history.states}
    assert history.restless() == {}
    replica_sets = [name for name in cloud.installation.replica_sets if name in DEPLOYMENTS]
    assert sorted(replica_sets) == sorted(DEPLOYMENTS)
    assert cloud.installation.releases["neutron"] == ("deployed", "1")


def test_the_catalog_has_what_the_resource_says(cloud: Cloud) -> None:
    listed = cloud.openstack("endpoint", "list", "--service", "network")
    said = json.loads(cloud.kubectl("get", "neutronapi", "neutron", "--output=json"))["status"]["apiEndpoints"]
    assert {entry["Interface"]: entry["URL"] for entry in listed} == said
    assert set(said) == {"public", "internal"}


def test_what_is_asked_for_becomes_part_of_the_virtual_network(cloud: Cloud) -> None:
    inside = made(cloud, "network", "inside")
    assert (inside["provider:network_type"], inside["mtu"]) == ("geneve", 1442)
    made(cloud, "subnet", "--network", "inside", "--subnet-range", "10.1.0.0/24", "inside")
    physical = ("--provider-network-type", "flat", "--provider-physical-network", "datacentre")
    made(cloud, "network", "--external", *physical, "outside")
    made(cloud, "subnet", "--network", "outside", "--no-dhcp", "--subnet-range", "192.0.2.0/24", "outside")
    made(cloud, "router", "--external-gateway", "outside", "way-out")
    cloud.kubectl("exec", "client", "--", "openstack", "router", "add", "subnet", "way-out", "inside")
    made(cloud, "security group", "closed")
    made(cloud, "security group rule", "--protocol", "tcp", "--dst-port", "22", "closed")
    port = made(cloud, "port", "--network", "inside", "--security-group", "closed", "plug")
    assert port["fixed_ips"][0]["ip_address"].startswith("10.1.0.")
    floating = made(cloud, "floating ip", "--port", "plug", "outside")
    made(cloud, "port", "--network", "inside", "parent")
    made(cloud, "network trunk", "--parent-port", "parent", "trunk")
    made(cloud, "network qos policy", "slow")
    made(cloud, "network qos rule", "--type", "bandwidth-limit", "--max-kbps", "1000", "slow")
    cloud.kubectl("exec", "client", "--", "openstack", "port", "set", "--qos-policy", "slow", "plug")

    assert f"neutron-{inside['id']}" in named(cloud, "Logical_Switch")
    assert port["mac_address"] in named(cloud, "Logical_Switch_Port")
    assert floating["floating_ip_address"] in named(cloud, "NAT")


def test_any_pod_that_is_killed_comes_back(cloud: Cloud) -> None:
    label = "--selector=app.kubernetes.io/name=neutron,app.kubernetes.io/component!=db-sync"
    cloud.kubectl("delete", "pod", "--grace-period=0", "--force", label)
    cloud.settle()
    eventually(lambda: bool(made(cloud, "port", "--network", "inside", "later")), "a port can be made again")


def test_the_databases_agree(cloud: Cloud) -> None:
    cloud.stackwright("action", "run", "neutron", "check-networks")

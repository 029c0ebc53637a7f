#!/usr/bin/env python3
"""Create a first server, with all that it needs; what is there already stays as it is.

It reads the cloud's login as every client does (OS_CLOUD), and from the environment:

SPARE_RANGE, SPARE_HOST    the network outside, and the gateway in it
SPARE_FIRST, SPARE_LAST    the addresses in it that floating IPs may have
PUBLIC_KEY                 the key that may log in to the server

What became of it is written as JSON to the file that the first argument names: the server's host, its address in the
network outside, and the URL of its console.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import openstack

DISK = Path(__file__).parent / "guest.qcow2"
NAME, INSIDE, OUTSIDE, ROUTER, GROUP, SMALL = "first", "inside", "outside", "way-out", "open", "tiny"
POOL = "projects"
PORTS = (22, 80)
# What Neutron calls a machine that OVN knows.
CONTROLLER = "OVN Controller agent"
# For how long to wait until there is a machine that runs servers, and until the server is active.
SECONDS = 900


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


def connect_networks(cloud: Any) -> Any:
    """Have a network with a router to the outside; return the one outside."""
    network = cloud.network
    outside = network.find_network(OUTSIDE)
    if outside is None:
        physical = {"provider:network_type": "flat", "provider:physical_network": "datacentre"}
        outside = network.create_network(name=OUTSIDE, is_router_external=True, is_default=True, **physical)
    if network.find_subnet(OUTSIDE) is None:
        network.create_subnet(
            name=OUTSIDE,
            network_id=outside.id,
            ip_version=4,
            is_dhcp_enabled=False,
            cidr=os.environ["SPARE_RANGE"],
            gateway_ip=os.environ["SPARE_HOST"],
            allocation_pools=[{"start": os.environ["SPARE_FIRST"], "end": os.environ["SPARE_LAST"]}],
        )
    if network.find_subnet_pool(POOL) is None:
        # From it and the network outside Neutron makes networks for projects that have none (--nic auto).
        network.create_subnet_pool(
            name=POOL, prefixes=["192.168.128.0/17"], default_prefix_length=26, is_shared=True, is_default=True
        )
    inside = network.find_network(INSIDE) or network.create_network(name=INSIDE)
    subnet = network.find_subnet(INSIDE) or network.create_subnet(
        name=INSIDE, network_id=inside.id, ip_version=4, cidr="192.168.0.0/24"
    )
    router = network.find_router(ROUTER) or network.create_router(
        name=ROUTER, external_gateway_info={"network_id": outside.id}
    )
    if not any(network.ports(device_id=router.id, network_id=inside.id)):
        network.add_interface_to_router(router, subnet_id=subnet.id)
    return outside


def open_ports(cloud: Any) -> Any:
    """Have a security group that lets pings, logins and requests for a page in; return it."""
    network = cloud.network
    group = network.find_security_group(GROUP) or network.create_security_group(name=GROUP)
    there = {(rule.protocol, rule.port_range_min) for rule in network.security_group_rules(security_group_id=group.id)}
    for protocol, port in (("icmp", None), *(("tcp", port) for port in PORTS)):
        if (protocol, port) not in there:
            network.create_security_group_rule(
                security_group_id=group.id,
                direction="ingress",
                ethertype="IPv4",
                protocol=protocol,
                port_range_min=port,
                port_range_max=port,
            )
    return group


def plug(cloud: Any, outside: Any) -> tuple[Any, str]:
    """Have a port with a floating IP; return both."""
    network, group = cloud.network, open_ports(cloud)
    inside = network.find_network(INSIDE)
    port = network.find_port(NAME) or network.create_port(name=NAME, network_id=inside.id, security_groups=[group.id])
    floating = next(iter(network.ips(port_id=port.id)), None)
    if floating is None:
        floating = network.create_ip(floating_network_id=outside.id, port_id=port.id)
    return port, str(floating.floating_ip_address)


def upload(cloud: Any) -> Any:
    """Have an image of the tiny server; return it."""
    found = cloud.image.find_image(SMALL)
    if found is not None:
        return found
    return cloud.image.create_image(
        name=SMALL, filename=str(DISK), disk_format="qcow2", container_format="bare", wait=True
    )


def await_machine(cloud: Any) -> str:
    """Wait until there is a machine that runs servers, and whose switch OVN knows; return its name.

    A server on a machine without the second would have no network, and end as an error.
    """
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        connected = {one.host for one in cloud.network.agents(agent_type=CONTROLLER) if one.is_alive}
        running = [one.name for one in cloud.compute.hypervisors(details=True) if one.state == "up"]
        if chosen := [name for name in running if name in connected]:
            return str(chosen[0])
        time.sleep(2)
    sys.exit(f"There is no machine that runs servers after {SECONDS} seconds.")


def start(cloud: Any, image: Any, port: Any) -> Any:
    """Have the server, active; return it."""
    compute = cloud.compute
    flavor = compute.find_flavor(SMALL) or compute.create_flavor(name=SMALL, ram=256, vcpus=1, disk=1)
    if compute.find_keypair(NAME) is None:
        compute.create_keypair(name=NAME, public_key=os.environ["PUBLIC_KEY"])
    found = compute.find_server(NAME)
    server = compute.get_server(found.id) if found is not None else None
    if server is not None and server.status == "ERROR":
        # An earlier try has left it.
        compute.delete_server(server)
        compute.wait_for_delete(server)
        server = None
    if server is None:
        server = compute.create_server(
            name=NAME,
            image_id=image.id,
            flavor_id=flavor.id,
            networks=[{"port": port.id}],
            key_name=NAME,
            host=await_machine(cloud),
        )
    return compute.wait_for_server(server, wait=SECONDS)


def main() -> None:
    """Create all of it, one after the other."""
    cloud = openstack.connect()
    outside = connect_networks(cloud)
    port, address = plug(cloud, outside)
    say(f"The floating IP is {address}.")
    server = start(cloud, upload(cloud), port)
    console = cloud.compute.create_server_remote_console(server, protocol="vnc", type="novnc")
    result = {"server": NAME, "host": server.compute_host or server.hypervisor_hostname, "address": address}
    say(json.dumps(result))
    Path(sys.argv[1]).write_text(json.dumps(result | {"console": console.url}), encoding="utf-8")


if __name__ == "__main__":
    main()

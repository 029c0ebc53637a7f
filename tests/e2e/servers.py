"""A server with a network of its own: made by the real client's library in its pod, looked at, and deleted."""

import json
from dataclasses import dataclass

from tests.e2e.cloud import Cloud

# One program, because each start of the command line takes a second or two.
_SCRIPT = """
import contextlib, json, sys, openstack
cloud = openstack.connect()
name, host = sys.argv[1:]
with contextlib.ExitStack() as left:
    image = cloud.image.create_image(name=name, data=b"fake", disk_format="raw", container_format="bare", wait=True)
    left.callback(cloud.image.delete_image, image.id)
    flavor = cloud.compute.create_flavor(name=name, ram=64, vcpus=1, disk=0)
    left.callback(cloud.compute.delete_flavor, flavor.id)
    network = cloud.network.create_network(name=name)
    left.callback(cloud.network.delete_network, network.id)
    cloud.network.create_subnet(network_id=network.id, ip_version=4, cidr="10.3.0.0/24")
    port = cloud.network.create_port(network_id=network.id)
    left.callback(cloud.network.delete_port, port.id)
    chosen = {"host": host} if host else {}
    server = cloud.compute.create_server(
        name=name, image_id=image.id, flavor_id=flavor.id, networks=[{"port": port.id}], **chosen
    )
    left.callback(cloud.compute.wait_for_delete, server, wait=120)
    left.callback(cloud.compute.delete_server, server.id)
    server = cloud.compute.wait_for_server(server, wait=120)
    bound = cloud.network.get_port(port.id)
    print(json.dumps([server.status, server.compute_host, bound.binding_host_id, bound.binding_vif_type]))
"""


@dataclass(frozen=True)
class Server:
    """What became of a server: its status, where it was, and where its port was bound."""

    status: str
    host: str
    port_host: str
    port_kind: str


def tried(cloud: Cloud, name: str, host: str = "") -> Server:
    """Make a server with a network and a port of its own, on a host if one is named, and delete it all again."""
    printed = cloud.kubectl("exec", "client", "--", "python3", "-c", _SCRIPT, name, host)
    return Server(*json.loads(printed.splitlines()[-1]))


def agents(cloud: Cloud) -> dict[tuple[str, str], bool]:
    """Return which agents there are, by kind and host, and whether they are alive."""
    listed = cloud.openstack("network", "agent", "list")
    return {(entry["Agent Type"], entry["Host"]): entry["Alive"] for entry in listed}

"""The two kinds of this benchmark: a small one to be worked on, and one of five kilobytes to be cached."""

from typing import Annotated, ClassVar

from benchmarks.runtime_parts.names import CHORES, GROUP, NODES, VERSION
from stackwright.kube.crd import generate
from stackwright.kube.markers import Definition, describe
from stackwright.kube.resource import CustomResource, JsonObject, Kind, Status, Value


class ChoreSpec(Value, frozen=True, kw_only=True):
    """Something to do."""

    task: Annotated[str, describe("What to do.")]
    times: Annotated[int, describe("How often.")] = 1


class ChoreStatus(Status, frozen=True, kw_only=True):
    """How far it is."""

    phase: Annotated[str, describe("How far it is, in one word.")] = ""


class Chore(CustomResource, frozen=True, kw_only=True):
    """A small resource with one thing to write into its status."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "Chore", CHORES)
    definition: ClassVar[Definition] = Definition()

    spec: ChoreSpec
    status: ChoreStatus = ChoreStatus()


class Network(Value, frozen=True, kw_only=True):
    """A network that a node is in."""

    name: Annotated[str, describe("Which network.")]
    subnetName: Annotated[str, describe("Which of its subnets.")]
    fixedIP: Annotated[str, describe("The node's address.")] = ""
    defaultRoute: Annotated[bool, describe("Whether the default route goes there.")] = False


class Ansible(Value, frozen=True, kw_only=True):
    """How a node is reached and set up."""

    ansibleHost: Annotated[str, describe("The address.")]
    ansibleUser: Annotated[str, describe("The user.")]
    ansiblePort: Annotated[int, describe("The port.")] = 22
    ansibleVars: Annotated[dict[str, str], describe("Variables of the roles.")] = {}


class NodeSpec(Value, frozen=True, kw_only=True):
    """What a node shall be."""

    hostName: Annotated[str, describe("Its name.")]
    managementNetwork: Annotated[str, describe("The network that it is managed by.")]
    networks: Annotated[tuple[Network, ...], describe("The networks that it is in.")]
    ansible: Annotated[Ansible, describe("How it is reached and set up.")]
    services: Annotated[tuple[str, ...], describe("What runs on it, in order.")]


class NodeStatus(Status, frozen=True, kw_only=True):
    """What a node is."""

    deployed: Annotated[bool, describe("Whether it is deployed.")] = False
    configHash: Annotated[str, describe("The configuration that was asked for.")] = ""
    deployedConfigHash: Annotated[str, describe("The configuration that it has.")] = ""
    dnsClusterAddresses: Annotated[tuple[str, ...], describe("The DNS servers of the cluster.")] = ()
    allIPs: Annotated[dict[str, str], describe("Its addresses by network.")] = {}


class Node(CustomResource, frozen=True, kw_only=True):
    """A machine of a data plane: five kilobytes as the server sends it."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "Node", NODES)
    definition: ClassVar[Definition] = Definition()

    spec: NodeSpec
    status: NodeStatus = NodeStatus()


def definitions() -> list[JsonObject]:
    """Return the definitions of both kinds."""
    node = generate.manifest(Node)
    # Without the subresource one write brings spec and status, which halves the time to make ten thousand.
    del node["spec"]["versions"][0]["subresources"]
    return [generate.manifest(Chore), node]


def chore(number: int) -> JsonObject:
    """Return one of the chores, as its user would write it."""
    return {"metadata": {"name": f"chore-{number:05}"}, "spec": {"task": f"sweep room {number}", "times": 3}}


_NETWORKS = ("ctlplane", "internalapi", "storage", "tenant", "external")
_SERVICES = (
    *("bootstrap", "download-cache", "configure-network", "validate-network", "install-os"),
    *("configure-os", "ssh-known-hosts", "run-os", "reboot-os", "install-certs", "ovn", "neutron-metadata"),
    *("libvirt", "nova", "telemetry"),
)
_VARIABLES = {
    "edpm_network_config_template": "templates/single_nic_vlans/single_nic_vlans.j2",
    "edpm_network_config_hide_sensitive_logs": "false",
    "edpm_nodes_validation_validate_controllers_icmp": "false",
    "edpm_nodes_validation_validate_gateway_icmp": "false",
    "edpm_sshd_configure_firewall": "true",
    "edpm_sshd_allowed_ranges": "192.168.122.0/24",
    "edpm_ovn_encap_type": "geneve",
    "edpm_ovn_bridge_mappings": "datacentre:br-ex",
    "gather_facts": "false",
    "neutron_physical_bridge_name": "br-ex",
    "neutron_public_interface_name": "eth0",
    "timesync_ntp_servers": "pool.ntp.org",
}
_CONDITIONS = ("Ready", "InputReady", "NetworkReady", "DNSDataReady", "ProvisionReady", "SetupReady", "DeploymentReady")


def node(number: int) -> JsonObject:
    """Return one of the nodes, with a status as its controller would leave it."""
    name = f"edpm-compute-{number:05}"
    addresses = {network: f"172.{17 + place}.{number // 250}.{number % 250}" for place, network in enumerate(_NETWORKS)}
    return {
        "metadata": {"name": name, "labels": {"openstackdataplanenodeset": f"rack-{number // 40}"}},
        "spec": {
            "hostName": name,
            "managementNetwork": "ctlplane",
            "networks": [
                {
                    "name": network,
                    "subnetName": f"subnet{number // 2500}",
                    "fixedIP": address,
                    "defaultRoute": network == "ctlplane",
                }
                for network, address in addresses.items()
            ],
            "ansible": {
                "ansibleHost": addresses["ctlplane"],
                "ansibleUser": "cloud-admin",
                "ansiblePort": 22,
                "ansibleVars": {**_VARIABLES, "edpm_node_index": str(number)},
            },
            "services": list(_SERVICES),
        },
        "status": {
            "conditions": [
                {
                    "type": condition,
                    "status": "True",
                    "reason": "Ready",
                    "message": f"{condition} of {name} completed",
                    "lastTransitionTime": "2026-11-15T10:00:00Z",
                }
                for condition in _CONDITIONS
            ],
            "observedGeneration": 1,
            "deployed": True,
            "configHash": f"n{number:06}h5f8h64fh68bh5d8h5c7h8h9h",
            "deployedConfigHash": f"n{number:06}h5f8h64fh68bh5d8h5c7h8h9h",
            "dnsClusterAddresses": ["172.17.0.80", "172.17.0.81"],
            "allIPs": addresses,
        },
    }

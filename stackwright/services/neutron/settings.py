"""What Neutron's configuration says, beyond Neutron's own defaults."""

from pathlib import Path

from stackwright.blueprint import ini, oslo
from stackwright.blueprint.ini import Ini, Setting
from stackwright.blueprint.interfaces import INTERNAL
from stackwright.blueprint.needs.login import IdentityFacts
from stackwright.blueprint.whole_numbers import read_number
from stackwright.services.neutron.facts import OVN, NeutronFacts, has_ovn
from stackwright.services.neutron.kinds import NeutronAPI

STATE = "/var/lib/neutron"
OPTIONS = Path(__file__).with_name("options.json")
ROUTERS = "ovn-router"
SERVICE_PLUGINS = ("qos", ROUTERS, "trunk", "segments", "port_forwarding", "log")
# The only physical network, unless the user names others.
PHYSICAL = "datacentre"
TYPE_DRIVERS = ("local", "flat", "vlan", "geneve")
# What OVN puts before each packet in a tunnel.
GENEVE_HEADER = 38


def common(resource: NeutronAPI, facts: NeutronFacts) -> Ini:
    """Return what all programs of Neutron read."""
    spec, messaging = resource.spec, oslo.messaging(facts.messaging)
    plugins = [name for name in SERVICE_PLUGINS if name != ROUTERS or has_ovn(resource)]
    return {
        **oslo.notifications(facts.notifications),
        **messaging,
        "DEFAULT": {
            **messaging["DEFAULT"],
            "state_path": STATE,
            "core_plugin": spec.corePlugin,
            "service_plugins": plugins,
            "dns_domain": "openstackgate.local",
            # OVN answers DHCP itself.
            "dhcp_agent_notification": not has_ovn(resource),
            # By Neutron's own estimate its processes would take half of the node's memory.
            "rpc_workers": 1,
            # The one process hears the agents' reports too.
            "rpc_state_report_workers": 0,
        },
        "oslo_concurrency": {"lock_path": f"{STATE}/locks"},
        **oslo.database(facts.database),
        "nova": _client(facts.identity),
        "placement": _client(facts.identity),
        "ml2": {
            "mechanism_drivers": list(spec.ml2MechanismDrivers),
            "type_drivers": list(TYPE_DRIVERS),
            "project_network_types": ["geneve"],
            "extension_drivers": ["qos", "port_security", "dns_domain_ports"],
        },
        "ml2_type_geneve": {"vni_ranges": ["1:65536"], "max_header_size": GENEVE_HEADER},
        "ml2_type_vlan": {"network_vlan_ranges": [PHYSICAL]},
        OVN: ovn(facts),
    }


def _client(identity: IdentityFacts) -> dict[str, Setting]:
    """Return how Neutron calls another service: as its own user, at the internal endpoint that the catalog has."""
    return {**oslo.login(identity), "endpoint_type": INTERNAL}


def ovn(facts: NeutronFacts) -> dict[str, Setting]:
    """Return where OVN's databases are; nothing where OVN does not build the networks."""
    if facts.northbound is None or facts.southbound is None:
        return {}
    return {
        # Numbers: the client resolves no names.
        "ovn_nb_connection": facts.northbound.inside.split(","),
        "ovn_sb_connection": facts.southbound.inside.split(","),
        "ovn_metadata_enabled": True,
        "enable_distributed_floating_ip": True,
        "dns_records_ovn_owned": True,
        # None. Otherwise subnets without a name server announce that of the pod: the cluster's own.
        "dns_servers": ["0.0.0.0", "::"],  # noqa: S104  nobody listens there
    }


def api(facts: NeutronFacts) -> Ini:
    """Return what only the API reads: how it validates tokens, and that proxies may stand before it."""
    return {
        **oslo.authtoken(facts.identity, facts.cache),
        **oslo.cache(facts.cache),
        "oslo_middleware": {"enable_proxy_headers_parsing": True},
    }


def rpc_workers(resource: NeutronAPI) -> int:
    """Return how many processes answer agents: 0 where the user says that there are no agents."""
    parsed = ini.parse(resource.spec.customServiceConfig)
    said = () if isinstance(parsed, ini.Problem) else parsed.get("DEFAULT", {}).get("rpc_workers", ())
    number = read_number(said[-1]) if said else None
    return 1 if number is None else number

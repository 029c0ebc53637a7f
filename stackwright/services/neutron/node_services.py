"""What of Neutron runs on machines outside of the cluster: the agent for metadata, with the switch below it. Pure."""

from collections.abc import Iterator, Mapping

import yaml

from stackwright.api.base import JsonObject
from stackwright.blueprint import ini
from stackwright.blueprint.dataplane.node_service import (
    SERVERS,
    Call,
    Counterpart,
    Files,
    Image,
    Included,
    NodeService,
    Question,
    Removal,
    Sign,
    of_config_map,
    of_secret,
)
from stackwright.blueprint.dataplane.ways import Way
from stackwright.blueprint.ini import Problem
from stackwright.blueprint.needs.network_database import NETWORK_DATABASE, NetworkDatabaseServer
from stackwright.blueprint.places import connection_places
from stackwright.blueprint.providers import Provider, Sight
from stackwright.kube import conditions
from stackwright.kube.builtin import ConfigMap, Secret
from stackwright.kube.plan import Ends, Wait
from stackwright.services.neutron import agents
from stackwright.services.neutron.explanations import CONTROLLERS
from stackwright.services.neutron.kinds import NeutronAPI, OVNMetadataAgent
from stackwright.services.neutron.settings import OPTIONS

AGENT = "OVN Metadata agent"
PATH = "/v2.0/agents"
# The file of OVN's ConfigMap for machines outside.
SWITCH_FILE = "ovsdb-config"
API = "network"


def files(_: OVNMetadataAgent, sight: Sight) -> Iterator[Files | Wait]:
    """Yield what Neutron writes for the agent, and what OVN writes for machines outside."""
    neutron = sight.choose(API, "neutron", lambda _: True)
    if neutron.offer is None:
        message = f"There is no {neutron.kind} in this namespace yet"
        yield Wait("NeutronAPIMissing", message, "InputReady", ends=Ends.BY_AUTHOR)
        return
    name = agents.secret_name(neutron.name, agents.METADATA)
    if sight(Secret, name) is None:
        yield _explain(neutron.name, name, sight)
        return
    yield Files(of_secret(name))
    south = sight.choose(NETWORK_DATABASE, "ovndbcluster-sb", _is_south)
    config = south.offer.outside_config if south.offer is not None else ""
    if not config or sight(ConfigMap, config) is None:
        yield _explain_network(south)
        return
    yield Files(of_config_map(config), "ovn")


def _is_south(offer: NetworkDatabaseServer) -> bool:
    return offer.role == "SB"


def _explain_network(south: Provider) -> Wait:
    """Return why it is not known how machines outside of the cluster reach OVN."""
    if south.offer is None:
        message = f"No {south.kind} of type SB exists in this namespace; create {south}"
        return Wait("OvnConfigMissing", message, "InputReady", ends=Ends.BY_AUTHOR)
    if not south.offer.published:
        message = (
            f"Machines outside of the cluster cannot reach {south}; set its override.service.spec.type to NodePort"
        )
        return Wait("OvnConfigMissing", message, "InputReady", ends=Ends.BY_USER)
    message = f"{south} has not written how machines outside of the cluster reach it yet"
    return Wait("OvnConfigMissing", message, "InputReady")


def _explain(neutron: str, secret: str, sight: Sight) -> Wait:
    """Return why the Secret for agents is not there."""
    there = sight(NeutronAPI, neutron)
    stated = conditions.find(there.status.conditions, agents.CONDITION) if there is not None else None
    if stated is not None and stated.reason == agents.NOT_REACHABLE:
        message = f"NeutronAPI {neutron}: {stated.message}"
        return Wait("AgentConfigMissing", message, "InputReady", ends=Ends.BY_USER)
    return Wait("AgentConfigMissing", f"NeutronAPI {neutron} has not written Secret {secret} yet", "InputReady")


def ways(files: Mapping[str, str], _: Sight) -> Iterator[Way]:
    """Yield what the agent and ovn-controller have to reach: OVN's SB database, and Nova's metadata service."""
    remote = (yaml.safe_load(files.get(SWITCH_FILE, "")) or {}).get("ovn-remote", "")
    yield from (Way("OVN's SB database", *place) for place in connection_places(remote))
    for name in sorted(files):
        said = ini.parse(files[name]) if name.endswith(".conf") else {}
        options = {} if isinstance(said, Problem) else said.get("DEFAULT", {})
        for host, port in zip(
            options.get("nova_metadata_host", ()), options.get("nova_metadata_port", ()), strict=False
        ):
            yield Way("the metadata service", host, int(port))


def judge(answer: JsonObject, host: str) -> str:
    """Return why the agent of a host is not up, by what Neutron lists; "" if it is."""
    mine = [
        agent for agent in answer.get("agents") or () if agent.get("agent_type") == AGENT and agent.get("host") == host
    ]
    if not mine:
        return f"Neutron does not know a metadata agent on host {host} yet{_name_alike(answer, host)}"
    return "" if any(agent.get("alive") for agent in mine) else f"Neutron says that the agent on host {host} is down"


def _name_alike(answer: JsonObject, host: str) -> str:
    """Return what OVN calls a chassis that looks like a host: its name there has to be that of the host in Nova."""
    others = {str(agent.get("host", "")) for agent in answer.get("agents") or ()} - {host}
    alike = sorted(other for other in others if other.partition(".")[0].lower() == host.partition(".")[0].lower())
    if not alike:
        return ""
    return f", but one on {alike[0]}: the chassis has to be called {host} (external-ids:hostname), as Nova's host is"


def forget(answer: JsonObject, host: str) -> Iterator[Call]:
    """Yield what deletes the agents of a host: that of its chassis takes the chassis with it."""
    for agent in answer.get("agents") or ():
        if agent.get("host") == host and agent.get("agent_type") in (AGENT, *CONTROLLERS):
            yield Call("DELETE", f"{PATH}/{agent['id']}")


def name_port(port: JsonObject) -> str:
    """Return what a server's port is called; "" for Neutron's own, which move to other machines by themselves."""
    if not str(port.get("device_owner") or "").startswith("compute:"):
        return ""
    return f"port {port.get('id') or 'unknown'} of server {port.get('device_id') or 'unknown'}"


NODE_SERVICES = (
    NodeService(
        name="ovn-metadata-agent",
        kind=OVNMetadataAgent,
        annotation="neutron.openstack.org/ovn-metadata-agent",
        follows=SERVERS,
        playbook="stackwright.edpm.neutron_metadata",
        roles=("stackwright.edpm.edpm_neutron_metadata", "stackwright.edpm.edpm_ovn", "stackwright.edpm.edpm_ovs"),
        folder="neutron-metadata",
        override="25-neutron-metadata-override.conf",
        images={
            "ovnMetadataAgentContainerImage": Image("edpm_neutron_metadata_agent_image", "compute", OPTIONS),
            "ovnControllerContainerImage": Image("edpm_ovn_controller_agent_image", "ovn"),
        },
        files=files,
        sign=Sign(API, PATH, "agents", judge),
        removal=Removal(
            variables={
                "edpm_neutron_metadata_state": "absent",
                "edpm_ovn_state": "absent",
                "edpm_ovs_state": "absent",
            },
            forget=forget,
            # Nova may have been deployed on the machine by a role, so that no other resource speaks of its servers.
            occupants=(Question("/v2.0/ports", {"binding:host_id": "{host}"}, "ports", name_port),),
        ),
        words=(NETWORK_DATABASE,),
        looks=(NeutronAPI,),
        ways=ways,
        host_variables=("edpm_ovn_hostname", "edpm_neutron_metadata_host"),
        host_options=(("DEFAULT", "host"),),
        counterpart=Counterpart(
            "neutron-metadata",
            extra="neutron-metadata-extra-config",
            files="*metadata*.conf",
            included=(Included("ovn", variable="edpm_ovn_controller_agent_image", source="ovncontroller-config"),),
            written=("*-ovn-metadata-agent-neutron-config", "*-metadata-neutron-config"),
        ),
    ),
)

"""Why a port has no chassis: nobody asked for one, its host has none, its agent is down, or lacks the network. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from stackwright.api.base import JsonObject
from stackwright.blueprint.things import Thing, Verdict

HOST, VIF, PHYSICAL = "binding:host_id", "binding:vif_type", "provider:physical_network"
FAILED = frozenset({"binding_failed", "unbound"})
# A router's way out is on a gateway, which OVN chooses.
GATEWAY_PORT, GATEWAY_AGENT = "network:router_gateway", "OVN Controller Gateway agent"
CONTROLLERS = frozenset({GATEWAY_AGENT, "OVN Controller agent"})


def explain_port(answers: Mapping[str, Any]) -> Verdict:
    """Return on which chassis a port is, or why it is on none."""
    port, network = answers["port"], answers["network"]
    agents = [agent for agent in answers["agents"] if agent.get("agent_type") in CONTROLLERS]
    physical, host = network.get(PHYSICAL) or "", port.get(HOST) or ""
    if port.get("device_owner") == GATEWAY_PORT:
        return _of_gateway(port, physical, agents)
    if not host:
        message = "No server uses the port, so it has no host and needs no chassis"
        return Verdict(message, well=True)
    there = [agent for agent in agents if agent.get("host") == host]
    if problem := _of_host(host, physical, there, agents):
        return problem
    if port.get(VIF) in FAILED:
        message = f"Binding it to host {host} failed, although its chassis is there now"
        return Verdict(message, f"Bind it again: openstack port set --host {host} {port.get('id', 'PORT')}.")
    if port.get("status") != "ACTIVE":
        message = f"It is bound to host {host}, whose controller has not connected it yet"
        return Verdict(message, f"See whether the server runs, and what ovn-controller logs on {host}.")
    return Verdict(f"It is on the chassis of host {host}", well=True)


def _of_host(host: str, physical: str, there: list[JsonObject], agents: Iterable[JsonObject]) -> Verdict | None:
    """Return what a host lacks to have the port."""
    if not there:
        known = ", ".join(sorted({agent.get("host", "") for agent in agents})) or "none at all"
        message = f"There is no chassis of host {host}; OVN knows {known}"
        return Verdict(message, f"Start ovn-controller on {host}, with external-ids:hostname={host}.")
    if not any(agent.get("alive") for agent in there):
        since = there[0].get("heartbeat_timestamp", "")
        message = f"The agent of host {host} is down{f' since {since}' if since else ''}"
        return Verdict(message, f"See whether ovn-controller runs on {host} and reaches the SB database.")
    if physical and not any(physical in _mapped(agent) for agent in there):
        mapped = ", ".join(sorted(network for agent in there for network in _mapped(agent))) or "none"
        message = f"Host {host} does not map the physical network {physical}; it maps {mapped}"
        return Verdict(message, f"Add {physical} to nicMappings of the OVNController, or to the mappings of {host}.")
    return None


def _of_gateway(port: JsonObject, physical: str, agents: list[JsonObject]) -> Verdict:
    """Return on which gateway a router's way out is, or why it is on none."""
    gateways = [agent for agent in agents if agent.get("agent_type") == GATEWAY_AGENT]
    if not gateways:
        message = "There is no gateway, so routers have no way out"
        return Verdict(message, "Name the physical network and its interface in nicMappings of the OVNController.")
    fitting = [agent for agent in gateways if not physical or physical in _mapped(agent)]
    if not fitting:
        message = f"No gateway maps the physical network {physical}"
        return Verdict(message, f"Add {physical} to nicMappings of the OVNController.")
    alive = [agent for agent in fitting if agent.get("alive")]
    names = ", ".join(sorted(str(agent.get("host")) for agent in fitting))
    if not alive:
        message = f"All gateways that map its network are down: {names}"
        return Verdict(message, "See whether ovn-controller runs there and reaches the SB database.")
    if port.get("status") != "ACTIVE":
        return Verdict(f"It has no chassis yet; gateways for it: {names}", "See what ovn-northd logs.")
    return Verdict(f"It is on a gateway: {port.get(HOST) or names}", well=True)


def _mapped(agent: JsonObject) -> set[str]:
    """Return the physical networks that an agent maps to bridges."""
    said = str((agent.get("configurations") or {}).get("bridge-mappings") or "")
    return {entry.partition(":")[0].strip() for entry in said.split(",") if entry.strip()}


THINGS = (
    Thing(
        noun="port",
        type="network",
        reads={
            "port": "/v2.0/ports/{id}",
            "network": "/v2.0/networks/{port[network_id]}",
            "agents": "/v2.0/agents",
        },
        explain=explain_port,
    ),
)

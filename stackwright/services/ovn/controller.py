"""Gateways: a switch on each selected node, and the controller that fills it with flows."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from stackwright.api.base import JsonObject
from stackwright.api.pods import PodTemplate
from stackwright.api.service import ContainerImage
from stackwright.blueprint.claims import Claim, claim_object
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs import NetworkDatabase
from stackwright.blueprint.needs.network_database import NetworkDatabaseFacts
from stackwright.blueprint.network import Network
from stackwright.blueprint.providers import NETWORK_GATEWAY, NetworkGateways, Provides
from stackwright.blueprint.service import Component, Service, Told
from stackwright.blueprint.value_types import described
from stackwright.blueprint.workloads import Host, HostPath
from stackwright.kube.builtin import ConfigMap, DaemonSet
from stackwright.kube.conditions import Finding
from stackwright.services.ovn import probes
from stackwright.services.ovn.kinds import Chassis, OVNController

SWITCH, CONTROLLER = "ovn-controller-ovs", "ovn-controller"
# The physical network whose bridge would be called as the one of tunnels.
TUNNEL = "tunnel"
# The kernel takes nearly everything for the name of an interface, also what a shell would run.
INTERFACE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]*")
# The node keeps the switch's own database and its sockets; what the node itself may have of Open vSwitch is elsewhere.
STATE = HostPath("/var/lib/stackwright/openvswitch", mount="/etc/openvswitch", type="DirectoryOrCreate")
SOCKETS = HostPath("/run/stackwright/openvswitch", mount="/run/openvswitch", type="DirectoryOrCreate")
OWN_SOCKETS = HostPath("/run/stackwright/ovn", mount="/run/ovn", type="DirectoryOrCreate")
MODULES = HostPath("/lib/modules", read_only=True, type="DirectoryOrCreate")


class ControllerTemplate(PodTemplate, frozen=True, kw_only=True):
    """How the pods of one of the two run."""

    containerImage: ContainerImage = ""


@dataclass(frozen=True, kw_only=True)
class ControllerFacts(Facts):
    """What the controllers know of the world around them."""

    south: NetworkDatabaseFacts


def template(field: str, resource: OVNController) -> ControllerTemplate:
    """Return how the pods of one of the two run; `field` names its image."""
    spec = resource.spec
    return ControllerTemplate(
        nodeSelector=spec.nodeSelector,
        resources=spec.resources,
        topologyRef=spec.topologyRef,
        containerImage=getattr(spec, field),
    )


def settings(resource: OVNController, facts: ControllerFacts) -> JsonObject:
    """Return what a running controller takes: what each node tells OVN of itself, and its bridges."""
    spec, said = resource.spec, resource.spec.external_ids
    return {
        "externalIds": {
            "ovn-bridge": said.ovn_bridge,
            "ovn-remote": facts.south.inside,
            "ovn-encap-type": said.ovn_encap_type,
            "ovn-encap-tos": said.ovn_encap_tos,
            "ovn-remote-probe-interval": str(said.ovn_remote_probe_interval),
            "ovn-cms-options": cms_options(said.availability_zones),
        },
        "networks": dict(spec.nicMappings),
        "tunnelInterface": spec.tunnelInterface,
        "fakeHosts": {node: list(hosts) for node, hosts in spec.fakeHosts.items()},
        "ovnLogLevel": spec.ovnLogLevel,
    }


def cms_options(zones: Iterable[str]) -> str:
    """Return what Neutron reads of a gateway."""
    found = ":".join(zones)
    return f"enable-chassis-as-gw,availability-zones={found}" if found else "enable-chassis-as-gw"


def controller_values(resource: OVNController, facts: ControllerFacts) -> JsonObject:
    """Return what the controllers take while they run."""
    return {"settings": settings(resource, facts)}


def switch_values(resource: OVNController, facts: ControllerFacts) -> JsonObject:
    """Return what the switches take while they run."""
    return {"settings": {"ovsLogLevel": resource.spec.ovsLogLevel}}


def tell(resource: OVNController, facts: ControllerFacts | None, look: Look) -> Told[OVNController]:
    """Return on how many nodes both are ready, and what the nodes report."""
    controllers, switches = look(DaemonSet, CONTROLLER), look(DaemonSet, SWITCH)
    state = look(ConfigMap, f"{resource.metadata.name}-chassis")
    chassis = dict(reported(state.data if state is not None else {}))
    status = msgspec.structs.replace(
        resource.status,
        numberReady=_count(controllers, "numberReady"),
        ovsNumberReady=_count(switches, "numberReady"),
        desiredNumberScheduled=_count(switches, "desiredNumberScheduled"),
        chassis=chassis,
    )
    return Told(status, tuple(findings(chassis)))


def reported(said: JsonObject) -> Iterator[tuple[str, Chassis]]:
    """Yield what each node reports; what cannot be read is left out."""
    for node, text in sorted(said.items()):
        try:
            yield node, msgspec.convert(json.loads(text), Chassis)
        except (ValueError, msgspec.ValidationError):
            continue


def findings(chassis: dict[str, Chassis]) -> Iterator[Finding]:
    """Yield what keeps nodes from doing what was asked for."""
    wrong = [f"node {node}: {said.problem}" for node, said in chassis.items() if said.problem]
    if wrong:
        yield Finding("DeploymentReady", "False", "NodeNotConnected", "; ".join(wrong), "Warning")


def _count(workload: Any, word: str) -> int:
    return int(workload.status.get(word, 0)) if workload is not None else 0


def offer(resource: OVNController) -> NetworkGateways:
    """Return the physical networks, and how large packets between nodes may be."""
    sizes = {node: said.mtu for node, said in resource.status.chassis.items() if said.mtu}
    return NetworkGateways(tuple(resource.spec.nicMappings), sizes)


def _interfaces(resource: OVNController) -> Iterable[tuple[str, str]]:
    """Yield the interfaces of nodes that a controller names, each with its path."""
    yield from ((f"spec.nicMappings[{network}]", name) for network, name in resource.spec.nicMappings.items())
    if resource.spec.tunnelInterface:
        yield "spec.tunnelInterface", resource.spec.tunnelInterface


def problems(resource: OVNController, look: Look) -> Iterable[tuple[str, str]]:
    """Yield what cannot be."""
    for path, interface in _interfaces(resource):
        if not INTERFACE.fullmatch(interface):
            yield path, "is no interface; its name has letters, digits, dots, dashes, underscores, @ and +"
    named = Counter(resource.spec.nicMappings.values())
    for network, interface in resource.spec.nicMappings.items():
        if named[interface] > 1:
            yield (
                f"spec.nicMappings[{network}]",
                f"{interface} is named twice; an interface is connected to one network",
            )
        if resource.spec.tunnelInterface and (interface == resource.spec.tunnelInterface or network == TUNNEL):
            what = f"the bridge br-{network}" if network == TUNNEL else interface
            yield f"spec.nicMappings[{network}]", f"{what} is for tunnels (spec.tunnelInterface); choose another one"
        if interface in resource.spec.bondConfiguration:
            yield (
                f"spec.nicMappings[{network}]",
                f"bonds are not made yet; make {interface} on the node, and remove it from bondConfiguration",
            )
    named_hosts = Counter(host for hosts in resource.spec.fakeHosts.values() for host in hosts)
    for node, hosts in resource.spec.fakeHosts.items():
        for host in hosts:
            if named_hosts[host] > 1 or host == node:
                yield f"spec.fakeHosts[{node}]", f"{host} is on another node too; OVN knows a host once"


def claims(resource: OVNController) -> tuple[Claim, ...]:
    """Return what a namespace has once, and what a node has once: the switch, in folders of the node.

    Which nodes a Topology selects is not known here; there, the pods find out whose the switch is.
    """
    advice = "a namespace has one OVNController"
    objects = (claim_object(DaemonSet, name, advice=advice, owned=True) for name in (SWITCH, CONTROLLER))
    if resource.spec.topologyRef is not None:
        return tuple(objects)
    return (*objects, claim_switches(resource.spec.nodeSelector or {}))


def claim_switches(selector: Mapping[str, str]) -> Claim:
    """Return the claim on the switches of the nodes with these labels."""
    return Claim(
        "Open vSwitch",
        "of the selected nodes",
        path="spec.nodeSelector",
        advice="select nodes that it does not select too, because a node has one switch",
        everywhere=True,
        nodes=dict(selector),
    )


# The controller's own control socket has the number of its process in its name.
_ASK = "ovs-appctl -T 5 -t /run/ovn/ovn-controller.ctl"
CONNECTED = f"{_ASK} connection-status | grep -qx connected"
RUNNING = f"[ ! -S /run/ovn/ovn-controller.ctl ] || {_ASK} version"
SWITCHING = "ovs-appctl -T 5 -t /run/openvswitch/ovs-vswitchd.ctl version"

SETTINGS = described("What running pods take without a restart.", {"type": "object"})

SERVICE = Service(
    name="ovn-controller",
    chart="ovn",
    image="ovn",
    kind=OVNController,
    facts=ControllerFacts,
    user="openvswitch",
    components=(
        Component(
            "ovs",
            template=partial(template, "ovsContainerImage"),
            values=switch_values,
            own_values={"settings": SETTINGS},
            description="The switch of each node: a DaemonSet.",
            workload="DaemonSet",
            named=SWITCH,
            probes={
                "startup": probes.ask(SWITCHING, period=1, failures=120),
                "readiness": probes.ask(SWITCHING, period=10, failures=3),
                "liveness": probes.ask(SWITCHING, period=20, failures=6),
            },
            # Time to save the flows.
            finish=55,
            requests={"cpu": "100m", "memory": "128Mi"},
            user=0,
            host=Host(network=True, privileged=True, paths=(STATE, SOCKETS, MODULES)),
        ),
        Component(
            "controller",
            template=partial(template, "ovnContainerImage"),
            values=controller_values,
            own_values={"settings": SETTINGS},
            description="The controller of each node's switch: a DaemonSet.",
            workload="DaemonSet",
            named=CONTROLLER,
            probes={
                "readiness": probes.ask(CONNECTED, period=5, failures=3),
                "liveness": probes.ask(RUNNING, period=20, failures=6),
            },
            finish=20,
            requests={"cpu": "50m", "memory": "64Mi"},
            user=0,
            host=Host(network=True, privileged=True, paths=(STATE, SOCKETS, OWN_SOCKETS)),
        ),
    ),
    needs=(NetworkDatabase(name="south", role="SB", usual="ovndbcluster-sb"),),
    provides=Provides(NETWORK_GATEWAY, offer),
    network=Network(kubernetes=True),
    tell=tell,
    problems=problems,
    claims=claims,
    image_fields=("ovnContainerImage", "ovsContainerImage", "containerImage"),
    unread=(
        "external-ids.system-id",
        "external-ids.enable-chassis-as-gateway",
        "bondConfiguration",
        "networkAttachment",
        "exporterImage",
        "metricsTLS",
    ),
    objects=("chassis", "programs", "settings", "pods"),
)

"""The clusters of OVN's two databases: NB has the networks as they are wanted, SB how they are built."""

import ipaddress
import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import yaml

from stackwright.api.base import JsonObject, ObjectMeta
from stackwright.blueprint import storage_classes, volume_sizes
from stackwright.blueprint.claims import Claim, claim_object
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs import Reported
from stackwright.blueprint.needs.network_database import NETWORK_DATABASE, NetworkDatabaseServer
from stackwright.blueprint.network import Listen, Network
from stackwright.blueprint.providers import Imagined, Provides, Sight
from stackwright.blueprint.service import Component, Service, Told
from stackwright.blueprint.value_types import closed, described, refer
from stackwright.blueprint.values import describe_override
from stackwright.blueprint.workloads import Port
from stackwright.kube import builtin
from stackwright.kube.builtin import ConfigMap, StatefulSet
from stackwright.kube.conditions import Finding
from stackwright.kube.resource import Resource
from stackwright.kube.shapes.states import is_ready
from stackwright.services.ovn import probes
from stackwright.services.ovn.kinds import OVNController, OVNDBCluster

# The ports of the databases for clients, and between the members.
PORTS = {"NB": (6641, 6643), "SB": (6642, 6644)}
# How Kubernetes calls them, as upstream does.
PORT_NAMES = {"NB": ("north", "north-raft"), "SB": ("south", "south-raft")}
# What machines outside of the cluster read to find SB.
OUTSIDE_CONFIG = "ovncontroller-config"
# The types of Services by which something outside of the cluster reaches a database.
REACHABLE = frozenset({"LoadBalancer", "NodePort"})
CONTROL = "/run/ovn/db.ctl"
DATABASE = {"NB": "OVN_Northbound", "SB": "OVN_Southbound"}
# The keys of the members' ConfigMap that are not a member's own.
SHARED = frozenset({"cluster", "force", "removed"})
# What a member says of itself while it serves, or is about to.
WELL = ("serves", "starts with its data")


@dataclass(frozen=True, kw_only=True)
class DatabaseFacts(Facts):
    """What a database knows of the world around it: how the nodes of the namespace's OVNController tunnel."""

    tunnels: dict[str, str] | None = None


def members_of(resource: OVNDBCluster) -> str:
    """Return the name of the StatefulSet, which names the members too."""
    return f"ovsdbserver-{resource.spec.dbType.lower()}"


def member_values(resource: OVNDBCluster, facts: DatabaseFacts) -> JsonObject:
    """Return the storage of each member, and the settings that a running member takes."""
    spec = resource.spec
    return {
        "storage": {"class": spec.storageClass or "", "request": spec.storageRequest},
        "settings": {
            "electionTimer": spec.electionTimer,
            "inactivityProbe": spec.inactivityProbe,
            "logLevel": spec.logLevel,
        },
    }


def outside_type(resource: OVNDBCluster) -> str:
    """Return the type of the Service for machines outside of the cluster; "" if there is none."""
    override = resource.spec.override.service
    kind = override.spec.type if override is not None and override.spec is not None else None
    return kind if kind in REACHABLE else ""


def values(resource: OVNDBCluster, facts: DatabaseFacts) -> JsonObject:
    """Return how machines outside of the cluster reach the database, if they shall."""
    override = resource.spec.override.service
    if override is None or not outside_type(resource):
        return {}
    return {"services": {"outside": describe_override(override)}}


def outside_service(resource: OVNDBCluster) -> tuple[str, int]:
    """Return the Service for machines outside of the cluster, and its port."""
    return f"{members_of(resource)}-outside", PORTS[resource.spec.dbType][0]


def inside_address(resource: OVNDBCluster, look: Look) -> str:
    """Return the addresses of all members; "" as long as one has none. They are numbers, as clients resolve no names.

    Each member has a Service of its own, so that its address outlives its pod.
    """
    port = PORTS[resource.spec.dbType][0]
    found = []
    for number in range(resource.spec.replicas):
        service = look(builtin.Service, f"{members_of(resource)}-{number}")
        address = service.spec.get("clusterIP", "") if service is not None else ""
        if not address:
            return ""
        found.append(f"tcp:{_bracketed(address)}:{port}")
    return ",".join(found)


def outside_address(place: str) -> str:
    """Return the address for machines outside of the cluster; "" if that is a name, because clients resolve none."""
    host = place.rpartition(":")[0].strip("[]")
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return ""
    return f"tcp:{place}"


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def tell(resource: OVNDBCluster, facts: DatabaseFacts | None, look: Look) -> Told[OVNDBCluster]:
    """Return where the database is, and what keeps its members from being a cluster."""
    status, name = resource.status, members_of(resource)
    if facts is None:
        return Told(status)
    present = look(StatefulSet, name)
    # Once it has formed, it is there under its addresses whoever of its members is away.
    formed = bool(status.internalDbAddress) or (present is not None and present.status.get("readyReplicas", 0) > 0)
    # A Service that somebody deletes comes back with its address. Those who have the address must not wait for that.
    known = status.internalDbAddress if resource.spec.replicas else ""
    state = look(ConfigMap, f"{name}-state")
    found = msgspec.structs.replace(
        status,
        internalDbAddress=(inside_address(resource, look) or known) if formed else "",
        dbAddress=outside_address(facts.outside),
    )
    said = state.data if state is not None else {}
    members = [f"{name}-{number}" for number in range(resource.spec.replicas)]
    pods = {member: look(builtin.Pod, member) for member in members}
    running = {member for member, pod in pods.items() if _runs(pod)}
    # A node that is gone says nothing of its pods any more: they seem to run for minutes, but are not ready soon.
    ready = {member for member, pod in pods.items() if pod is not None and member in running and is_ready(pod)}
    return Told(found, tuple(findings(resource, said, running, ready)))


def _runs(pod: builtin.Pod | None) -> bool:
    return pod is not None and not pod.deleting and pod.status.get("phase") == "Running"


def findings(
    resource: OVNDBCluster, said: JsonObject, running: Collection[str], ready: Collection[str] = ()
) -> Iterator[Finding]:
    """Yield what keeps the members from serving, as they report it themselves.

    A member whose pod is not `running` said what it said before it went: a new cluster cannot begin with that one. Nor
    must one begin while a `ready` member serves: that one has a majority, and its data are newer.
    """
    name = members_of(resource)
    records = {
        f"{name}-{number}": _record(said.get(f"{name}-{number}", "")) for number in range(resource.spec.replicas)
    }
    alone = [pod for pod, record in records.items() if record.get("state") == "has no majority"]
    lost = [pod for pod in alone if pod in running] or alone
    if lost and not any(records[pod].get("state") == "serves" for pod in records if pod in ready):
        ends = ", ".join(f"{pod} ends at {records[pod].get('index', 0)}" for pod in lost)
        message = (
            f"No majority of the members answers: {ends}. If the others do not come back, let the one with the most "
            f"make a new cluster: kubectl patch configmap {name}-state --type merge -p "
            f'\'{{"data":{{"force":"{_most(lost, records)}"}}}}\''
        )
        yield Finding("DeploymentReady", "False", "MajorityLost", message, "Warning")
        return
    away = [f"{pod} {record['state']}" for pod, record in records.items() if _is_away(record)]
    if away:
        yield Finding("DeploymentReady", "False", "MemberNotReady", "; ".join(away), "Info")


def _most(pods: list[str], records: dict[str, JsonObject]) -> str:
    return max(pods, key=lambda pod: int(records[pod].get("index", 0)))


def _is_away(record: JsonObject) -> bool:
    return bool(record.get("state")) and record["state"] not in WELL


def _record(text: str) -> JsonObject:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def resources(resource: OVNDBCluster, facts: DatabaseFacts) -> Iterable[Resource]:
    """Return what machines outside of the cluster read: where SB is, and how they tunnel."""
    address = outside_address(facts.outside)
    if resource.spec.dbType == "SB" and address:
        said = {"ovn-remote": address, **(facts.tunnels or {})}
        yield ConfigMap(metadata=ObjectMeta(name=OUTSIDE_CONFIG), data={"ovsdb-config": yaml.safe_dump(said)})


def claims(resource: OVNDBCluster) -> Iterable[Claim]:
    """Yield what a namespace has once: the members of each database, and what machines outside read."""
    advice = f"a namespace has one OVNDBCluster of type {resource.spec.dbType}; use another namespace"
    name = members_of(resource)
    yield claim_object(StatefulSet, name, "spec.dbType", advice, owned=True)
    yield claim_object(ConfigMap, f"{name}-state", "spec.dbType", advice, owned=True)
    for end in ("outside", *map(str, range(resource.spec.replicas))):
        yield claim_object(builtin.Service, f"{name}-{end}", "spec.dbType", advice, owned=True)
    if resource.spec.dbType == "SB":
        yield claim_object(ConfigMap, OUTSIDE_CONFIG, "spec.dbType", advice, owned=True)


def problems(resource: OVNDBCluster, look: Look) -> Iterable[tuple[str, str]]:
    """Yield the path of each field that a database cannot work with, and why."""
    yield from storage_classes.problems(resource, "spec.storageClass", resource.spec.storageClass, look)


def limits(resource: OVNDBCluster, look: Look) -> Iterable[tuple[str, str]]:
    """Yield the path of each field that the volumes that are there cannot follow, and why."""
    yield from volume_sizes.limits(*_volumes(resource), look)


def _volumes(resource: OVNDBCluster) -> tuple[str, str, str, int]:
    """Return which field says the size of whose volumes, that size, and how many there are."""
    return "spec.storageRequest", members_of(resource), resource.spec.storageRequest, resource.spec.replicas


def advice(resource: OVNDBCluster, sight: Sight) -> Iterable[tuple[str, str]]:
    """Yield the path of each field that is accepted with a warning, and the warning."""
    count = resource.spec.replicas
    if count and count % 2 == 0:
        yield "spec.replicas", f"{count} members survive the loss of no more members than {count - 1}; use {count - 1}"
    yield from volume_sizes.advice(*_volumes(resource), sight.look)


def offer(resource: OVNDBCluster) -> NetworkDatabaseServer:
    """Return what others need to know about a database."""
    role, outside = resource.spec.dbType, resource.status.dbAddress
    config = OUTSIDE_CONFIG if role == "SB" and outside else ""
    published = bool(outside_type(resource))
    return NetworkDatabaseServer(role, resource.status.internalDbAddress, outside, config, published)


def _imagine(wish: NetworkDatabaseServer) -> JsonObject:
    return {"dbType": wish.role, "storageRequest": "10G"}


def _imagine_address(resource: OVNDBCluster) -> OVNDBCluster:
    """Return a database that is only imagined: it is where no machine is, by an address kept for documentation."""
    if resource.status.internalDbAddress:
        return resource
    address = f"tcp:192.0.2.1:{PORTS[resource.spec.dbType][0]}"
    status = msgspec.structs.replace(resource.status, internalDbAddress=address)
    return msgspec.structs.replace(resource, status=status)


def _member(role: str) -> Component[OVNDBCluster, DatabaseFacts]:
    client, raft = PORTS[role]
    names = PORT_NAMES[role]
    ready = f"ovs-appctl -T 5 -t {CONTROL} cluster/status {DATABASE[role]} | grep -q '^Status: cluster member'"
    alive = f"[ ! -S {CONTROL} ] || ovs-appctl -T 10 -t {CONTROL} version"
    return Component(
        role.lower(),
        values=member_values,
        description=f"The members of the {role} database: a StatefulSet.",
        workload="StatefulSet",
        named=f"ovsdbserver-{role.lower()}",
        ports=(Port(names[0], client), Port(names[1], raft)),
        probes={
            # A member that waits for others, or copies all data, is alive.
            "readiness": probes.ask(ready, period=5, timeout=6, failures=3),
            "liveness": probes.ask(alive, period=20, failures=6),
        },
        data="/var/lib/ovn",
        # A member that leaves needs a leader, which may be away just then.
        finish=295,
        requests={"cpu": "50m", "memory": "64Mi"},
        own_values={"settings": SETTINGS},
    )


SETTINGS = described(
    "What a running member takes without a restart.",
    closed(
        {
            "electionTimer": described("Milliseconds without a leader before another is chosen.", {"type": "integer"}),
            "inactivityProbe": described("Silent milliseconds before a client is asked.", {"type": "integer"}),
            "logLevel": described("How much is logged.", {"enum": ["off", "emer", "err", "warn", "info", "dbg"]}),
        }
    ),
)
MEMBERS = {role: _member(role) for role in PORTS}


def components(resource: OVNDBCluster) -> tuple[Component[OVNDBCluster, DatabaseFacts], ...]:
    """Return the members of the database that the resource is of."""
    return (MEMBERS[resource.spec.dbType],)


def _tunnels(controller: OVNController) -> dict[str, str]:
    said = controller.spec.external_ids
    return {"ovn-encap-type": said.ovn_encap_type, "ovn-encap-tos": said.ovn_encap_tos}


def _is_open(resource: Any) -> bool:
    # The controllers of nodes come from no pod's address: they share the network of their hosts, or are outside.
    return bool(resource.spec.dbType == "SB" or outside_type(resource))


SERVICE = Service(
    name="ovn-database",
    chart="ovn",
    image="ovn",
    kind=OVNDBCluster,
    facts=DatabaseFacts,
    user="openvswitch",
    components=components,
    forms=tuple(MEMBERS.values()),
    needs=(Reported(name="tunnels", of=OVNController, resource=lambda _: "ovncontroller", read=_tunnels),),
    provides=Provides(NETWORK_DATABASE, offer, Imagined(_imagine, _imagine_address)),
    outside=outside_service,
    # The members find each other, and agree through a ConfigMap.
    network=Network(
        listens=tuple(
            Listen(client, by=NETWORK_DATABASE, component=role.lower()) for role, (client, _) in PORTS.items()
        ),
        peers=True,
        kubernetes=True,
        exposed=_is_open,
    ),
    values=values,
    own_values={
        "services": described(
            "The Services of the release.",
            closed({"outside": described("The Service for machines outside the cluster.", refer("service"))}),
        )
    },
    resources=resources,
    problems=problems,
    advice=advice,
    limits=limits,
    tell=tell,
    claims=claims,
    unread=("probeIntervalToActive", "networkAttachment", "exporterImage", "metricsTLS"),
    objects=("members", "programs", "settings"),
)

"""dnsmasq serves the names of DNSData, and asks other servers for all other names."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from stackwright.api.base import JsonObject, ObjectMeta, Resource
from stackwright.api.network import SERVICE_CONFIG_READY, DNSData, DNSHost
from stackwright.blueprint.addresses.names import drop_meeting, find_left_out, write_hosts
from stackwright.blueprint.addresses.subnets import parse_address
from stackwright.blueprint.claims import Claim, claim_object
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs import Census
from stackwright.blueprint.network import ANYBODY, Listen, Network
from stackwright.blueprint.providers import NAME_SERVER, NameServer, Provides
from stackwright.blueprint.service import Component, ConfigFile, Service, Told
from stackwright.blueprint.value_types import client_service, described, name_of
from stackwright.blueprint.values import describe_override
from stackwright.blueprint.workloads import Port
from stackwright.kube import builtin
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.conditions import READY, Finding
from stackwright.services.dnsmasq.kinds import DNSMasq

# The component, by which the Deployment is called.
SERVER = "server"
# The port of the pods, which only root could open below 1024, and that of the Service.
PORT, SERVICE_PORT = 5353, 53
# Where the pods have the hosts file, and its name there.
HOSTS, HOSTS_KEY = "/var/lib/dnsmasq/hosts", "hosts"
# The most that a ConfigMap holds, with some room for what else stands in it.
LARGEST = 1_000_000
# How many DNSData are named that are not served.
NAMED = 3
PROGRAM = ConfigFile(
    "serve_names.py",
    (Path(__file__).parent / "pod" / "serve_names.py").read_text(encoding="utf-8"),
    "/etc/dnsmasq/serve_names.py",
)
CONFIGURATION = "/etc/dnsmasq/dnsmasq.conf"
# Options that name a server: each line takes one. `local` is another word for `server`.
_OF_ONE_SERVER = ("server", "local")
_ASKING = (*_OF_ONE_SERVER, "rev-server")
# The port in the address of a server: 192.0.2.1#5300.
_SERVER_PORT = re.compile(r"#(\d{1,5})\b")
ALIVE: JsonObject = {"tcpSocket": {"port": "dns-tcp"}, "timeoutSeconds": 5}


@dataclass(frozen=True)
class Names:
    """What a DNSData says: which DNSMasqs it is for, and its names; `of_machine` if an operator keeps them."""

    serves: str
    hosts: tuple[DNSHost, ...]
    of_machine: bool = False


@dataclass(frozen=True, kw_only=True)
class DNSMasqFacts(Facts):
    """What a name server knows of the world around it: the names, by the DNSData that has them."""

    names: Mapping[str, Names] = field(default_factory=dict)


def read_names(data: DNSData) -> Names | None:
    """Return what a DNSData says; None as soon as it is being deleted."""
    if data.deleting:
        return None
    return Names(data.spec.dnsDataLabelSelectorValue, data.spec.hosts, data.metadata.controller is not None)


def service_name(resource: DNSMasq) -> str:
    """Return the name of the Service, which is upstream's."""
    return f"dnsmasq-{resource.metadata.name}"


def hosts_name(resource: DNSMasq) -> str:
    """Return the name of the ConfigMap with the names."""
    return f"{resource.metadata.name}-hosts"


def configure(resource: DNSMasq) -> str:
    """Return the configuration of dnsmasq."""
    namespace = resource.metadata.namespace
    lines = [
        f"port={PORT}",
        f"addn-hosts={HOSTS}",
        # The pod's own files say nothing to others.
        "no-hosts",
        "no-resolv",
        # What is no name of a domain, or a private address that nobody named, is no question for other servers.
        "domain-needed",
        "bogus-priv",
    ]
    lines += [line for option in resource.spec.options for line in _write(option.key, option.values)]
    if not any(option.key == "local" for option in resource.spec.options):
        # A slow server elsewhere must not delay those who ask for a Service that is not there.
        lines.append(f"local=/{namespace}.svc/")
    return "".join(f"{line}\n" for line in lines)


def _write(key: str, values: Sequence[str]) -> list[str]:
    """Return the lines of an option. Those that name a server take one of them; the others a list."""
    if key in _OF_ONE_SERVER and values:
        return [f"{key}={value}" for value in values]
    value = ",".join(values)
    return [f"{key}={value}" if value else key]


def files(resource: DNSMasq, facts: DNSMasqFacts) -> tuple[ConfigFile, ...]:
    """Return the files that each pod reads at its start. The names are not among them: they change while it runs."""
    return (ConfigFile("dnsmasq.conf", configure(resource), CONFIGURATION), PROGRAM)


def serve(_: DNSMasq) -> str:
    """Return the command of the pods."""
    served = f"dnsmasq --keep-in-foreground --log-facility=- --pid-file= --conf-file={CONFIGURATION}"
    return f"python3 {PROGRAM.destination} {HOSTS} {served}"


def resources(resource: DNSMasq, facts: DNSMasqFacts) -> Iterator[Resource]:
    """Yield the names, as the pods mount them."""
    named = _list_named(resource, facts)
    for name in find_left_out(named, LARGEST):
        del named[name]
    yield ConfigMap(metadata=ObjectMeta(name=hosts_name(resource)), data={HOSTS_KEY: write_hosts(named)})


def _list_named(resource: DNSMasq, facts: DNSMasqFacts) -> dict[str, tuple[DNSHost, ...]]:
    """Return the names that a name server is to serve, by the DNSData that has them."""
    wanted = resource.spec.dnsDataLabelSelectorValue
    served = {name: each for name, each in facts.names.items() if each.serves == wanted}
    machines = frozenset(name for name, each in served.items() if each.of_machine)
    return drop_meeting({name: each.hosts for name, each in served.items()}, machines)


def values(resource: DNSMasq, facts: DNSMasqFacts) -> JsonObject:
    """Return where the names are, and how the Service is reached if the user overrides it."""
    found: JsonObject = {"hosts": hosts_name(resource)}
    said = describe_override(resource.spec.override.service)
    return found | ({"services": {"internal": said}} if said else {})


def find_addresses(service: builtin.Service | None) -> tuple[str, ...]:
    """Return the addresses that a load balancer gave; a machine cannot ask for the name of its name server."""
    if service is None or service.spec.get("type") != "LoadBalancer":
        return ()
    entries = service.status.get("loadBalancer", {}).get("ingress") or ()
    # Some load balancers list them in another order each time.
    return tuple(sorted(entry["ip"] for entry in entries if parse_address(entry.get("ip", "")) is not None))


def tell(resource: DNSMasq, facts: DNSMasqFacts | None, look: Look) -> Told[DNSMasq]:
    """Return where the name server is; one that waits for its load balancer says so.

    Machines are told its addresses from the first moment in which a pod answers there, and then for good: they have
    other servers to ask while all pods are away for a while.
    """
    if facts is None:
        return Told(resource.status)
    name = service_name(resource)
    service = look(builtin.Service, name)
    inside = tuple(each for each in _cluster_addresses(service) if parse_address(each) is not None)
    # One that is away is about to come back, with the same addresses.
    inside = resource.status.dnsClusterAddresses if service is None else inside
    found = find_addresses(service)
    offered = resource.status.dnsAddresses
    # All machines are told of a change, so a load balancer that is about to answer again changes nothing.
    outside = found if offered or _has_answered(resource, look) else ()
    outside = outside or (offered if _is_balanced(resource) else ())
    left_out = find_left_out(_list_named(resource, facts), LARGEST)
    status = msgspec.structs.replace(
        resource.status, dnsAddresses=outside, dnsClusterAddresses=inside, leftOut=left_out
    )
    findings = tuple(_tell_left_out(resource, left_out))
    if found or service is None or service.spec.get("type") != "LoadBalancer":
        return Told(status, findings)
    message = f"Service {name} waits for a load balancer to give it an address"
    pending = Finding("CreateServiceReady", "False", "LoadBalancerPending", message, "Info")
    return Told(status, (*findings, pending))


def _tell_left_out(resource: DNSMasq, left_out: tuple[str, ...]) -> Iterator[Finding]:
    """Yield which DNSData are not served. They say themselves what to do; the other names are served."""
    if left_out:
        more = f" and {len(left_out) - NAMED} more" if len(left_out) > NAMED else ""
        message = (
            f"All names with the value {resource.spec.dnsDataLabelSelectorValue!r} together take more than {LARGEST} "
            f"bytes; those of DNSData {', '.join(left_out[:NAMED])}{more} are not served"
        )
        yield Finding(SERVICE_CONFIG_READY, "True", "TooManyNames", message, "Warning")
    elif resource.status.leftOut:
        # Otherwise the former words would stay.
        yield Finding(SERVICE_CONFIG_READY, "True", READY, "")


def _has_answered(resource: DNSMasq, look: Look) -> bool:
    pods = look(builtin.Deployment, f"{resource.metadata.name}-{SERVER}")
    return pods is not None and pods.status.get("readyReplicas", 0) > 0


def _is_balanced(resource: DNSMasq) -> bool:
    override = resource.spec.override.service
    return override is not None and override.spec is not None and override.spec.type == "LoadBalancer"


def _cluster_addresses(service: builtin.Service | None) -> Iterable[str]:
    if service is None:
        return ()
    return service.spec.get("clusterIPs") or (service.spec.get("clusterIP", ""),)


def find_server_ports(resource: DNSMasq) -> tuple[int, ...]:
    """Return the ports of the servers that are asked for other names."""
    # One that ends with its domain names no server: nobody is asked for that domain.
    said = [
        value
        for each in resource.spec.options
        if each.key in _ASKING
        for value in each.values
        if not value.endswith("/")
    ]
    if not said:
        return ()
    others = (int(number) for value in said for number in _SERVER_PORT.findall(value))
    return tuple(dict.fromkeys((SERVICE_PORT, *(number for number in others if 0 < number < 65536))))


def claims(resource: DNSMasq) -> tuple[Claim, ...]:
    """Return what is not named after the resource."""
    return (claim_object(builtin.Service, service_name(resource), owned=True),)


SERVICE = Service(
    name="dnsmasq",
    kind=DNSMasq,
    facts=DNSMasqFacts,
    user="dnsmasq",
    components=(
        Component(
            SERVER,
            command=serve,
            files=files,
            description="The name servers: a Deployment.",
            ports=(Port("dns", PORT, protocol="UDP"), Port("dns-tcp", PORT)),
            probes={
                "startup": {**ALIVE, "periodSeconds": 1, "failureThreshold": 60},
                "readiness": {**ALIVE, "periodSeconds": 5},
                "liveness": {**ALIVE, "periodSeconds": 10, "failureThreshold": 6},
            },
            # As an API does: whoever asks while the Services forget the pod still gets an answer.
            drain=10,
            finish=5,
            requests={"cpu": "10m", "memory": "32Mi"},
        ),
    ),
    needs=(Census(name="names", of=DNSData, read=read_names),),
    provides=Provides(
        NAME_SERVER,
        lambda resource: NameServer(
            resource.status.dnsAddresses, resource.spec.dnsDataLabelSelectorValue, resource.status.leftOut
        ),
    ),
    # Whoever asks has an address that no policy knows.
    network=Network(
        listens=(Listen(PORT, by=ANYBODY, protocol="UDP"), Listen(PORT, by=ANYBODY)), resolves=find_server_ports
    ),
    values=values,
    own_values={
        "hosts": described("The ConfigMap with the names, as a hosts file under the key hosts. Required.", name_of()),
        **client_service("ClusterIP", "NodePort", "LoadBalancer"),
    },
    resources=resources,
    tell=tell,
    claims=claims,
    objects=("hosts",),
)

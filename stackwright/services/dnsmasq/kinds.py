"""The kind of a name server."""

from typing import Annotated, ClassVar, Literal

from stackwright.api.base import (
    VERSION,
    Column,
    CustomResource,
    Definition,
    Kind,
    Rule,
    Value,
    atomic,
    describe,
    max_items,
    max_length,
    maximum,
    minimum,
    pattern,
    shown,
)
from stackwright.api.exposure import ServiceOverride
from stackwright.api.naming import STATEFUL_NAME
from stackwright.api.network import DNS_DATA, GROUP, DNSDataLabelSelectorValue
from stackwright.api.service import InfrastructureSpec, ServiceResource, WorkloadStatus


class DNSMasqOption(Value, frozen=True, kw_only=True):
    """An option of dnsmasq."""

    key: Annotated[
        Literal[
            "server",
            "rev-server",
            "srv-host",
            "txt-record",
            "ptr-record",
            "rebind-domain-ok",
            "naptr-record",
            "cname",
            "host-record",
            "caa-record",
            "dns-rr",
            "auth-zone",
            "synth-domain",
            "no-negcache",
            "local",
            "local-ttl",
            "dhcp-ttl",
            "max-ttl",
        ],
        describe("The option, as dnsmasq calls it. It may occur several times."),
    ]
    values: Annotated[
        tuple[Annotated[str, max_length(1024), pattern(r"^[^\x00-\x1f\x7f]*$")], ...],
        atomic,
        max_items(64),
        describe("Its values, which are joined by commas; none for an option without a value."),
    ] = ()


class DNSMasqOverride(Value, frozen=True, kw_only=True):
    """Overrides of what we generate for a name server."""

    service: Annotated[
        ServiceOverride | None,
        describe("The Service. Machines outside the cluster use it if its spec.type is LoadBalancer."),
    ] = None


class DNSMasqSpec(InfrastructureSpec, frozen=True, kw_only=True):
    """Which names are served, and what is asked for others."""

    replicas: Annotated[int, minimum(0), maximum(32), describe("How many pods serve the names; 0 stops them.")] = 1
    options: Annotated[
        tuple[DNSMasqOption, ...],
        atomic,
        max_items(256),
        describe(
            "Options of dnsmasq. The servers that know other names are key: server. Without key: local, names of the "
            "namespace's Services that nobody serves here do not exist (local=/<namespace>.svc/)."
        ),
    ] = ()
    dnsDataLabelSelectorValue: Annotated[
        DNSDataLabelSelectorValue, describe("The names of every DNSData with the same value are served.")
    ] = DNS_DATA
    override: DNSMasqOverride = DNSMasqOverride()


class DNSMasqStatus(WorkloadStatus, frozen=True, kw_only=True):
    """Where the name server is."""

    dnsAddresses: Annotated[
        tuple[str, ...], atomic, describe("Its addresses for machines outside the cluster; none if there is no way.")
    ] = ()
    dnsClusterAddresses: Annotated[tuple[str, ...], atomic, describe("Its addresses for pods.")] = ()
    leftOut: Annotated[
        tuple[str, ...], atomic, describe("The DNSData whose names are not served, because there are too many names.")
    ] = ()


class DNSMasq(ServiceResource, frozen=True, kw_only=True):
    """A name server for machines outside of the cluster. It serves the names of DNSData."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "DNSMasq", "dnsmasqs")
    definition: ClassVar[Definition] = shown(
        Column("Address", ".status.dnsAddresses[0]", description="Its address for machines outside the cluster"),
    )
    conditions: ClassVar[tuple[str, ...]] = (
        "InputReady",
        "ServiceConfigReady",
        "CreateServiceReady",
        "DeploymentReady",
        "PDBReady",
    )
    # The name of its Service has eight characters more, and is a DNS label.
    validations: ClassVar[tuple[Rule, ...]] = STATEFUL_NAME

    spec: DNSMasqSpec = DNSMasqSpec()
    status: DNSMasqStatus = DNSMasqStatus()


KINDS: tuple[type[CustomResource], ...] = (DNSMasq,)

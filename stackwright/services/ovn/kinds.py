"""The kinds of OVN: the clusters of its two databases, the daemon between them, and the controllers of gateways."""

from typing import Annotated, ClassVar, Literal

import msgspec

from stackwright.api.base import (
    INT32,
    VERSION,
    Column,
    CustomResource,
    Definition,
    Kind,
    Rule,
    Value,
    deprecated,
    describe,
    immutable,
    list_set,
    max_items,
    max_properties,
    maximum,
    min_items,
    minimum,
    pattern,
    rule,
    shown,
)
from stackwright.api.exposure import ServiceOverride, SimpleTls
from stackwright.api.forms import OPTIONAL_NAME, Form
from stackwright.api.naming import STATEFUL_NAME
from stackwright.api.service import ContainerImage, InfrastructureSpec, ServiceResource, WorkloadStatus
from stackwright.api.storage import StorageRequest

GROUP = "ovn.openstack.org"

LogLevel = Annotated[
    Literal["off", "emer", "err", "warn", "info", "dbg"], describe("How much is logged; dbg is the most.")
]
Replicas = Annotated[int, minimum(0), maximum(32)]
Milliseconds = Annotated[int, minimum(0), INT32]
# The interfaces of a host have names of at most 15 characters, and a bridge is called br- and the network's name.
_Network = r"^[A-Za-z0-9_.-]{1,12}$"
_Interface = Annotated[str, pattern(r"^[^\s/:]{1,15}$")]
_Host = Annotated[str, pattern(r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$")]
_Attachment = Annotated[
    str, pattern(OPTIONAL_NAME), describe("A NetworkAttachmentDefinition; the pods join this network too.")
]
_Exporter = Annotated[str, Form.IMAGE, describe("The image of the metrics exporter.")]
_MetricsEnabled = Annotated[bool, describe("Whether metrics are exported.")]


class DatabaseOverride(Value, frozen=True, kw_only=True):
    """Overrides of what we generate for a database."""

    service: Annotated[
        ServiceOverride | None,
        describe(
            "The Service for machines outside the cluster. There is one if its spec.type is LoadBalancer or NodePort."
        ),
    ] = None


class OVNDBClusterSpec(InfrastructureSpec, frozen=True, kw_only=True):
    """Which database it is, how many members it has, and their storage."""

    dbType: Annotated[
        Literal["NB", "SB"],
        immutable("a database cannot become the other one; create another OVNDBCluster"),
        describe("Which database: NB has the networks as they are wanted, SB how they are built."),
    ] = "NB"
    replicas: Annotated[
        Replicas,
        describe(
            "How many members; 0 stops them and keeps the data. An even number survives no more losses than the odd "
            "one below it."
        ),
    ] = 1
    logLevel: LogLevel = "info"
    electionTimer: Annotated[
        int,
        minimum(100),
        maximum(600000),
        describe("After how many milliseconds without a leader the members choose another one."),
    ] = 10000
    inactivityProbe: Annotated[
        Milliseconds, describe("After how many silent milliseconds a client is asked whether it is there; 0 is never.")
    ] = 60000
    probeIntervalToActive: Annotated[Milliseconds, deprecated("nothing replaces it."), describe("Has no effect.")] = (
        60000
    )
    storageClass: Annotated[
        str | None,
        immutable("volumes cannot change their StorageClass; create another OVNDBCluster and move the data"),
        describe("The StorageClass of the members' volumes. If absent, the cluster's default."),
    ] = None
    storageRequest: Annotated[
        StorageRequest,
        describe("The size of each member's volume, such as 10G. It can grow if the StorageClass allows that."),
    ]
    networkAttachment: _Attachment = ""
    override: DatabaseOverride = DatabaseOverride()
    tls: SimpleTls = SimpleTls()
    exporterImage: _Exporter = ""
    metricsEnabled: _MetricsEnabled = True
    metricsTLS: SimpleTls = SimpleTls()


class OVNDBClusterStatus(WorkloadStatus, frozen=True, kw_only=True):
    """Where the database is."""

    internalDbAddress: Annotated[
        str, describe("Where clients in the cluster reach the members: tcp:10.96.1.2:6642,tcp:10.96.1.3:6642.")
    ] = ""
    dbAddress: Annotated[
        str, describe("Where machines outside the cluster reach the database; empty if they cannot.")
    ] = ""
    networkAttachments: Annotated[
        dict[str, tuple[str, ...]], describe("The addresses of the pods on each attached network.")
    ] = {}


_CONDITIONS = ("InputReady", "TLSInputReady", "ServiceConfigReady")
_ACCOUNT = ("ServiceAccountReady", "RoleReady", "RoleBindingReady")


class OVNDBCluster(ServiceResource, frozen=True, kw_only=True):
    """The cluster of one of OVN's two databases; a namespace has one of each. Deleting this resource keeps its data."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "OVNDBCluster", "ovndbclusters")
    definition: ClassVar[Definition] = shown(
        Column("Type", ".spec.dbType", description="Which database"),
        Column("Replicas", ".spec.replicas", "integer", priority=1, description="How many members were asked for"),
    )
    conditions: ClassVar[tuple[str, ...]] = (
        *_CONDITIONS,
        *_ACCOUNT,
        "ExposeServiceReady",
        "DeploymentReady",
        "PDBReady",
    )
    validations: ClassVar[tuple[Rule, ...]] = STATEFUL_NAME

    spec: OVNDBClusterSpec
    status: OVNDBClusterStatus = OVNDBClusterStatus()


class OVNNorthdSpec(InfrastructureSpec, frozen=True, kw_only=True):
    """How many daemons there are; one of them works, the others take over when it is gone."""

    replicas: Annotated[Replicas, describe("How many daemons; one works at a time. 0 stops them.")] = 1
    logLevel: LogLevel = "info"
    nThreads: Annotated[int, minimum(1), maximum(256), describe("How many threads a daemon uses.")] = 1
    tls: SimpleTls = SimpleTls()
    exporterImage: _Exporter = ""
    metricsEnabled: _MetricsEnabled = True
    metricsTLS: SimpleTls = SimpleTls()


class OVNNorthd(ServiceResource, frozen=True, kw_only=True):
    """The daemon that translates the networks as they are wanted into flows."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "OVNNorthd", "ovnnorthds")
    definition: ClassVar[Definition] = shown()
    conditions: ClassVar[tuple[str, ...]] = (*_CONDITIONS, "DeploymentReady")
    validations: ClassVar[tuple[Rule, ...]] = STATEFUL_NAME

    spec: OVNNorthdSpec = OVNNorthdSpec()
    status: WorkloadStatus = WorkloadStatus()


class ExternalIds(Value, frozen=True, kw_only=True):
    """What a node tells OVN of itself."""

    system_id: Annotated[
        str, describe("Has no effect: each node has an id of its own, which follows from the node's name.")
    ] = msgspec.field(default="", name="system-id")
    ovn_bridge: Annotated[
        str, pattern(r"^[A-Za-z0-9_.-]{1,15}$"), describe("The bridge to which ports of virtual networks are plugged.")
    ] = msgspec.field(default="br-int", name="ovn-bridge")
    ovn_encap_type: Annotated[Literal["geneve", "vxlan"], describe("The protocol of the tunnels between nodes.")] = (
        msgspec.field(default="geneve", name="ovn-encap-type")
    )
    ovn_encap_tos: Annotated[
        Literal["0", "inherit"], describe("The type of service of tunnelled packets; inherit takes that of the inner.")
    ] = msgspec.field(default="0", name="ovn-encap-tos")
    ovn_remote_probe_interval: Annotated[
        Milliseconds, describe("After how many silent milliseconds the database is asked whether it is there.")
    ] = msgspec.field(default=60000, name="ovn-remote-probe-interval")
    availability_zones: Annotated[
        tuple[Annotated[str, pattern(r"^[^\s:,]+$")], ...],
        list_set,
        max_items(64),
        describe("The availability zones for which the node is a gateway. If empty, for those without a zone."),
    ] = msgspec.field(default=(), name="availability-zones")
    enable_chassis_as_gateway: Annotated[
        bool, deprecated("every node of an OVNController is a gateway."), describe("Has no effect.")
    ] = msgspec.field(default=True, name="enable-chassis-as-gateway")


class Bond(Value, frozen=True, kw_only=True):
    """A bond of several interfaces."""

    mode: Annotated[Literal["active-backup"], describe("How the bond uses its links.")] = "active-backup"
    mtu: Annotated[int, minimum(68), maximum(65535), describe("The largest packet.")] = 1500
    links: Annotated[tuple[_Interface, ...], list_set, min_items(1), max_items(16), describe("The interfaces.")] = ()


class OVNControllerSpec(InfrastructureSpec, frozen=True, kw_only=True):
    """Which nodes are gateways, and to which physical networks they are connected."""

    ovnContainerImage: ContainerImage = ""
    ovsContainerImage: ContainerImage = ""
    external_ids: Annotated[ExternalIds, describe("What each node tells OVN of itself.")] = msgspec.field(
        default=ExternalIds(), name="external-ids"
    )
    nicMappings: Annotated[
        dict[str, _Interface],
        max_properties(32),
        rule(
            f"self.all(name, name.matches('{_Network}'))",
            message="the name of a physical network has at most 12 letters, digits, dots, dashes and underscores, "
            "because its bridge is called br- and that name",
        ),
        describe("The interface of the node for each physical network. It becomes a port of the bridge br-<network>."),
    ] = {}
    tunnelInterface: Annotated[
        str,
        pattern(r"^[^\s/:]{0,15}$"),
        describe(
            "The interface of the node for tunnels to other nodes and machines; its address is that of the tunnels. "
            "If Open vSwitch itself forwards packets, the bridge br-tunnel takes the interface and its addresses. If "
            "empty, tunnels use the address of the node, and then only the kernel can forward them."
        ),
    ] = ""
    bondConfiguration: Annotated[
        dict[str, Bond], max_properties(32), describe("Bonds that nicMappings may name, by name.")
    ] = {}
    fakeHosts: Annotated[
        dict[str, Annotated[tuple[_Host, ...], list_set, max_items(64)]],
        max_properties(64),
        describe(
            "Hosts that only pretend to run servers, by the node that stands in for them: it is a chassis for each of "
            "them too, so that Neutron binds the ports of their servers. For computes with a fake driver."
        ),
    ] = {}
    networkAttachment: _Attachment = ""
    ovnLogLevel: LogLevel = "info"
    ovsLogLevel: LogLevel = "info"
    tls: SimpleTls = SimpleTls()
    exporterImage: _Exporter = ""
    metricsEnabled: _MetricsEnabled = True
    metricsTLS: SimpleTls = SimpleTls()


class Chassis(Value, frozen=True, kw_only=True):
    """What the pods of a node report."""

    systemId: Annotated[str, describe("Under which id OVN knows the node.")] = ""
    datapath: Annotated[
        str, describe("What forwards packets: the kernel (system), or Open vSwitch itself (netdev).")
    ] = ""
    encapIp: Annotated[str, describe("The address of its tunnels.")] = ""
    mtu: Annotated[
        int, describe("The largest packet of the interface that has this address; 0 if it is not known.")
    ] = 0
    bridgeMappings: Annotated[str, describe("The bridges of its physical networks, as network:bridge.")] = ""
    problem: Annotated[str, describe("What keeps it from doing what was asked for; empty if nothing does.")] = ""


class OVNControllerStatus(WorkloadStatus, frozen=True, kw_only=True):
    """How many nodes are gateways."""

    unhurried: ClassVar[frozenset[str]] = WorkloadStatus.unhurried | {
        "numberReady",
        "ovsNumberReady",
        "desiredNumberScheduled",
    }

    numberReady: Annotated[int, describe("On how many nodes the controller is ready.")] = 0
    ovsNumberReady: Annotated[int, describe("On how many nodes the switch is ready.")] = 0
    metricsNumberReady: Annotated[int, describe("Always 0: no metrics are exported yet.")] = 0
    desiredNumberScheduled: Annotated[int, describe("On how many nodes they shall run.")] = 0
    networkAttachments: Annotated[
        dict[str, tuple[str, ...]], describe("The addresses of the pods on each attached network.")
    ] = {}
    chassis: Annotated[dict[str, Chassis], describe("What the nodes report, by their names.")] = {}


class OVNController(ServiceResource, frozen=True, kw_only=True):
    """A switch and its controller on each selected node: gateways between virtual and physical networks."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "OVNController", "ovncontrollers")
    definition: ClassVar[Definition] = shown(
        Column("Nodes", ".status.desiredNumberScheduled", "integer", description="On how many nodes it shall run"),
    )
    conditions: ClassVar[tuple[str, ...]] = (*_CONDITIONS, *_ACCOUNT, "DeploymentReady")
    validations: ClassVar[tuple[Rule, ...]] = STATEFUL_NAME

    spec: OVNControllerSpec = OVNControllerSpec()
    status: OVNControllerStatus = OVNControllerStatus()


KINDS: tuple[type[CustomResource], ...] = (OVNDBCluster, OVNNorthd, OVNController)

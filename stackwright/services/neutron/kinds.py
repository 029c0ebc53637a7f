"""The kinds of Neutron: its API, and the agent on machines outside of the cluster that serves metadata."""

from typing import Annotated, ClassVar

from stackwright.api.base import (
    INT32,
    VERSION,
    Column,
    CustomResource,
    Definition,
    Kind,
    Value,
    atomic,
    deprecated,
    describe,
    immutable,
    keys,
    max_items,
    max_length,
    max_properties,
    min_length,
    minimum,
    pattern,
    shown,
)
from stackwright.api.exposure import ApiOverride, ApiTls, Certificate
from stackwright.api.forms import OPTIONAL_NAME, AccountName, ImageReference, ObjectName, UserName
from stackwright.api.node_service import (
    DEPLOYMENT_READY,
    INPUT_READY,
    NODE_READY,
    SERVICE_READY,
    NodeServiceResource,
    NodeServiceSpec,
)
from stackwright.api.pods import ExtraMountsList
from stackwright.api.service import RabbitMqConfig, ServiceAuth, ServiceResource, ServiceSpec, ServiceStatus

GROUP = "neutron.openstack.org"
POLICIES = "policy.yaml"


class NeutronPasswords(Value, frozen=True, kw_only=True):
    """The keys of the Secret under which the passwords are stored."""

    service: Annotated[str, min_length(1), describe("The key of the password of Neutron's user.")] = "NeutronPassword"


class NeutronTls(ApiTls, frozen=True, kw_only=True):
    """The certificates of the API, and the one by which Neutron logs in to OVN's databases."""

    ovn: Annotated[Certificate | None, describe("The certificate for OVN's databases. Not supported yet.")] = None


class NeutronAPISpec(ServiceSpec, frozen=True, kw_only=True):
    """How Neutron runs: its database, brokers and drivers, its user in Keystone, and how it is reached."""

    databaseInstance: Annotated[
        ObjectName,
        immutable("Neutron cannot move to another database by name, because that would start an empty one"),
        describe("The Galera that holds Neutron's data."),
    ]
    databaseAccount: Annotated[
        AccountName,
        describe(
            "The MariaDBAccount that Neutron logs in with. Changing the name rotates the account without an outage."
        ),
    ] = "neutron"
    memcachedInstance: Annotated[ObjectName, describe("The Memcached that caches tokens.")] = "memcached"
    messagingBus: Annotated[
        RabbitMqConfig | None,
        describe("The broker through which Neutron and its agents call each other; rabbitmq by default."),
    ] = None
    rabbitMqClusterName: Annotated[
        str | None,
        max_length(253),
        pattern(OPTIONAL_NAME),
        deprecated("set messagingBus.cluster, which wins if both are set."),
        describe("The name of the RabbitMq resource."),
    ] = None
    notificationsBus: Annotated[
        RabbitMqConfig | None, describe("The broker for notifications. If absent, Neutron sends none.")
    ] = None
    notificationsBusInstance: Annotated[
        str | None,
        max_length(253),
        pattern(OPTIONAL_NAME),
        deprecated("set notificationsBus.cluster, which wins if both are set."),
        describe("The name of the RabbitMq resource for notifications; empty for none."),
    ] = None
    keystoneInstance: Annotated[
        ObjectName, describe("The KeystoneAPI that lists Neutron in its catalog and validates tokens.")
    ] = "keystone"
    serviceUser: Annotated[UserName, describe("The user that Neutron logs in to Keystone as.")] = "neutron"
    passwordSelectors: NeutronPasswords = NeutronPasswords()
    auth: ServiceAuth = ServiceAuth()
    corePlugin: Annotated[str, min_length(1), describe("The plugin that implements networks, subnets and ports.")] = (
        "ml2"
    )
    ml2MechanismDrivers: Annotated[
        tuple[str, ...],
        atomic,
        max_items(16),
        describe("The drivers that build the networks. With ovn, the namespace needs both OVNDBClusters."),
    ] = ("ovn",)
    apiTimeout: Annotated[int, minimum(1), INT32, describe("Seconds that a request may take.")] = 120
    defaultConfigOverwrite: Annotated[
        dict[str, str],
        keys(POLICIES),
        max_properties(1),
        describe("The file policy.yaml, with policies that differ from Neutron's own. No other file is allowed."),
    ] = {}
    override: ApiOverride = ApiOverride()
    tls: NeutronTls = NeutronTls()
    extraMounts: ExtraMountsList = ()


class NeutronAPIStatus(ServiceStatus, frozen=True, kw_only=True):
    """The state of Neutron, and where to reach it."""

    unhurried: ClassVar[frozenset[str]] = ServiceStatus.unhurried | {
        "databaseHostname",
        "transportURLSecret",
        "notificationsTransportURLSecret",
    }

    apiEndpoints: Annotated[dict[str, str], describe("The URLs of the endpoints: public, internal.")] = {}
    databaseHostname: Annotated[str, describe("The host of the database.")] = ""
    transportURLSecret: Annotated[str, describe("The Secret with the login to the broker.")] = ""
    notificationsTransportURLSecret: Annotated[
        str | None, describe("The Secret with the login to the broker for notifications.")
    ] = None


class NeutronAPI(ServiceResource, frozen=True, kw_only=True):
    """Neutron: networks, subnets, routers and ports. Deleting this resource keeps the database."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "NeutronAPI", "neutronapis")
    definition: ClassVar[Definition] = shown(
        Column("Endpoint", ".status.apiEndpoints.public", priority=1, description="The public URL"),
        Column("NetworkAttachments", ".status.networkAttachments", priority=1, description="Further networks"),
    )
    conditions: ClassVar[tuple[str, ...]] = (
        "InputReady",
        "MariaDBAccountReady",
        "DBReady",
        "RabbitMqTransportURLReady",
        "NotificationBusInstanceReady",
        "MemcachedReady",
        "TLSInputReady",
        "ServiceConfigReady",
        "NetworkAttachmentsReady",
        "ServiceAccountReady",
        "DBSyncReady",
        "CreateServiceReady",
        "KeystoneServiceReady",
        "KeystoneEndpointReady",
        "DeploymentReady",
        "NeutronExternalConfigsReady",
    )

    spec: NeutronAPISpec
    status: NeutronAPIStatus = NeutronAPIStatus()


class OVNMetadataAgentSpec(NodeServiceSpec, frozen=True, kw_only=True):
    """Which images the agent runs, and what it stands on."""

    ovnMetadataAgentContainerImage: Annotated[
        ImageReference, describe("The image of the agent; if absent, the one of the image manifest.")
    ] = ""
    ovnControllerContainerImage: Annotated[
        ImageReference,
        describe("The image of Open vSwitch and ovn-controller; if absent, the one of the image manifest."),
    ] = ""


class OVNMetadataAgent(NodeServiceResource, frozen=True, kw_only=True):
    """The agent on a machine outside of the cluster by which servers there reach the metadata service.

    Open vSwitch and ovn-controller, on which it stands, are part of it. It is created for each node that has, or whose
    role has, the annotation neutron.openstack.org/ovn-metadata-agent: "true", and for each node that runs servers.
    """

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "OVNMetadataAgent", "ovnmetadataagents")
    definition: ClassVar[Definition] = shown(Column("Phase", ".status.phase", description="How far it is"))
    conditions: ClassVar[tuple[str, ...]] = (INPUT_READY, NODE_READY, DEPLOYMENT_READY, SERVICE_READY)

    spec: OVNMetadataAgentSpec = OVNMetadataAgentSpec()


KINDS: tuple[type[CustomResource], ...] = (NeutronAPI, OVNMetadataAgent)

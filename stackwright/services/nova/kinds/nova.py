"""Nova: one resource for the whole control plane."""

from typing import Annotated, ClassVar

import msgspec

from stackwright.api.base import (
    VERSION,
    Column,
    CustomResource,
    Definition,
    Kind,
    Value,
    deprecated,
    describe,
    immutable,
    max_length,
    max_properties,
    shown,
)
from stackwright.api.charts import Chart
from stackwright.api.forms import AccountName, Form, Labels, ObjectName, OptionalName, UserName
from stackwright.api.pods import TopologyRef
from stackwright.api.service import Actions, ContainerImage, RabbitMqConfig, ServiceAuth, ServiceStatus
from stackwright.services.nova.kinds.cell import CELL0, Computes
from stackwright.services.nova.kinds.parts import (
    GROUP,
    ApiTimeout,
    MemcachedInstance,
    NovaAPITemplate,
    NovaConductorTemplate,
    NovaDbPurge,
    NovaMetadataTemplate,
    NovaNoVNCProxyTemplate,
    NovaPasswords,
    NovaSchedulerTemplate,
)
from stackwright.services.nova.kinds.services import URL

MOST_CELLS = 32


class NovaCellTemplate(Value, frozen=True, kw_only=True):
    """A cell: its database, its message bus, and what runs in it."""

    cellDatabaseInstance: Annotated[
        ObjectName,
        immutable("a cell cannot move to another database by name, because that would start an empty one"),
        describe("The Galera that holds the cell's data."),
    ] = "openstack"
    cellDatabaseAccount: Annotated[
        OptionalName,
        max_length(80),
        Form.ACCOUNT,
        describe("The MariaDBAccount of the cell's database. Changing the name rotates the account without an outage."),
    ] = ""
    messagingBus: Annotated[
        RabbitMqConfig | None,
        describe("The cell's broker; cell0 has that of the API, another cell by default rabbitmq-CELL."),
    ] = None
    cellMessageBusInstance: Annotated[
        OptionalName, deprecated("messagingBus.cluster"), describe("The cell's broker: the older field.")
    ] = ""
    hasAPIAccess: Annotated[
        bool, describe("Whether the cell's conductors may use the API's database; without, features are missing.")
    ] = True
    memcachedInstance: Annotated[OptionalName, describe("The cell's Memcached; empty for that of Nova.")] = ""
    conductorServiceTemplate: NovaConductorTemplate = NovaConductorTemplate()
    metadataServiceTemplate: NovaMetadataTemplate = NovaMetadataTemplate()
    noVNCProxyServiceTemplate: NovaNoVNCProxyTemplate = NovaNoVNCProxyTemplate()
    novaComputeTemplates: Computes = {}
    nodeSelector: Annotated[
        Labels | None, describe("Labels of the nodes that run the cell's pods, for components that select none.")
    ] = None
    topologyRef: Annotated[TopologyRef | None, describe("The Topology for components that name none.")] = None
    dbPurge: NovaDbPurge = NovaDbPurge()


# What upstream has where nobody says it.
USUAL_CELLS = {
    CELL0: NovaCellTemplate(cellDatabaseAccount="nova-cell0"),
    "cell1": NovaCellTemplate(
        cellDatabaseAccount="nova-cell1",
        cellDatabaseInstance="openstack-cell1",
        messagingBus=RabbitMqConfig(cluster="rabbitmq-cell1"),
    ),
}


class NovaSpec(Value, frozen=True, kw_only=True):
    """How Nova runs: its cells, its databases, its user in Keystone."""

    keystoneInstance: Annotated[
        ObjectName, describe("The KeystoneAPI that lists Nova in its catalog and validates tokens.")
    ] = "keystone"
    apiDatabaseInstance: Annotated[
        ObjectName,
        immutable("Nova cannot move to another database by name, because that would start an empty one"),
        describe("The Galera that holds the API's data."),
    ] = "openstack"
    apiDatabaseAccount: Annotated[
        AccountName, describe("The MariaDBAccount of the API's database. Changing the name rotates the account.")
    ] = "nova-api"
    messagingBus: Annotated[RabbitMqConfig | None, describe("The broker of the API; by default rabbitmq.")] = None
    apiMessageBusInstance: Annotated[
        OptionalName, deprecated("messagingBus.cluster"), describe("The broker of the API: the older field.")
    ] = ""
    notificationsBus: Annotated[
        RabbitMqConfig | None, describe("The broker that notifications go to; absent for no notifications.")
    ] = None
    notificationsBusInstance: Annotated[
        OptionalName, deprecated("notificationsBus.cluster"), describe("The broker of notifications: the older field.")
    ] = ""
    cellTemplates: Annotated[
        dict[str, NovaCellTemplate],
        max_properties(MOST_CELLS),
        describe("The cells, by name. cell0, which has no computes, is always one of them."),
    ] = msgspec.field(default_factory=lambda: dict(USUAL_CELLS))
    serviceUser: Annotated[UserName, describe("The user that Nova logs in to Keystone as.")] = "nova"
    secret: Annotated[
        ObjectName, describe("The Secret with Nova's passwords, under the keys that passwordSelectors names.")
    ]
    passwordSelectors: NovaPasswords = NovaPasswords()
    auth: ServiceAuth = ServiceAuth()
    apiTimeout: ApiTimeout = 60
    memcachedInstance: MemcachedInstance = "memcached"
    apiServiceTemplate: NovaAPITemplate = NovaAPITemplate()
    schedulerServiceTemplate: NovaSchedulerTemplate = NovaSchedulerTemplate()
    metadataServiceTemplate: NovaMetadataTemplate = NovaMetadataTemplate()
    nodeSelector: Annotated[
        Labels | None, describe("Labels of the nodes that run the pods, for components that select none.")
    ] = None
    topologyRef: Annotated[TopologyRef | None, describe("The Topology for components that name none.")] = None
    preserveJobs: Annotated[bool, describe("Whether finished Jobs are kept; the last of each kind is always kept.")] = (
        False
    )
    apiContainerImageURL: ContainerImage = ""
    schedulerContainerImageURL: ContainerImage = ""
    conductorContainerImageURL: ContainerImage = ""
    metadataContainerImageURL: ContainerImage = ""
    novncproxyContainerImageURL: ContainerImage = ""
    computeContainerImageURL: ContainerImage = ""
    chart: Chart = None
    # What it makes for its cells, no Job of a chart could.
    provisioning: ClassVar[str] = "InProcess"
    actions: Actions = ()


class NovaStatus(ServiceStatus, frozen=True, kw_only=True):
    """How far Nova is, and where it is."""

    # Who counts pods and hosts waits for Ready; a cell that is mapped has to be known before it may be removed. Images
    # and hosts change with a user's change or with the phase of an upgrade, and are written with those; of a new Nova,
    # nobody compares them before something runs. What is in the catalog follows the URLs of the NovaAPI.
    unhurried: ClassVar[frozenset[str]] = ServiceStatus.unhurried | {
        "apiEndpoints",
        "databaseHostname",
        "apiServiceReadyCount",
        "schedulerServiceReadyCount",
        "metadataServiceReadyCount",
        "discoveredCells",
        "images",
        "serviceHosts",
    }

    apiEndpoints: Annotated[dict[str, str], describe("The URLs of the endpoints: public, internal.")] = {}
    databaseHostname: Annotated[str, describe("The host of the API's database.")] = ""
    apiServiceReadyCount: Annotated[int, describe("How many pods of the API are ready.")] = 0
    schedulerServiceReadyCount: Annotated[int, describe("How many schedulers are ready.")] = 0
    metadataServiceReadyCount: Annotated[int, describe("How many pods of the metadata service are ready.")] = 0
    registeredCells: Annotated[
        dict[str, str], describe("The cells that are mapped, by NovaCell, each with a hash of its mapping.")
    ] = {}
    discoveredCells: Annotated[
        dict[str, str],
        describe("The cells whose hosts were discovered, by NovaCell, each with a hash of its computes."),
    ] = {}
    discoveredHosts: Annotated[
        dict[str, dict[str, str]],
        describe("The mapped machines outside of the cluster, by NovaCell and host: Nova's id of each compute."),
    ] = {}
    serviceHosts: Annotated[
        dict[str, dict[str, int]],
        describe("How many hosts of each StatefulSet Nova may know, by cell; the rows of those too many are deleted."),
    ] = {}
    images: Annotated[dict[str, str], describe("The image that each service was told to run, by service.")] = {}
    upgradePhase: Annotated[
        str,
        describe(
            "How far the way to a new image is: Syncing, Conductors, Services, API, Migrating; empty if there is none."
        ),
    ] = ""


class Nova(CustomResource, frozen=True, kw_only=True):
    """Nova runs servers. Deleting this resource keeps the databases."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "Nova", "nova")
    definition: ClassVar[Definition] = shown(
        Column("Upgrade", ".status.upgradePhase", description="How far the way to a new image is"),
        URL,
        Column("Cells", ".status.registeredCells", priority=1),
    )
    conditions: ClassVar[tuple[str, ...]] = (
        "InputReady",
        "MariaDBAccountReady",
        "NovaAPIDBReady",
        "NovaAPIMQReady",
        "NovaNotificationMQReady",
        "NovaAllCellDBReady",
        "NovaAllCellsMQReady",
        "MemcachedReady",
        "ServiceConfigReady",
        "KeystoneServiceReady",
        # What a cell says comes first: it is why its tables are not there, for which its mapping waits.
        "NovaAllCellReady",
        "NovaCellsMapped",
        "NovaHostsDiscovered",
        "NovaAPIReady",
        "NovaSchedulerReady",
        "NovaMetadataReady",
        "KeystoneEndpointReady",
        "NovaUpgraded",
        "NovaServicesCleaned",
        "NovaCellsDeletion",
    )

    spec: NovaSpec
    status: NovaStatus = NovaStatus()

    def declared_conditions(self) -> tuple[str, ...]:
        """Return the conditions of what Nova has."""
        spec, missing = self.spec, set()
        if spec.metadataServiceTemplate.enabled is False:
            missing.add("NovaMetadataReady")
        if spec.notificationsBus is None and not spec.notificationsBusInstance:
            missing.add("NovaNotificationMQReady")
        return tuple(name for name in self.conditions if name not in missing)

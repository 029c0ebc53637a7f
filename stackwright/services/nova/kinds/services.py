"""The services of Nova: each works alone, from Secrets; `Nova` and `NovaCell` write the same Secrets and resources."""

from typing import Annotated, ClassVar

from stackwright.api.base import (
    VERSION,
    Column,
    CustomResource,
    Definition,
    Kind,
    describe,
    min_length,
    shown,
)
from stackwright.api.exposure import ApiTls, SimpleTls
from stackwright.api.service import ServiceResource, ServiceStatus
from stackwright.services.nova.kinds.parts import (
    GROUP,
    ApiDatabaseAccount,
    ApiDatabaseHostname,
    ApiDatabaseSecret,
    ApiTimeout,
    CellDatabaseAccount,
    CellDatabaseHostname,
    CellDatabaseSecret,
    ComputeDriver,
    MemcachedInstance,
    MetadataOverride,
    NovaApiOverride,
    NovaDbPurge,
    NovaServiceSpec,
    NoVncProxyOverride,
    NoVncProxyTls,
)

NETWORKS = Column("NetworkAttachments", ".spec.networkAttachments", priority=1, description="Further networks")
URL = Column("Endpoint", ".status.apiEndpoints.public", priority=1, description="The public URL")
CELL = Column("Cell", ".spec.cellName", description="The cell that it is for")

# How long a name may be is told by the webhook, in upstream's words; the schema would come first.
CellName = Annotated[str, min_length(1), describe("The name of the cell.")]
RegisteredCells = Annotated[
    dict[str, str],
    describe("The cells that are mapped, by NovaCell, each with a hash of its mapping: another one restarts the pods."),
]
# What every service of Nova comes to.
_CONFIGURED = ("InputReady", "TLSInputReady", "ServiceConfigReady", "NetworkAttachmentsReady")


class _TopLevelSpec(NovaServiceSpec, frozen=True, kw_only=True):
    """How a service for all cells reaches its databases."""

    memcachedInstance: MemcachedInstance = ""
    apiDatabaseSecret: ApiDatabaseSecret = ""
    apiDatabaseHostname: ApiDatabaseHostname = ""
    apiDatabaseAccount: ApiDatabaseAccount = "nova-api"
    cell0DatabaseSecret: CellDatabaseSecret = ""
    cell0DatabaseHostname: CellDatabaseHostname = ""
    cell0DatabaseAccount: CellDatabaseAccount = "nova-cell0"
    registeredCells: RegisteredCells = {}


class NovaAPISpec(_TopLevelSpec, frozen=True, kw_only=True):
    """How the API runs."""

    keystonePublicAuthURL: Annotated[str, describe("Keystone's public URL; empty for the internal one.")] = ""
    apiTimeout: ApiTimeout = 60
    override: NovaApiOverride = NovaApiOverride()
    tls: ApiTls = ApiTls()


class NovaAPIStatus(ServiceStatus, frozen=True, kw_only=True):
    """How far the API is, and where it is."""

    apiEndpoints: Annotated[dict[str, str], describe("The URLs of the endpoints: public, internal.")] = {}


class NovaAPI(ServiceResource, frozen=True, kw_only=True):
    """The API of Nova."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "NovaAPI", "novaapis")
    definition: ClassVar[Definition] = shown(URL, NETWORKS)
    conditions: ClassVar[tuple[str, ...]] = (
        *_CONFIGURED,
        "MemcachedReady",
        "CreateServiceReady",
        "DeploymentReady",
        "KeystoneEndpointReady",
    )

    spec: NovaAPISpec
    status: NovaAPIStatus = NovaAPIStatus()


class NovaSchedulerSpec(_TopLevelSpec, frozen=True, kw_only=True):
    """How the scheduler runs."""


class NovaScheduler(ServiceResource, frozen=True, kw_only=True):
    """The scheduler of Nova: it chooses the host of a new server."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "NovaScheduler", "novaschedulers")
    definition: ClassVar[Definition] = shown(NETWORKS)
    conditions: ClassVar[tuple[str, ...]] = (*_CONFIGURED, "MemcachedReady", "DeploymentReady")

    spec: NovaSchedulerSpec
    status: ServiceStatus = ServiceStatus()


class NovaConductorSpec(NovaServiceSpec, frozen=True, kw_only=True):
    """How the conductors of a cell run; those of cell0 are the superconductor."""

    cellName: CellName
    memcachedInstance: MemcachedInstance = ""
    apiDatabaseSecret: ApiDatabaseSecret = ""
    apiDatabaseHostname: ApiDatabaseHostname = ""
    apiDatabaseAccount: ApiDatabaseAccount = "nova"
    cellDatabaseSecret: CellDatabaseSecret = ""
    cellDatabaseHostname: CellDatabaseHostname = ""
    cellDatabaseAccount: CellDatabaseAccount = "nova"
    dbPurge: NovaDbPurge = NovaDbPurge()


class NovaConductor(ServiceResource, frozen=True, kw_only=True):
    """The conductors of a cell: they make its tables, and read and write them for its computes."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "NovaConductor", "novaconductors")
    definition: ClassVar[Definition] = shown(CELL, NETWORKS)
    conditions: ClassVar[tuple[str, ...]] = (
        *_CONFIGURED,
        "MemcachedReady",
        "DBSyncReady",
        "DeploymentReady",
        "CronJobReady",
    )

    spec: NovaConductorSpec
    status: ServiceStatus = ServiceStatus()


class NovaMetadataSpec(NovaServiceSpec, frozen=True, kw_only=True):
    """How the metadata service runs: for all cells, or for one of them."""

    cellName: Annotated[str, describe("The cell; empty for all cells.")] = ""
    memcachedInstance: MemcachedInstance = ""
    apiTimeout: ApiTimeout = 60
    apiDatabaseSecret: ApiDatabaseSecret = ""
    apiDatabaseHostname: ApiDatabaseHostname = ""
    apiDatabaseAccount: ApiDatabaseAccount = "nova-api"
    cellDatabaseSecret: CellDatabaseSecret = ""
    cellDatabaseHostname: CellDatabaseHostname = ""
    cellDatabaseAccount: CellDatabaseAccount = "nova"
    registeredCells: RegisteredCells = {}
    override: MetadataOverride = MetadataOverride()
    tls: SimpleTls = SimpleTls()


class NovaMetadataStatus(ServiceStatus, frozen=True, kw_only=True):
    """How far the metadata service is, and where it is."""

    # Unlike the API's, no other controller waits for them.
    unhurried: ClassVar[frozenset[str]] = ServiceStatus.unhurried | {"apiEndpoints"}

    apiEndpoints: Annotated[dict[str, str], describe("The URL that Neutron's agents ask: internal.")] = {}


class NovaMetadata(ServiceResource, frozen=True, kw_only=True):
    """The metadata service: it tells servers about themselves."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "NovaMetadata", "novametadatas")
    definition: ClassVar[Definition] = shown(CELL, NETWORKS)
    conditions: ClassVar[tuple[str, ...]] = (
        *_CONFIGURED,
        "MemcachedReady",
        "CreateServiceReady",
        "NovaComputeServiceConfigReady",
        "DeploymentReady",
    )

    spec: NovaMetadataSpec
    status: NovaMetadataStatus = NovaMetadataStatus()


class NovaNoVNCProxySpec(NovaServiceSpec, frozen=True, kw_only=True):
    """How the noVNC proxy of a cell runs."""

    cellName: CellName
    memcachedInstance: MemcachedInstance = ""
    cellDatabaseSecret: CellDatabaseSecret = ""
    cellDatabaseHostname: CellDatabaseHostname = ""
    cellDatabaseAccount: CellDatabaseAccount = "nova"
    override: NoVncProxyOverride = NoVncProxyOverride()
    tls: NoVncProxyTls = NoVncProxyTls()


class NovaNoVNCProxyStatus(ServiceStatus, frozen=True, kw_only=True):
    """How far the proxy is, and where it is."""

    # Unlike the API's, no other controller waits for them.
    unhurried: ClassVar[frozenset[str]] = ServiceStatus.unhurried | {"apiEndpoints"}

    apiEndpoints: Annotated[dict[str, str], describe("The URL that users open: public.")] = {}


class NovaNoVNCProxy(ServiceResource, frozen=True, kw_only=True):
    """The proxy between a browser and the consoles of a cell's servers."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "NovaNoVNCProxy", "novanovncproxies")
    definition: ClassVar[Definition] = shown(CELL, URL, NETWORKS)
    conditions: ClassVar[tuple[str, ...]] = (*_CONFIGURED, "MemcachedReady", "CreateServiceReady", "DeploymentReady")

    spec: NovaNoVNCProxySpec
    status: NovaNoVNCProxyStatus = NovaNoVNCProxyStatus()


class NovaComputeSpec(NovaServiceSpec, frozen=True, kw_only=True):
    """How a compute in the cluster runs."""

    cellName: CellName
    computeName: Annotated[str, min_length(1), describe("The name of the compute in its cell.")]
    computeDriver: ComputeDriver


class NovaCompute(ServiceResource, frozen=True, kw_only=True):
    """A compute that runs in the cluster: for Ironic's machines, or for tests."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "NovaCompute", "novacomputes")
    definition: ClassVar[Definition] = shown(CELL, NETWORKS)
    conditions: ClassVar[tuple[str, ...]] = (*_CONFIGURED, "DeploymentReady")

    spec: NovaComputeSpec
    status: ServiceStatus = ServiceStatus()


SERVICE_KINDS: tuple[type[CustomResource], ...] = (
    NovaAPI,
    NovaScheduler,
    NovaConductor,
    NovaMetadata,
    NovaNoVNCProxy,
    NovaCompute,
)

"""A cell of Nova: conductors, a noVNC proxy, computes in the cluster, and perhaps a metadata service of its own."""

from typing import Annotated, ClassVar

from stackwright.api.base import (
    VERSION,
    CustomResource,
    Definition,
    Kind,
    Value,
    describe,
    max_properties,
    min_length,
    shown,
)
from stackwright.api.charts import Chart
from stackwright.api.exposure import CaTls
from stackwright.api.forms import Labels, ObjectName, OptionalName, UserName
from stackwright.api.pods import TopologyRef
from stackwright.api.service import Actions, ContainerImage, ServiceStatus
from stackwright.services.nova.kinds.parts import (
    GROUP,
    ApiDatabaseAccount,
    ApiDatabaseHostname,
    ApiDatabaseSecret,
    ApiTimeout,
    CellDatabaseAccount,
    CellDatabaseHostname,
    CellDatabaseSecret,
    MemcachedInstance,
    NovaComputeTemplate,
    NovaConductorTemplate,
    NovaDbPurge,
    NovaMetadataTemplate,
    NovaNoVNCProxyTemplate,
    OptionalSecret,
)
from stackwright.services.nova.kinds.services import CELL, CellName

CELL0 = "cell0"
Computes = Annotated[
    dict[str, NovaComputeTemplate],
    max_properties(64),
    describe("The computes that run in the cluster, by name."),
]


class NovaCellSpec(Value, frozen=True, kw_only=True):
    """How a cell runs."""

    cellName: CellName
    secret: Annotated[
        ObjectName, describe("The Secret with ServicePassword, transport_url, and MetadataSecret where it is needed.")
    ]
    messagingSecret: Annotated[
        OptionalSecret, describe("The Secret with the login to the cell's broker, if it is not in secret.")
    ] = ""
    keystoneAuthURL: Annotated[str, min_length(1), describe("Keystone's internal URL.")]
    keystonePublicAuthURL: Annotated[
        str, describe("Keystone's public URL, for computes outside of the cluster; empty for the internal one.")
    ] = ""
    serviceUser: Annotated[UserName, describe("The user that services log in to Keystone as.")] = "nova"
    region: Annotated[str, describe("The region in the catalog; empty for regionOne.")] = "regionOne"
    serviceAccount: Annotated[
        OptionalName, describe("Accepted for compatibility; the pods need no account of their own.")
    ] = ""
    apiTimeout: ApiTimeout = 60
    memcachedInstance: MemcachedInstance = ""
    apiDatabaseSecret: ApiDatabaseSecret = ""
    apiDatabaseHostname: ApiDatabaseHostname = ""
    apiDatabaseAccount: ApiDatabaseAccount = "nova"
    cellDatabaseSecret: CellDatabaseSecret = ""
    cellDatabaseHostname: CellDatabaseHostname = ""
    cellDatabaseAccount: CellDatabaseAccount = "nova"
    conductorServiceTemplate: NovaConductorTemplate = NovaConductorTemplate()
    metadataServiceTemplate: NovaMetadataTemplate = NovaMetadataTemplate()
    noVNCProxyServiceTemplate: NovaNoVNCProxyTemplate = NovaNoVNCProxyTemplate()
    novaComputeTemplates: Computes = {}
    conductorContainerImageURL: ContainerImage = ""
    metadataContainerImageURL: ContainerImage = ""
    novncproxyContainerImageURL: ContainerImage = ""
    computeContainerImageURL: ContainerImage = ""
    nodeSelector: Annotated[
        Labels | None, describe("Labels of the nodes that run the pods, for components that select none.")
    ] = None
    topologyRef: Annotated[TopologyRef | None, describe("The Topology for components that name none.")] = None
    preserveJobs: Annotated[bool, describe("Whether finished Jobs are kept; the last of each kind is always kept.")] = (
        False
    )
    dbPurge: NovaDbPurge = NovaDbPurge()
    tls: CaTls = CaTls()
    chart: Chart = None
    actions: Actions = ()


class NovaComputeState(Value, frozen=True, kw_only=True):
    """How far a compute is."""

    deployed: Annotated[bool, describe("Whether it runs as it is to.")] = False
    errors: Annotated[bool, describe("Whether something is wrong with it.")] = False


class NovaCellStatus(ServiceStatus, frozen=True, kw_only=True):
    """How far a cell is."""

    # Nova reads the conditions, and users wait for Ready.
    unhurried: ClassVar[frozenset[str]] = ServiceStatus.unhurried | {
        "conductorServiceReadyCount",
        "metadataServiceReadyCount",
        "noVNCProxyServiceReadyCount",
        "novaComputesStatus",
        "scaledByHand",
    }

    conductorServiceReadyCount: Annotated[int, describe("How many conductors are ready.")] = 0
    metadataServiceReadyCount: Annotated[int, describe("How many pods of the metadata service are ready.")] = 0
    noVNCProxyServiceReadyCount: Annotated[int, describe("How many noVNC proxies are ready.")] = 0
    novaComputesStatus: Annotated[dict[str, NovaComputeState], describe("The computes, by name.")] = {}
    scaledByHand: Annotated[
        dict[str, int],
        describe("StatefulSets that somebody scales by hand, with how many of their pods are ready."),
    ] = {}


class NovaCell(CustomResource, frozen=True, kw_only=True):
    """A cell of Nova, with a database and a message bus of its own."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "NovaCell", "novacells")
    definition: ClassVar[Definition] = shown(CELL)
    conditions: ClassVar[tuple[str, ...]] = (
        "InputReady",
        "NovaConductorReady",
        "NovaMetadataReady",
        "NovaNoVNCProxyReady",
        "NovaComputeServiceConfigReady",
        "NovaAllControlPlaneComputesReady",
    )

    spec: NovaCellSpec
    status: NovaCellStatus = NovaCellStatus()

    def declared_conditions(self) -> tuple[str, ...]:
        """Return the conditions of what the cell has."""
        spec, missing = self.spec, set()
        if not spec.metadataServiceTemplate.enabled:
            missing.add("NovaMetadataReady")
        if not has_novncproxy(spec.cellName, spec.noVNCProxyServiceTemplate):
            missing.add("NovaNoVNCProxyReady")
        if spec.cellName == CELL0:
            missing |= {"NovaComputeServiceConfigReady", "NovaAllControlPlaneComputesReady"}
        return tuple(name for name in self.conditions if name not in missing)


def has_novncproxy(cell: str, template: NovaNoVNCProxyTemplate) -> bool:
    """Return whether a cell has a noVNC proxy: each has one but cell0."""
    return cell != CELL0 if template.enabled is None else template.enabled


def compute_name(cell: str, compute: str) -> str:
    """Return the name of the resource of a compute; `cell` is the name of the NovaCell."""
    return f"{cell}-{compute}-compute"

"""What every service takes and reports: its template, user directed actions, credentials, the broker."""

from typing import Annotated, ClassVar, Literal

from stackwright.api.base import (
    CompositeStatus,
    CustomResource,
    Value,
    atomic,
    describe,
    list_map,
    max_items,
    max_length,
    maximum,
    min_length,
    minimum,
    pattern,
    string_format,
)
from stackwright.api.charts import Chart
from stackwright.api.forms import ImageReference, ObjectName, OptionalName
from stackwright.api.pods import PodOverride, PodTemplate, TopologyRef
from stackwright.api.start import KollaConfig
from stackwright.api.topology import READY, find_references
from stackwright.kube.object_memory import ObjectMemory

ContainerImage = Annotated[
    ImageReference,
    describe("The image that the pods run. If absent or empty, the image of the release's image manifest."),
]


class Action(Value, frozen=True, kw_only=True):
    """Something that an operator should do once."""

    name: Annotated[
        str,
        min_length(1),
        max_length(63),
        pattern(r"^[a-z]([-a-z0-9]*[a-z0-9])?$"),
        describe("What to do: restart, sync-database, or an action that the service declares."),
    ]
    id: Annotated[
        str,
        min_length(1),
        max_length(63),
        describe("A word of your choice, such as a date or a ticket. An action runs once for each id."),
    ]


Actions = Annotated[
    tuple[Action, ...],
    list_map("id"),
    max_items(32),
    describe("Actions that the operator runs once, in addition to keeping the service as described here."),
]


class ActionStatus(Value, frozen=True, kw_only=True):
    """The state or the result of an action."""

    name: Annotated[str, describe("The action that was requested.")]
    id: Annotated[str, describe("The id of the request.")]
    state: Annotated[str, describe("Pending, Running, Succeeded or Failed.")] = ""
    startTime: Annotated[str | None, string_format("date-time"), describe("When it started.")] = None
    completionTime: Annotated[str | None, string_format("date-time"), describe("When it ended.")] = None
    result: Annotated[str, describe("The result, as a sentence.")] = ""
    log: Annotated[str, describe("The last lines of its log.")] = ""


ActionStatuses = Annotated[
    tuple[ActionStatus, ...], list_map("id"), describe("The actions that were requested, and their results.")
]

Provisioning = Annotated[
    Literal["InProcess", "Job"],
    describe(
        "Who creates the database, users and roles: the operator itself (InProcess), or Jobs of the service's"
        " chart (Job)."
    ),
]

DefaultConfigOverwrite = Annotated[
    dict[str, str],
    describe(
        "Whole files for the service's configuration directory, by file name (policy.yaml, api-paste.ini, …)."
        " They replace files of ours."
    ),
]


SnippetSecrets = Annotated[
    tuple[ObjectName, ...],
    atomic,
    max_items(32),
    describe(
        "Secrets whose values are further snippets, read after customServiceConfig. Use them for the "
        "passwords of a store."
    ),
]


# How many pods a component has at most.
MOST_REPLICAS = 32


class ServiceTemplate(PodTemplate, frozen=True, kw_only=True):
    """What a user may set for each component of a service: how many pods, which configuration, which networks."""

    replicas: Annotated[
        int, minimum(0), maximum(MOST_REPLICAS), describe("How many pods run; 0 stops the service and keeps its data.")
    ] = 1
    customServiceConfig: Annotated[
        str,
        describe(
            "A snippet in the format of the service's own configuration files. It is read after our own "
            "settings, so it wins."
        ),
    ] = ""
    networkAttachments: Annotated[
        tuple[str, ...], atomic, describe("Names of NetworkAttachmentDefinitions; the pods join these networks too.")
    ] = ()
    kollaConfig: Annotated[
        KollaConfig | None,
        describe("The component's own config.json, which is merged into ours, key by key."),
    ] = None
    override: PodOverride = PodOverride()


class ServiceSpec(ServiceTemplate, frozen=True, kw_only=True):
    """The fields of every kind of OpenStack service, in addition to its own."""

    secret: Annotated[
        ObjectName,
        describe("The Secret with the service's passwords, under the keys that passwordSelectors names."),
    ]
    containerImage: ContainerImage = ""
    chart: Chart = None
    defaultConfigOverwrite: DefaultConfigOverwrite = {}
    provisioning: Provisioning = "InProcess"
    preserveJobs: Annotated[
        bool,
        describe(
            "Whether finished Jobs are kept. The last Job of each kind is always kept until another one "
            "replaces it, because starting pods look there to see whether the schema exists."
        ),
    ] = False
    actions: Actions = ()


class InfrastructureSpec(PodTemplate, frozen=True, kw_only=True):
    """The fields of every kind of database, broker or cache, in addition to its own."""

    containerImage: ContainerImage = ""
    chart: Chart = None
    actions: Actions = ()


class PasswordSelector(Value, frozen=True, kw_only=True):
    """The keys of the Secret that hold the service's passwords; each service has its own defaults."""

    service: Annotated[str, describe("The key of the password of the service's user.")] = ""


class ServiceAuth(Value, frozen=True, kw_only=True):
    """How a service's user logs in, if not with its password."""

    applicationCredentialSecret: Annotated[
        OptionalName, describe("The Secret with an application credential. Not supported yet.")
    ] = ""


class RabbitMqConfig(Value, frozen=True, kw_only=True):
    """A message broker and how to log in to it."""

    cluster: Annotated[ObjectName, describe("The name of the RabbitMq resource.")]
    user: Annotated[str, describe("The user; empty for one of the service's own, named after its TransportURL.")] = ""
    vhost: Annotated[str, describe("The virtual host; empty for the broker's default one.")] = ""


class KnownAddress(Value, frozen=True, kw_only=True):
    """How clients know a Service, outside the cluster and inside."""

    nodePorts: Annotated[dict[str, int], describe("The ports on every node, by the names of the Service's ports.")] = {}
    address: Annotated[str, describe("The address that the load balancer assigned.")] = ""
    clusterIPs: Annotated[
        tuple[str, ...], atomic, describe("The addresses inside the cluster; none if the Service has none.")
    ] = ()


class WorkloadStatus(CompositeStatus, frozen=True, kw_only=True):
    """The status of every kind that runs pods."""

    # A service that was Ready leaves it when a digest changes, and then everything is written at once. Addresses are
    # read from the Services in each pass, and nobody was told those of a service that is not Ready yet.
    unhurried: ClassVar[frozenset[str]] = frozenset({"readyCount", "hash", "addresses"})

    readyCount: Annotated[int, describe("How many pods are ready.")] = 0
    chart: Annotated[str, describe("The source of the chart that was rendered last; empty if it is ours.")] = ""
    hash: Annotated[dict[str, str], describe("Hashes of what was last rolled out and applied, by topic.")] = {}
    lastAppliedTopology: Annotated[TopologyRef | None, describe("The Topology that the pods were created with.")] = None
    addresses: Annotated[
        dict[str, KnownAddress],
        describe(
            "The ports and addresses under which clients know each Service; they are requested again if "
            "the Service has to be recreated."
        ),
    ] = {}
    actions: ActionStatuses = ()


class ServiceStatus(WorkloadStatus, frozen=True, kw_only=True):
    """The status of every OpenStack service."""

    networkAttachments: Annotated[
        dict[str, tuple[str, ...]], describe("The addresses of the pods on each attached network.")
    ] = {}


# Each condition that is reported asks for all that there are.
_refers = ObjectMemory[bool]()


class ServiceResource(CustomResource, frozen=True, kw_only=True):
    """The base of every kind that runs pods: one that refers to a Topology says whether that is there."""

    def declared_conditions(self) -> tuple[str, ...]:
        """Return the types of this resource's conditions."""
        spec = getattr(self, "spec", None)
        refers = _refers.recall(spec, lambda: any(find_references("spec", spec)))
        return (READY, *self.conditions) if refers else self.conditions

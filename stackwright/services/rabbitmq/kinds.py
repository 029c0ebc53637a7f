"""The kind of a message broker."""

from typing import Annotated, ClassVar, Literal

from stackwright.api.base import (
    INT32,
    VERSION,
    Column,
    CustomResource,
    Definition,
    JsonObject,
    Kind,
    Rule,
    Value,
    atomic,
    deprecated,
    describe,
    free_form,
    immutable,
    max_items,
    max_length,
    maximum,
    min_length,
    minimum,
    pattern,
    rule,
    shown,
)
from stackwright.api.embedded import embedded
from stackwright.api.embedded.pods import Toleration
from stackwright.api.embedded.services import ServiceSpec
from stackwright.api.exposure import EmbeddedMetadata, ServiceOverride
from stackwright.api.forms import Form, Labels, ObjectName, OptionalName
from stackwright.api.naming import STATEFUL_NAME
from stackwright.api.pods import ResourceRequirements
from stackwright.api.rabbitmq import GROUP, PORT
from stackwright.api.service import InfrastructureSpec, ServiceResource, WorkloadStatus
from stackwright.api.storage import StorageQuantity
from stackwright.api.topology import Affinity

_Plugin = Annotated[str, pattern(r"^\w+$"), max_length(100)]


class Persistence(Value, frozen=True, kw_only=True):
    """The volume of each node."""

    storageClassName: Annotated[
        str | None,
        immutable("volumes cannot change their StorageClass; create another RabbitMq"),
        describe("The StorageClass of the volumes. If absent, the cluster's default."),
    ] = None
    storage: Annotated[
        StorageQuantity, describe("The size of each node's volume. It can grow if the StorageClass allows that.")
    ] = "10Gi"


class Configuration(Value, frozen=True, kw_only=True):
    """Configuration in the broker's own formats; it is read after the generated configuration."""

    additionalConfig: Annotated[str, max_length(100000), describe("Lines for rabbitmq.conf.")] = ""
    advancedConfig: Annotated[str, max_length(100000), describe("The file advanced.config, in Erlang terms.")] = ""
    envConfig: Annotated[str, max_length(100000), describe("Lines for rabbitmq-env.conf.")] = ""
    erlangInetConfig: Annotated[str, max_length(2000), describe("The file erl_inetrc: how Erlang finds hosts.")] = ""
    additionalPlugins: Annotated[
        tuple[_Plugin, ...], atomic, max_items(100), describe("Plugins to enable in addition to those that we need.")
    ] = ()


class BrokerTls(Value, frozen=True, kw_only=True):
    """The certificate of the broker, and the authority that it trusts."""

    secretName: Annotated[OptionalName, describe("The Secret with the broker's tls.crt and tls.key.")] = ""
    caSecretName: Annotated[
        OptionalName, describe("The Secret with the certificate authority for clients' certificates, as ca.crt.")
    ] = ""
    disableNonTLSListeners: Annotated[bool, describe("Whether the broker refuses all connections without TLS.")] = False


class BrokerServiceOverride(Value, frozen=True, kw_only=True):
    """Overrides of the broker's Kubernetes Service."""

    metadata: Annotated[EmbeddedMetadata | None, describe("Labels and annotations to add to the Service.")] = None
    spec: Annotated[JsonObject, free_form, embedded(ServiceSpec), describe("Fields of a Service's spec to set.")] = {}


class BrokerOverride(Value, frozen=True, kw_only=True):
    """Overrides of what we generate for the broker."""

    service: Annotated[BrokerServiceOverride | None, describe("Overrides of the broker's Service.")] = None
    statefulSet: Annotated[
        JsonObject,
        free_form,
        deprecated("use the fields beside this one."),
        describe("Overrides of the broker's StatefulSet."),
    ] = {}


class NodeServices(Value, frozen=True, kw_only=True):
    """A Kubernetes Service for each node, for clients outside the cluster."""

    services: Annotated[
        tuple[ServiceOverride, ...], atomic, describe("One entry for each node: how its Service is reached.")
    ] = ()


class ServiceOptions(Value, frozen=True, kw_only=True):
    """The former way to set fields of the broker's Service."""

    type: Annotated[Literal["ClusterIP", "LoadBalancer", "NodePort"], describe("How the Service is reached.")] = (
        "ClusterIP"
    )
    annotations: Annotated[dict[str, str], Form.ANNOTATIONS, describe("Annotations to add.")] = {}
    labels: Annotated[Labels, describe("Labels to add.")] = {}
    ipFamilyPolicy: Annotated[
        Literal["SingleStack", "PreferDualStack", "RequireDualStack"] | None,
        describe("Whether the Service has an IPv4 address, an IPv6 address, or both."),
    ] = None


class BrokerExternal(Value, frozen=True, kw_only=True):
    """A RabbitMQ that already runs and is not deployed by us."""

    hostname: Annotated[
        str, min_length(1), max_length(253), describe("The host name or address under which clients reach it.")
    ]
    port: Annotated[int, minimum(1), maximum(65535), describe("The port on which it listens for AMQP.")] = PORT
    managementURL: Annotated[
        str,
        pattern(r"^https?://[^/@\s]+(/[^@\s]*)?$"),
        max_length(500),
        describe("The URL of its management API, such as http://rabbit.example.org:15672."),
    ]
    secret: Annotated[
        ObjectName,
        describe("The Secret with a user that has the tag administrator, under the keys username and password."),
    ]


_RESOURCES = ResourceRequirements(limits={"cpu": "2000m", "memory": "2Gi"}, requests={"cpu": "1000m", "memory": "2Gi"})


class RabbitMqSpec(InfrastructureSpec, frozen=True, kw_only=True):
    """How many nodes there are, their storage and their configuration; or an existing broker to use instead."""

    validations: ClassVar[tuple[Rule, ...]] = (
        rule(
            "has(self.external) == has(oldSelf.external)",
            message="a RabbitMq cannot change between external and deployed; create another one",
        ),
    )

    external: Annotated[BrokerExternal | None, describe("An existing broker to use; nothing is deployed then.")] = None
    replicas: Annotated[
        int,
        minimum(0),
        maximum(31),
        describe("How many nodes; 0 stops them. An even number survives no more losses than the odd one below it."),
    ] = 1
    queueType: Annotated[
        Literal["Quorum", "Mirrored", ""],
        describe(
            "How queues survive the loss of a node: replicated to a majority (Quorum). Mirrored means the same here, "
            "because RabbitMQ 4 has no mirrored queues."
        ),
    ] = "Quorum"
    resources: ResourceRequirements = _RESOURCES
    persistence: Persistence = Persistence()
    rabbitmq: Configuration = Configuration()
    tls: BrokerTls = BrokerTls()
    targetVersion: Annotated[
        str | None,
        pattern(r"^\d+\.\d+(\.\d+)?$"),
        describe("The version to upgrade to, such as 4.2. If absent, the version of the image."),
    ] = None
    override: BrokerOverride = BrokerOverride()
    podOverride: Annotated[
        NodeServices | None, describe("A Service for each node; the transport URL then names these.")
    ] = None
    affinity: Annotated[
        JsonObject, free_form, embedded(Affinity), describe("The pods' affinity, as in a pod's spec.")
    ] = {}
    tolerations: Annotated[
        tuple[Annotated[JsonObject, free_form, embedded(Toleration)], ...],
        atomic,
        describe("The pods' tolerations, as in a pod's spec."),
    ] = ()
    delayStartSeconds: Annotated[
        int,
        minimum(0),
        maximum(86400),
        describe("Seconds that a node waits before it starts, so that DNS knows its name by then."),
    ] = 30
    terminationGracePeriodSeconds: Annotated[
        int,
        minimum(0),
        INT32,
        describe("The maximum number of seconds for a node to hand over its queues before it is killed."),
    ] = 600
    skipPostDeploySteps: Annotated[
        bool, describe("Whether queues stay where they are after an update, instead of being rebalanced.")
    ] = False
    service: Annotated[
        ServiceOptions | None,
        deprecated("set override.service."),
        describe("How the broker's Service is reached."),
    ] = None
    secretBackend: Annotated[
        JsonObject,
        free_form,
        deprecated("nothing replaces it; the default user is always in a Secret."),
        describe("Where the default user's password comes from."),
    ] = {}


class SecretReference(Value, frozen=True, kw_only=True):
    """Names a Secret and its keys."""

    name: Annotated[str, describe("The name of the Secret.")] = ""
    namespace: Annotated[str, describe("The namespace of the Secret.")] = ""
    keys: Annotated[dict[str, str], describe("The keys in the Secret, by what they hold.")] = {}


class ServiceReference(Value, frozen=True, kw_only=True):
    """Names a Kubernetes Service."""

    name: Annotated[str, describe("The name of the Service.")] = ""
    namespace: Annotated[str, describe("The namespace of the Service.")] = ""


class DefaultUser(Value, frozen=True, kw_only=True):
    """Where the default user's name and password are, and where the broker is."""

    secretReference: Annotated[SecretReference | None, describe("The Secret with name and password.")] = None
    serviceReference: Annotated[ServiceReference | None, describe("The Service of the broker.")] = None


class RabbitMqStatus(WorkloadStatus, frozen=True, kw_only=True):
    """The state of the broker, and where to reach it."""

    queueType: Annotated[str, describe("The type of queues that the broker creates.")] = ""
    defaultUser: Annotated[DefaultUser | None, describe("Where the default user's credentials are.")] = None
    serviceHostnames: Annotated[
        tuple[str, ...], atomic, describe("The host names of the nodes' own Services, if they have any.")
    ] = ()
    hostnames: Annotated[tuple[str, ...], atomic, describe("The host names under which clients reach the nodes.")] = ()
    port: Annotated[int, describe("The port on which the nodes listen for AMQP.")] = 0
    outsideAddress: Annotated[
        str, describe("Where clients outside of the cluster reach the broker, as host:port; empty if they cannot.")
    ] = ""
    currentVersion: Annotated[str, describe("The version that runs.")] = ""
    upgradePhase: Annotated[str, describe("The progress of an upgrade; empty if there is none.")] = ""


class RabbitMq(ServiceResource, frozen=True, kw_only=True):
    """A message broker of one node, or of several that form a cluster. Deleting this resource keeps its volumes."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "RabbitMq", "rabbitmqs")
    definition: ClassVar[Definition] = shown(
        Column("Replicas", ".spec.replicas", "integer", priority=1, description="How many nodes were asked for"),
        Column("Version", ".status.currentVersion", priority=1, description="The version that runs"),
    )
    conditions: ClassVar[tuple[str, ...]] = (
        "TLSInputReady",
        "ServiceConfigReady",
        "ServiceAccountReady",
        "RoleReady",
        "RoleBindingReady",
        "CreateServiceReady",
        "ClusterAvailable",
        "DeploymentReady",
        "PDBReady",
    )
    validations: ClassVar[tuple[Rule, ...]] = (
        *STATEFUL_NAME,
        rule(
            "size(self.metadata.name) <= 45",
            message="metadata.name must have at most 45 characters, because the names of the pods are made from it",
        ),
    )

    spec: RabbitMqSpec = RabbitMqSpec()
    status: RabbitMqStatus = RabbitMqStatus()


KINDS: tuple[type[CustomResource], ...] = (RabbitMq,)

"""The kind of Barbican, and of the components in it."""

from typing import Annotated, ClassVar

from stackwright.api.base import (
    INT32,
    VERSION,
    Column,
    CustomResource,
    Definition,
    Kind,
    Value,
    describe,
    immutable,
    min_length,
    minimum,
    shown,
)
from stackwright.api.charts import Chart
from stackwright.api.exposure import ApiOverride, ApiTls
from stackwright.api.forms import AccountName, Labels, ObjectName
from stackwright.api.pods import TopologyRef
from stackwright.api.service import (
    Actions,
    ContainerImage,
    DefaultConfigOverwrite,
    Provisioning,
    RabbitMqConfig,
    ServiceAuth,
    ServiceStatus,
    ServiceTemplate,
)

GROUP = "barbican.openstack.org"


class BarbicanPasswords(Value, frozen=True, kw_only=True):
    """Under which keys of the Secret the password and the key stand."""

    service: Annotated[str, min_length(1), describe("The key of the password of Barbican's user.")] = "BarbicanPassword"
    simplecryptokek: Annotated[
        str,
        min_length(1),
        describe(
            "The key in that Secret of the encryption key for the projects' keys. Without it no stored "
            "secret can be read."
        ),
    ] = "BarbicanSimpleCryptoKEK"


class BarbicanAPITemplate(ServiceTemplate, frozen=True, kw_only=True):
    """The pods that serve the API."""

    apiTimeout: Annotated[int, minimum(10), INT32, describe("Seconds that a request may take.")] = 90
    override: ApiOverride = ApiOverride()
    tls: ApiTls = ApiTls()


class BarbicanWorkerTemplate(ServiceTemplate, frozen=True, kw_only=True):
    """The pods that carry out orders: they generate the keys that somebody asked for."""


class BarbicanSpec(Value, frozen=True, kw_only=True):
    """What all parts of Barbican share: the database, the broker, the user in Keystone, the key; and the parts."""

    secret: Annotated[ObjectName, describe("The Secret with the password of Barbican's user and the encryption key.")]
    databaseInstance: Annotated[
        ObjectName,
        immutable("Barbican cannot move to another database by name, because that would start an empty one"),
        describe("The Galera that holds Barbican's data."),
    ]
    databaseAccount: Annotated[
        AccountName,
        describe(
            "The MariaDBAccount that Barbican logs in with. Changing the name rotates the account without an outage."
        ),
    ] = "barbican"
    messagingBus: Annotated[
        RabbitMqConfig, describe("The broker through which the API passes orders to the workers; rabbitmq by default.")
    ] = RabbitMqConfig(cluster="rabbitmq")
    keystoneInstance: Annotated[
        ObjectName, describe("The KeystoneAPI that lists Barbican in its catalog and validates tokens.")
    ] = "keystone"
    serviceUser: Annotated[str, min_length(1), describe("The user that Barbican logs in to Keystone as.")] = "barbican"
    passwordSelectors: BarbicanPasswords = BarbicanPasswords()
    auth: ServiceAuth = ServiceAuth()
    customServiceConfig: Annotated[
        str, describe("A snippet for all components, in Barbican's own format. It is read after ours, so it wins.")
    ] = ""
    defaultConfigOverwrite: DefaultConfigOverwrite = {}
    barbicanAPI: BarbicanAPITemplate = BarbicanAPITemplate()
    barbicanWorker: BarbicanWorkerTemplate = BarbicanWorkerTemplate()
    nodeSelector: Annotated[
        Labels | None, describe("Labels of the nodes that run the pods, for components that select none.")
    ] = None
    topologyRef: Annotated[TopologyRef | None, describe("The Topology for components that name none.")] = None
    containerImage: ContainerImage = ""
    chart: Chart = None
    provisioning: Provisioning = "InProcess"
    preserveJobs: Annotated[bool, describe("Whether finished Jobs are kept; the last of each kind is always kept.")] = (
        False
    )
    actions: Actions = ()


class BarbicanStatus(ServiceStatus, frozen=True, kw_only=True):
    """How far Barbican is, and where it is."""

    unhurried: ClassVar[frozenset[str]] = ServiceStatus.unhurried | {"databaseHostname", "transportURLSecret"}

    apiEndpoints: Annotated[dict[str, str], describe("The URLs of the endpoints: public, internal.")] = {}
    databaseHostname: Annotated[str, describe("The host of the database.")] = ""
    transportURLSecret: Annotated[str, describe("The Secret with the login to the broker.")] = ""


class Barbican(CustomResource, frozen=True, kw_only=True):
    """Barbican keeps secrets of users and services. Deleting this resource keeps the database and the key."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "Barbican", "barbicans")
    definition: ClassVar[Definition] = shown(
        Column("Endpoint", ".status.apiEndpoints.public", priority=1, description="The public URL"),
    )
    conditions: ClassVar[tuple[str, ...]] = (
        "InputReady",
        "MariaDBAccountReady",
        "DBReady",
        "RabbitMqTransportURLReady",
        "TLSInputReady",
        "ServiceConfigReady",
        "NetworkAttachmentsReady",
        "DBSyncReady",
        "CreateServiceReady",
        "KeystoneServiceReady",
        "KeystoneEndpointReady",
        "DeploymentReady",
    )

    spec: BarbicanSpec
    status: BarbicanStatus = BarbicanStatus()


KINDS: tuple[type[CustomResource], ...] = (Barbican,)

"""The kind of Barbican, and of the components in it."""

from typing import Annotated, ClassVar, Literal

from stackwright.api.base import (
    INT32,
    VERSION,
    Column,
    CustomResource,
    Definition,
    JsonObject,
    Kind,
    Value,
    deprecated,
    describe,
    free_form,
    immutable,
    list_set,
    max_items,
    max_length,
    min_length,
    minimum,
    pattern,
    shown,
)
from stackwright.api.charts import Chart
from stackwright.api.exposure import ApiOverride, ApiTls
from stackwright.api.forms import OPTIONAL_NAME, AccountName, Labels, ObjectName, OptionalName, UserName
from stackwright.api.pods import ExtraMountsList, TopologyRef
from stackwright.api.service import (
    Actions,
    ContainerImage,
    DefaultConfigOverwrite,
    Provisioning,
    RabbitMqConfig,
    ServiceAuth,
    ServiceResource,
    ServiceStatus,
    ServiceTemplate,
    SnippetSecrets,
)

GROUP = "barbican.openstack.org"


class BarbicanPasswords(Value, frozen=True, kw_only=True):
    """The keys of the Secret under which the password and the encryption keys are stored."""

    service: Annotated[str, min_length(1), describe("The key of the password of Barbican's user.")] = "BarbicanPassword"
    simplecryptokek: Annotated[
        str,
        min_length(1),
        describe(
            "The key under which the Secret has the encryption key for the projects' keys. If that encryption key is "
            "lost, no stored secret can be read."
        ),
    ] = "BarbicanSimpleCryptoKEK"
    simplecryptoadditionalkeks: Annotated[
        tuple[str, ...],
        list_set,
        max_items(16),
        describe("The keys under which the Secret has earlier encryption keys. What they encrypted can still be read."),
    ] = ()
    pkcs11pin: Annotated[str, describe("The key of the PIN of a hardware security module. Not supported yet.")] = (
        "PKCS11Pin"
    )


class BarbicanComponent(ServiceTemplate, frozen=True, kw_only=True):
    """Settings of one component; if a field is absent, that of the whole Barbican applies."""

    containerImage: ContainerImage = ""
    customServiceConfigSecrets: SnippetSecrets = ()
    defaultConfigOverwrite: DefaultConfigOverwrite = {}
    extraMounts: ExtraMountsList = ()


class BarbicanAPITemplate(BarbicanComponent, frozen=True, kw_only=True):
    """The pods that serve the API."""

    apiTimeout: Annotated[
        int | None,
        minimum(0),
        INT32,
        describe("Seconds that a request may take; if 0 or absent, Barbican's own apiTimeout."),
    ] = None
    enableSecureRBAC: Annotated[
        bool, describe("Whether the newer default policies apply: scopes, and the roles reader, member and admin.")
    ] = True
    override: ApiOverride = ApiOverride()
    tls: ApiTls = ApiTls()


class BarbicanWorkerTemplate(BarbicanComponent, frozen=True, kw_only=True):
    """The pods that carry out orders: they generate the keys that users order."""


class BarbicanKeystoneListenerTemplate(BarbicanComponent, frozen=True, kw_only=True):
    """The pods that listen to Keystone, and delete what deleted projects had stored."""


class BarbicanSpec(Value, frozen=True, kw_only=True):
    """What all components of Barbican share (database, broker, user in Keystone, the key), and the components."""

    secret: Annotated[
        ObjectName, describe("The Secret with the password of Barbican's user and the encryption key.")
    ] = "osp-secret"  # noqa: S105  the name of a Secret
    simpleCryptoBackendSecret: Annotated[
        str,
        max_length(253),
        pattern(OPTIONAL_NAME),
        describe("The Secret with the encryption keys, if it is not the one that secret names."),
    ] = ""
    enabledSecretStores: Annotated[
        tuple[Literal["simple_crypto", "pkcs11"], ...],
        list_set,
        max_items(2),
        describe("The secret stores, which encrypt secrets. Only simple_crypto works; pkcs11 is not supported yet."),
    ] = ()
    globalDefaultSecretStore: Annotated[
        Literal["simple_crypto", "pkcs11"],
        describe("The secret store of projects that have not chosen one. pkcs11 is not supported yet."),
    ] = "simple_crypto"
    pkcs11: Annotated[
        JsonObject, free_form, describe("A hardware security module. Not supported yet: refused unless it is empty.")
    ] = {}
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
        RabbitMqConfig | None,
        describe("The broker through which the API passes orders to the workers; rabbitmq by default."),
    ] = None
    rabbitMqClusterName: Annotated[
        str | None,
        max_length(253),
        pattern(OPTIONAL_NAME),
        deprecated("set messagingBus.cluster, which wins if both are set."),
        describe("The name of the RabbitMq resource."),
    ] = None
    notificationsBus: Annotated[
        RabbitMqConfig | None,
        describe("The broker from which the listener gets Keystone's notifications; messagingBus by default."),
    ] = None
    keystoneInstance: Annotated[
        ObjectName, describe("The KeystoneAPI that lists Barbican in its catalog and validates tokens.")
    ] = "keystone"
    serviceUser: Annotated[UserName, describe("The user that Barbican logs in to Keystone as.")] = "barbican"
    passwordSelectors: BarbicanPasswords = BarbicanPasswords()
    auth: ServiceAuth = ServiceAuth()
    customServiceConfig: Annotated[
        str, describe("A snippet for all components, in Barbican's own format. It is read after ours, so it wins.")
    ] = ""
    defaultConfigOverwrite: DefaultConfigOverwrite = {}
    apiTimeout: Annotated[int, minimum(10), INT32, describe("Seconds that a request may take.")] = 90
    barbicanAPI: BarbicanAPITemplate = BarbicanAPITemplate()
    barbicanWorker: BarbicanWorkerTemplate = BarbicanWorkerTemplate()
    barbicanKeystoneListener: Annotated[
        BarbicanKeystoneListenerTemplate | None,
        describe(
            "The listener for Keystone's notifications. If absent, there is none, and what a project stored is kept "
            "after the project is deleted."
        ),
    ] = None
    serviceAccount: Annotated[
        OptionalName, describe("Has no effect: the pods have a ServiceAccount with the name of this resource.")
    ] = ""
    extraMounts: ExtraMountsList = ()
    nodeSelector: Annotated[
        Labels | None, describe("Labels of the nodes that run the pods, for components without a nodeSelector.")
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
    """The state of Barbican, and where to reach it."""

    unhurried: ClassVar[frozenset[str]] = ServiceStatus.unhurried | {"databaseHostname", "transportURLSecret"}

    apiEndpoints: Annotated[dict[str, str], describe("The URLs of the endpoints: public, internal.")] = {}
    databaseHostname: Annotated[str, describe("The host of the database.")] = ""
    transportURLSecret: Annotated[str, describe("The Secret with the login to the broker.")] = ""


class Barbican(ServiceResource, frozen=True, kw_only=True):
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
        "NotificationBusInstanceReady",
        "TLSInputReady",
        "ServiceConfigReady",
        "NetworkAttachmentsReady",
        "ServiceAccountReady",
        "DBSyncReady",
        "CreateServiceReady",
        "KeystoneServiceReady",
        "KeystoneEndpointReady",
        "DeploymentReady",
        "BarbicanAPIReady",
        "BarbicanWorkerReady",
        "BarbicanKeystoneListenerReady",
    )

    spec: BarbicanSpec
    status: BarbicanStatus = BarbicanStatus()


KINDS: tuple[type[CustomResource], ...] = (Barbican,)

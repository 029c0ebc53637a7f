"""The kind of Glance, and of the APIs in it."""

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
    deprecated,
    describe,
    free_form,
    immutable,
    max_length,
    max_properties,
    maximum,
    min_length,
    minimum,
    pattern,
    rule,
    shown,
)
from stackwright.api.charts import Chart
from stackwright.api.exposure import ApiOverride, ApiTls
from stackwright.api.forms import OPTIONAL_NAME, AccountName, Labels, ObjectName, Schedule, UserName
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
from stackwright.api.storage import StorageRequest

GROUP = "glance.openstack.org"
DEFAULT = "default"


class GlancePasswords(Value, frozen=True, kw_only=True):
    """The keys of the Secret under which the passwords are stored."""

    service: Annotated[str, min_length(1), describe("The key of the password of Glance's user.")] = "GlancePassword"


class GlanceStorage(Value, frozen=True, kw_only=True):
    """Where images are kept; if an API leaves a field out, that of the whole Glance applies."""

    storageClass: Annotated[str | None, describe("The StorageClass of the volumes for images.")] = None
    storageRequest: Annotated[
        StorageRequest | None,
        describe("The size of each API's volume; 10G by default. It can grow if the StorageClass allows that."),
    ] = None
    accessMode: Annotated[
        Literal["ReadWriteOnce", "ReadWriteMany"] | None,
        describe(
            "ReadWriteMany is for a volume that several nodes write to at once; it is required for more than "
            "one replica. With ReadWriteOnce, the default, all pods of an API run on one node."
        ),
    ] = None
    external: Annotated[
        bool | None,
        describe(
            "Whether images are in an external store, which customServiceConfig configures. No volume is created then."
        ),
    ] = None


class GlanceAPITemplate(ServiceTemplate, frozen=True, kw_only=True):
    """A set of pods with its own store; if a field is absent, that of the whole Glance applies."""

    type: Annotated[
        Literal["split", "single", "edge"],
        describe(
            "split: pods for clients, which do not show where images are stored, and separate pods for services,"
            " which do. single: the same pods for both. edge: the same pods for both, and not in the catalog."
        ),
    ] = "split"
    storage: GlanceStorage = GlanceStorage()
    containerImage: ContainerImage = ""
    customServiceConfigSecrets: SnippetSecrets = ()
    defaultConfigOverwrite: DefaultConfigOverwrite = {}
    apiTimeout: Annotated[
        int | None,
        minimum(0),
        INT32,
        describe("Seconds that a client may be silent; if 0 or absent, Glance's own apiTimeout."),
    ] = None
    override: ApiOverride = ApiOverride()
    extraMounts: ExtraMountsList = ()
    tls: ApiTls = ApiTls()
    auth: ServiceAuth = ServiceAuth()
    imageCache: Annotated[JsonObject, free_form, describe("Not supported yet: refused if it has a size.")] = {}


class GlanceDbPurge(Value, frozen=True, kw_only=True):
    """When the rows of deleted images are removed from the database."""

    age: Annotated[
        int, minimum(1), maximum(20000), describe("Days after which the row of a deleted image is removed.")
    ] = 30
    schedule: Annotated[Schedule, describe("When the rows are removed, as a cron expression.")] = "1 0 * * *"


_SEVERAL = rule(
    "!has(self.glanceAPIs) || size(self.glanceAPIs) < 2 || (has(self.keystoneEndpoint) && self.keystoneEndpoint != '')",
    message="there are several glanceAPIs; say in keystoneEndpoint which of them is registered in Keystone",
    field_path=".keystoneEndpoint",
    reason="FieldValueRequired",
)
_KNOWN = rule(
    "!has(self.keystoneEndpoint) || self.keystoneEndpoint == '' || (has(self.glanceAPIs) && size(self.glanceAPIs) > 0"
    " ? self.keystoneEndpoint in self.glanceAPIs : self.keystoneEndpoint == 'default')",
    message="keystoneEndpoint names none of the glanceAPIs; use the name of one of them",
    field_path=".keystoneEndpoint",
)


class GlanceSpec(Value, frozen=True, kw_only=True):
    """What all APIs of Glance share (database, user in Keystone, configuration, storage), and the APIs."""

    validations: ClassVar[tuple[Rule, ...]] = (_SEVERAL, _KNOWN)

    secret: Annotated[ObjectName, describe("The Secret with the password of Glance's user.")]
    databaseInstance: Annotated[
        ObjectName,
        immutable("Glance cannot move to another database by name, because that would start an empty one"),
        describe("The Galera that holds Glance's data."),
    ]
    databaseAccount: Annotated[
        AccountName,
        describe(
            "The MariaDBAccount that Glance logs in with. Changing the name rotates the account without an outage."
        ),
    ] = "glance"
    memcachedInstance: Annotated[ObjectName, describe("The Memcached that caches tokens.")] = "memcached"
    keystoneInstance: Annotated[
        ObjectName, describe("The KeystoneAPI that lists Glance in its catalog and validates tokens.")
    ] = "keystone"
    serviceUser: Annotated[UserName, describe("The user that Glance logs in to Keystone as.")] = "glance"
    passwordSelectors: GlancePasswords = GlancePasswords()
    glanceAPIs: Annotated[
        dict[str, GlanceAPITemplate],
        max_properties(16),
        rule(
            "self.all(name, name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && size(name) <= 50)",
            message="the name of an API must be a DNS label: at most 50 lower case letters, digits and dashes",
        ),
        describe("The APIs by name, each with its own store. By default one, called default."),
    ] = {}
    keystoneEndpoint: Annotated[
        str,
        max_length(50),
        describe("Which of glanceAPIs is registered in Keystone. If there is only one, it is the default."),
    ] = ""
    storage: GlanceStorage = GlanceStorage()
    customServiceConfig: Annotated[
        str, describe("A snippet for all APIs, in Glance's own format. It is read after our own settings, so it wins.")
    ] = ""
    customServiceConfigSecrets: SnippetSecrets = ()
    defaultConfigOverwrite: DefaultConfigOverwrite = {}
    apiTimeout: Annotated[int, minimum(1), INT32, describe("Seconds that a client may be silent in a transfer.")] = 60
    dbPurge: GlanceDbPurge = GlanceDbPurge()
    notificationsBus: Annotated[
        RabbitMqConfig | None, describe("The broker for notifications. If absent, Glance sends none.")
    ] = None
    notificationBusInstance: Annotated[
        str | None,
        max_length(253),
        pattern(OPTIONAL_NAME),
        deprecated("set notificationsBus.cluster, which wins if both are set."),
        describe("The name of the RabbitMq resource for notifications; empty for none."),
    ] = None
    nodeSelector: Annotated[
        Labels | None, describe("Labels of the nodes that run the pods, for APIs without a nodeSelector.")
    ] = None
    topologyRef: Annotated[TopologyRef | None, describe("The Topology for APIs that name none.")] = None
    extraMounts: ExtraMountsList = ()
    containerImage: ContainerImage = ""
    chart: Chart = None
    provisioning: Provisioning = "InProcess"
    preserveJobs: Annotated[bool, describe("Whether finished Jobs are kept; the last of each kind is always kept.")] = (
        False
    )
    actions: Actions = ()
    imageCache: Annotated[JsonObject, free_form, describe("Not supported yet: refused if it has a size.")] = {}
    quotas: Annotated[JsonObject, free_form, describe("Not supported yet: refused unless all of them are 0.")] = {}


class GlanceStatus(ServiceStatus, frozen=True, kw_only=True):
    """The state of Glance, and where to reach it."""

    unhurried: ClassVar[frozenset[str]] = ServiceStatus.unhurried | {"databaseHostname", "glanceAPIReadyCounts"}

    apiEndpoint: Annotated[dict[str, str], describe("The URLs that are registered in Keystone: public, internal.")] = {}
    databaseHostname: Annotated[str, describe("The host of the database.")] = ""
    glanceAPIReadyCounts: Annotated[dict[str, int], describe("How many pods of each API are ready.")] = {}
    serviceID: Annotated[str, describe("The service's id in Keystone.")] = ""


class Glance(ServiceResource, frozen=True, kw_only=True):
    """Glance: the images that servers start from. Deleting this resource keeps images, volumes and database."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "Glance", "glances")
    definition: ClassVar[Definition] = shown(
        Column("Endpoint", ".status.apiEndpoint.public", priority=1, description="The public URL"),
    )
    conditions: ClassVar[tuple[str, ...]] = (
        "InputReady",
        "MariaDBAccountReady",
        "DBReady",
        "NotificationBusInstanceReady",
        "MemcachedReady",
        "TLSInputReady",
        "KeystoneServiceReady",
        "ServiceConfigReady",
        "NetworkAttachmentsReady",
        "ServiceAccountReady",
        "DBSyncReady",
        "CreateServiceReady",
        "KeystoneEndpointReady",
        "DeploymentReady",
        "GlanceAPIReady",
        "CronJobReady",
    )

    spec: GlanceSpec
    status: GlanceStatus = GlanceStatus()


KINDS: tuple[type[CustomResource], ...] = (Glance,)

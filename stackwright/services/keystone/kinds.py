"""The kind of Keystone itself."""

from typing import Annotated, ClassVar

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
    max_length,
    maximum,
    min_length,
    minimum,
    pattern,
    rule,
    shown,
)
from stackwright.api.exposure import ApiOverride, ApiTls
from stackwright.api.forms import OPTIONAL_NAME, AccountName, ObjectName, Schedule
from stackwright.api.keystone import GROUP
from stackwright.api.pods import ExtraMountsList
from stackwright.api.service import RabbitMqConfig, ServiceResource, ServiceSpec, ServiceStatus

REGION = "regionOne"


class KeystonePasswords(Value, frozen=True, kw_only=True):
    """The keys of the Secret under which the passwords are stored."""

    admin: Annotated[str, min_length(1), describe("The key of the administrator's password.")] = "AdminPassword"


class HttpdCustomization(Value, frozen=True, kw_only=True):
    """How the web server in front of Keystone is set up."""

    processNumber: Annotated[
        int, minimum(1), maximum(256), describe("How many processes serve requests in each pod.")
    ] = 3
    customConfigSecret: Annotated[
        str | None,
        max_length(253),
        pattern(OPTIONAL_NAME),
        describe("A Secret with snippets for the web server's configuration, one for each key."),
    ] = None


_EXTERNAL = rule(
    "!self.externalKeystoneAPI || (has(self.override) && has(self.override.service)"
    " && ['public', 'internal'].all(endpoint, endpoint in self.override.service"
    " && has(self.override.service[endpoint].endpointURL)"
    " && self.override.service[endpoint].endpointURL.matches('^https?://.+')))",
    message="a Keystone that runs elsewhere needs the URLs of both its endpoints: set endpointURL, beginning with "
    "http:// or https://, for public and for internal",
    field_path=".override",
    reason="FieldValueRequired",
)


class KeystoneAPISpec(ServiceSpec, frozen=True, kw_only=True):
    """How Keystone runs: its database and cache, its administrator, its keys, and how it is reached."""

    validations: ClassVar[tuple[Rule, ...]] = (_EXTERNAL,)

    databaseInstance: Annotated[
        ObjectName,
        immutable("Keystone cannot move to another database by name, because that would start an empty one"),
        describe("The Galera that holds Keystone's data."),
    ]
    databaseAccount: Annotated[
        AccountName,
        describe(
            "The MariaDBAccount that Keystone logs in with. Changing the name rotates the account without an outage."
        ),
    ] = "keystone"
    memcachedInstance: Annotated[ObjectName, describe("The Memcached that Keystone uses as its cache.")] = "memcached"
    region: Annotated[str, describe("The region that endpoints are registered in; empty for regionOne.")] = REGION
    adminProject: Annotated[str, min_length(1), describe("The administrator's project.")] = "admin"
    adminUser: Annotated[str, min_length(1), describe("The administrator's name.")] = "admin"
    passwordSelectors: KeystonePasswords = KeystonePasswords()
    enableSecureRBAC: Annotated[
        bool, describe("Whether the newer default policies apply: scopes, and the roles reader, member and admin.")
    ] = True
    apiTimeout: Annotated[int, minimum(10), INT32, describe("Seconds that a request may take.")] = 60
    fernetMaxActiveKeys: Annotated[
        int,
        minimum(3),
        describe("The maximum number of Fernet keys; more keys keep tokens valid for longer."),
    ] = 5
    fernetRotationDays: Annotated[int, minimum(1), describe("Days between two rotations of the Fernet keys.")] = 1
    trustFlushSchedule: Annotated[
        Schedule, describe("When expired trusts are removed from the database, as a cron expression.")
    ] = "1 * * * *"
    trustFlushArgs: Annotated[str, describe("Further arguments for keystone-manage trust_flush.")] = ""
    trustFlushSuspend: Annotated[bool, describe("Whether the removal of trusts is suspended.")] = False
    httpdCustomization: HttpdCustomization = HttpdCustomization()
    federatedRealmConfig: Annotated[
        str, describe("A Secret with the configuration of federated realms; required if there are several.")
    ] = ""
    notificationsBus: Annotated[
        RabbitMqConfig | None, describe("The broker for notifications. If absent, Keystone sends none.")
    ] = None
    rabbitMqClusterName: Annotated[
        str | None,
        max_length(253),
        pattern(OPTIONAL_NAME),
        deprecated("set notificationsBus.cluster, which wins if both are set."),
        describe("The name of the RabbitMq resource for notifications."),
    ] = None
    override: ApiOverride = ApiOverride()
    tls: ApiTls = ApiTls()
    extraMounts: ExtraMountsList = ()
    externalKeystoneAPI: Annotated[
        bool,
        immutable("a Keystone cannot change between deployed and external; create another KeystoneAPI"),
        describe(
            "Whether to use a Keystone that runs elsewhere: nothing is deployed or changed there, and "
            "override names its endpoints."
        ),
    ] = False

    @property
    def region_name(self) -> str:
        """The region that endpoints are registered in."""
        return self.region or REGION


class KeystoneAPIStatus(ServiceStatus, frozen=True, kw_only=True):
    """The state of Keystone, and where to reach it."""

    # Other services wait for `apiEndpoints`; the region is written with them.
    unhurried: ClassVar[frozenset[str]] = ServiceStatus.unhurried | {"region", "databaseHostname", "transportURLSecret"}

    apiEndpoints: Annotated[dict[str, str], describe("The URLs of the endpoints: public, internal.")] = {}
    region: Annotated[str, describe("The region that endpoints are registered in.")] = ""
    databaseHostname: Annotated[str, describe("The host of the database.")] = ""
    transportURLSecret: Annotated[str, describe("The Secret with the URL of the broker for notifications.")] = ""


class KeystoneAPI(ServiceResource, frozen=True, kw_only=True):
    """Keystone: users, projects, roles, tokens, and the catalog of all services."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "KeystoneAPI", "keystoneapis")
    definition: ClassVar[Definition] = shown(
        Column("Endpoint", ".status.apiEndpoints.public", priority=1, description="The public URL"),
        Column("NetworkAttachments", ".spec.networkAttachments", priority=1, description="Further networks"),
    )
    conditions: ClassVar[tuple[str, ...]] = (
        "InputReady",
        "MariaDBAccountReady",
        "DBReady",
        "RabbitMqTransportURLReady",
        "MemcachedReady",
        "TLSInputReady",
        "ServiceConfigReady",
        "NetworkAttachmentsReady",
        "ServiceAccountReady",
        "DBSyncReady",
        "CreateServiceReady",
        "BootstrapReady",
        "DeploymentReady",
        "CronJobReady",
    )

    spec: KeystoneAPISpec
    status: KeystoneAPIStatus = KeystoneAPIStatus()


KINDS: tuple[type[CustomResource], ...] = (KeystoneAPI,)

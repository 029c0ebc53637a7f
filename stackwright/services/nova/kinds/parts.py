"""What the kinds of Nova have in common: templates of components, and how a component reaches what it works with."""

from typing import Annotated, Literal

from stackwright.api.base import (
    INT32,
    Value,
    describe,
    max_length,
    max_properties,
    min_length,
    minimum,
    pattern,
)
from stackwright.api.exposure import ApiOverride, ApiTls, CaTls, Certificate, RoutedOverride, SimpleTls
from stackwright.api.forms import OPTIONAL_NAME, AccountName, Form, ObjectName, OptionalName, UserName
from stackwright.api.pods import PodOverride
from stackwright.api.service import DefaultConfigOverwrite, ServiceSpec, ServiceTemplate

GROUP = "nova.openstack.org"

ApiTimeout = Annotated[int, minimum(10), INT32, describe("Seconds that a request may take.")]
MemcachedInstance = Annotated[
    str, max_length(253), pattern(OPTIONAL_NAME), describe("The Memcached to use as a cache; empty for none.")
]
OptionalSecret = Annotated[str, max_length(253), pattern(OPTIONAL_NAME)]
IRONIC = "ironic.IronicDriver"
ComputeDriver = Annotated[
    Literal["ironic.IronicDriver", "fake.FakeDriver"],
    describe("What runs the servers. fake.FakeDriver only pretends to, for tests."),
]


class NovaDbPurge(Value, frozen=True, kw_only=True):
    """When rows of deleted servers leave a cell's database."""

    # The webhook says why it is none, in upstream's words; a rule of the schema would come first.
    schedule: Annotated[
        str, max_length(200), Form.CRON, describe("When rows are archived and purged, as a cron expression.")
    ] = "0 0 * * *"
    archiveAge: Annotated[
        int, minimum(1), INT32, describe("Days after which deleted rows move to the archive tables.")
    ] = 30
    purgeAge: Annotated[int, minimum(1), INT32, describe("Days after which archived rows are removed for good.")] = 90


class NovaPasswords(Value, frozen=True, kw_only=True):
    """Under which keys of the Secret the passwords stand."""

    service: Annotated[str, min_length(1), describe("The key of the password of Nova's user.")] = "NovaPassword"
    metadataSecret: Annotated[
        str, min_length(1), describe("The key of the secret that the metadata service shares with Neutron's agents.")
    ] = "MetadataSecret"
    prefixMetadataCellsSecret: Annotated[
        str,
        min_length(1),
        describe("Followed by the name of a cell, the key of the cell's own shared secret, if the Secret has it."),
    ] = "MetadataCellsSecret"


class NovaApiOverride(ApiOverride, frozen=True, kw_only=True):
    """Overrides of what we generate for Nova's API."""

    # The webhook names an endpoint that there is not, in upstream's words; a rule of the schema would come first.
    service: Annotated[
        dict[str, RoutedOverride],
        max_properties(8),
        describe("Overrides of the API's Services by endpoint: public, internal."),
    ] = {}


class MetadataOverride(PodOverride, frozen=True, kw_only=True):
    """Overrides of what we generate for the metadata service."""

    service: Annotated[
        RoutedOverride | None,
        describe("Overrides of its Service, and the URL at which machines outside of the cluster reach it."),
    ] = None


class NoVncProxyOverride(PodOverride, frozen=True, kw_only=True):
    """Overrides of what we generate for the noVNC proxy."""

    service: Annotated[RoutedOverride | None, describe("Overrides of its Service, and the URL that users open.")] = None


class NoVncProxyTls(CaTls, frozen=True, kw_only=True):
    """The certificates of the noVNC proxy, and which authorities it trusts."""

    service: Annotated[Certificate | None, describe("The certificate that browsers see.")] = None
    vencrypt: Annotated[Certificate | None, describe("The certificate that computes see.")] = None


# Templates: how many pods, which configuration, which networks.


class NovaAPITemplate(ServiceTemplate, frozen=True, kw_only=True):
    """The API."""

    defaultConfigOverwrite: DefaultConfigOverwrite = {}
    override: NovaApiOverride = NovaApiOverride()
    tls: ApiTls = ApiTls()


class NovaSchedulerTemplate(ServiceTemplate, frozen=True, kw_only=True):
    """The scheduler."""


class NovaConductorTemplate(ServiceTemplate, frozen=True, kw_only=True):
    """The conductors of a cell."""


class NovaMetadataTemplate(ServiceTemplate, frozen=True, kw_only=True):
    """The metadata service."""

    enabled: Annotated[
        bool | None,
        describe("Whether it runs here. It runs for all cells, or in each cell; the default is for all cells."),
    ] = None
    defaultConfigOverwrite: DefaultConfigOverwrite = {}
    override: MetadataOverride = MetadataOverride()
    tls: SimpleTls = SimpleTls()


class NovaNoVNCProxyTemplate(ServiceTemplate, frozen=True, kw_only=True):
    """The proxy between a browser and the console of a server."""

    enabled: Annotated[bool | None, describe("Whether it runs; by default in every cell but cell0.")] = None
    override: NoVncProxyOverride = NoVncProxyOverride()
    tls: NoVncProxyTls = NoVncProxyTls()


class NovaComputeTemplate(ServiceTemplate, frozen=True, kw_only=True):
    """A compute that runs in the cluster."""

    computeDriver: ComputeDriver
    defaultConfigOverwrite: DefaultConfigOverwrite = {}


# The specs of the services: each works alone, from Secrets.


class NovaServiceSpec(ServiceSpec, frozen=True, kw_only=True):
    """What every service of Nova works with: its user in Keystone, and the broker.

    Secret `secret` has ServicePassword, and, unless messagingSecret names another Secret, transport_url.
    """

    secret: Annotated[
        ObjectName,
        describe("The Secret with ServicePassword, and with the login to the broker unless messagingSecret is set."),
    ]
    keystoneAuthURL: Annotated[str, min_length(1), describe("Keystone's internal URL.")]
    serviceUser: Annotated[UserName, describe("The user that the service logs in to Keystone as.")] = "nova"
    region: Annotated[str, describe("The region in the catalog; empty for regionOne.")] = "regionOne"
    serviceAccount: Annotated[
        OptionalName, describe("Accepted for compatibility; the pods have an account of their own.")
    ] = ""
    messagingSecret: Annotated[
        OptionalSecret,
        describe(
            "The Secret with the login to the broker: transport_url, or hostname, user and password (and port, "
            "vhost, quorumqueues)."
        ),
    ] = ""
    tls: CaTls = CaTls()


# How a service reaches a database: a Secret has all of it, or, as upstream has it, a host name and a MariaDBAccount.
_KEYS = "hostname, port, database, user, password"
ApiDatabaseSecret = Annotated[OptionalSecret, describe(f"The Secret with the API's database: {_KEYS}.")]
ApiDatabaseHostname = Annotated[str, describe("Where the API's database is, if a MariaDBAccount has the login.")]
ApiDatabaseAccount = Annotated[AccountName, describe("The MariaDBAccount of the API's database.")]
CellDatabaseSecret = Annotated[OptionalSecret, describe(f"The Secret with the cell's database: {_KEYS}.")]
CellDatabaseHostname = Annotated[str, describe("Where the cell's database is, if a MariaDBAccount has the login.")]
CellDatabaseAccount = Annotated[AccountName, describe("The MariaDBAccount of the cell's database.")]

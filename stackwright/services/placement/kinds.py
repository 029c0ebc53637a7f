"""The kind of Placement."""

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
from stackwright.api.exposure import ApiOverride, ApiTls
from stackwright.api.forms import AccountName, ObjectName, UserName
from stackwright.api.service import ServiceAuth, ServiceResource, ServiceSpec, ServiceStatus

GROUP = "placement.openstack.org"


class PlacementPasswords(Value, frozen=True, kw_only=True):
    """The keys of the Secret under which the passwords are stored."""

    service: Annotated[str, min_length(1), describe("The key of the password of Placement's user.")] = (
        "PlacementPassword"
    )


class PlacementAPISpec(ServiceSpec, frozen=True, kw_only=True):
    """How Placement runs: its database, its user in Keystone, and how it is reached."""

    databaseInstance: Annotated[
        ObjectName,
        immutable("Placement cannot move to another database by name, because that would start an empty one"),
        describe("The Galera that holds Placement's data."),
    ]
    databaseAccount: Annotated[
        AccountName,
        describe(
            "The MariaDBAccount that Placement logs in with. Changing the name rotates the account without an outage."
        ),
    ] = "placement"
    keystoneInstance: Annotated[
        ObjectName, describe("The KeystoneAPI that lists Placement in its catalog and validates tokens.")
    ] = "keystone"
    serviceUser: Annotated[UserName, describe("The user that Placement logs in to Keystone as.")] = "placement"
    passwordSelectors: PlacementPasswords = PlacementPasswords()
    auth: ServiceAuth = ServiceAuth()
    apiTimeout: Annotated[int, minimum(10), INT32, describe("Seconds that a request may take.")] = 60
    override: ApiOverride = ApiOverride()
    tls: ApiTls = ApiTls()


class PlacementAPIStatus(ServiceStatus, frozen=True, kw_only=True):
    """The state of Placement, and where to reach it."""

    unhurried: ClassVar[frozenset[str]] = ServiceStatus.unhurried | {"databaseHostname"}

    apiEndpoints: Annotated[dict[str, str], describe("The URLs of the endpoints: public, internal.")] = {}
    databaseHostname: Annotated[str, describe("The host of the database.")] = ""


class PlacementAPI(ServiceResource, frozen=True, kw_only=True):
    """Placement: which resources exist, and who has claimed how much of them."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "PlacementAPI", "placementapis")
    definition: ClassVar[Definition] = shown(
        Column("Endpoint", ".status.apiEndpoints.public", priority=1, description="The public URL"),
        Column("NetworkAttachments", ".spec.networkAttachments", priority=1, description="Further networks"),
    )
    conditions: ClassVar[tuple[str, ...]] = (
        "InputReady",
        "MariaDBAccountReady",
        "DBReady",
        "TLSInputReady",
        "ServiceConfigReady",
        "NetworkAttachmentsReady",
        "ServiceAccountReady",
        "DBSyncReady",
        "CreateServiceReady",
        "KeystoneServiceReady",
        "KeystoneEndpointReady",
        "DeploymentReady",
    )

    spec: PlacementAPISpec
    status: PlacementAPIStatus = PlacementAPIStatus()


KINDS: tuple[type[CustomResource], ...] = (PlacementAPI,)

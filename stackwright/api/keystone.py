"""The kinds with which a service registers in Keystone: its service and user, and its endpoints."""

from typing import Annotated, ClassVar

from stackwright.api.base import (
    VERSION,
    Column,
    CustomResource,
    Definition,
    Kind,
    Status,
    Value,
    describe,
    immutable,
    keys,
    list_map,
    max_length,
    max_properties,
    min_length,
    pattern,
    shown,
    string_format,
)
from stackwright.api.forms import ObjectName, OptionalName, UserName

GROUP = "keystone.openstack.org"

_KeystoneInstance = Annotated[
    OptionalName, describe("The KeystoneAPI that it is registered with; empty for the only one of the namespace.")
]
_Registered = Annotated[str, describe("The KeystoneAPI that it is registered with.")]

_Url = Annotated[str, pattern(r"^https?://\S+$"), max_length(2048)]


class KeystoneServiceSpec(Value, frozen=True, kw_only=True):
    """The entry in the service catalog, and the user that the service logs in as."""

    serviceType: Annotated[str, min_length(1), describe("The type by which clients find it: image, compute and so on.")]
    serviceName: Annotated[
        str,
        min_length(1),
        immutable("a service of the catalog cannot be renamed; make another KeystoneService"),
        describe("The name of the service in the catalog; usually the name of this resource."),
    ]
    serviceDescription: Annotated[str, describe("A description of the service, for users of the catalog.")] = ""
    enabled: Annotated[bool, describe("Whether the catalog shows the service.")] = True
    serviceUser: Annotated[
        UserName, describe("The service's user, in project service with the roles admin and service.")
    ]
    secret: Annotated[
        ObjectName,
        describe("The Secret with the user's password. If you change the password there, it is changed in Keystone."),
    ]
    passwordSelector: Annotated[str, min_length(1), describe("The key of the password in that Secret.")]
    keystoneInstance: _KeystoneInstance = ""


class KeystoneServiceStatus(Status, frozen=True, kw_only=True):
    """What exists in Keystone."""

    serviceID: Annotated[str, describe("The service's id in Keystone.")] = ""
    userID: Annotated[str, describe("The user's id in Keystone.")] = ""
    keystoneInstance: _Registered = ""
    passwordChanged: Annotated[
        str | None, string_format("date-time"), describe("When the user's password was last changed in Keystone.")
    ] = None


class KeystoneService(CustomResource, frozen=True, kw_only=True):
    """A service in the catalog and the user that it logs in as. Both are deleted from Keystone with it."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "KeystoneService", "keystoneservices")
    definition: ClassVar[Definition] = shown(
        Column("Type", ".spec.serviceType", description="The type by which clients find the service"),
        Column("User", ".spec.serviceUser", priority=1, description="The user that the service logs in as"),
    )
    conditions: ClassVar[tuple[str, ...]] = (
        "KeystoneAPIReady",
        "AdminServiceClientReady",
        "KeystoneServiceOSServiceReady",
        "KeystoneServiceOSUserReady",
    )

    spec: KeystoneServiceSpec
    status: KeystoneServiceStatus = KeystoneServiceStatus()


class KeystoneEndpointSpec(Value, frozen=True, kw_only=True):
    """The URLs of a service in the catalog."""

    serviceName: Annotated[
        str,
        min_length(1),
        immutable("endpoints cannot move to another service; make another KeystoneEndpoint"),
        describe("The KeystoneService that the endpoints belong to."),
    ]
    endpoints: Annotated[
        dict[str, _Url],
        keys("public", "internal", "admin"),
        max_properties(3),
        describe(
            "The URLs by interface: public, internal. An interface that you remove here is removed from the catalog."
        ),
    ]
    keystoneInstance: _KeystoneInstance = ""


class RegisteredEndpoint(Value, frozen=True, kw_only=True):
    """One endpoint as Keystone has it."""

    interface: Annotated[str, describe("The interface: public or internal.")]
    url: Annotated[str, describe("The URL that clients get.")] = ""
    id: Annotated[str, describe("The endpoint's id in Keystone.")] = ""


class KeystoneEndpointStatus(Status, frozen=True, kw_only=True):
    """What exists in Keystone."""

    serviceID: Annotated[str, describe("The id in Keystone of the service that they belong to.")] = ""
    keystoneInstance: _Registered = ""
    endpointIDs: Annotated[dict[str, str], describe("The endpoints' ids by interface.")] = {}
    endpoints: Annotated[
        tuple[RegisteredEndpoint, ...], list_map("interface"), describe("The endpoints as Keystone has them.")
    ] = ()


class KeystoneEndpoint(CustomResource, frozen=True, kw_only=True):
    """The endpoints of one service in the catalog. What was created for them in Keystone is deleted with them."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "KeystoneEndpoint", "keystoneendpoints")
    definition: ClassVar[Definition] = shown(
        Column("Service", ".spec.serviceName", description="The KeystoneService that they belong to"),
        Column("Public", ".spec.endpoints.public", priority=1, description="The public URL"),
    )
    conditions: ClassVar[tuple[str, ...]] = (
        "KeystoneAPIReady",
        "AdminServiceClientReady",
        "KeystoneServiceOSEndpointsReady",
    )

    spec: KeystoneEndpointSpec
    status: KeystoneEndpointStatus = KeystoneEndpointStatus()


KINDS: tuple[type[CustomResource], ...] = (KeystoneService, KeystoneEndpoint)

"""The kind of Teapot."""

from typing import Annotated, ClassVar

from stackwright.api.base import VERSION, CustomResource, Definition, Kind, Value, describe, shown
from stackwright.api.exposure import ApiOverride, ApiTls
from stackwright.api.service import ServiceAuth, ServiceSpec, ServiceStatus


class TeapotPasswords(Value, frozen=True, kw_only=True):
    """Under which keys of the Secret the passwords stand."""

    service: Annotated[str, describe("The key of the password of Teapot's user.")] = "TeapotPassword"


class TeapotAPISpec(ServiceSpec, frozen=True, kw_only=True):
    """How Teapot runs."""

    databaseInstance: Annotated[str, describe("The Galera that holds the recipes.")]
    databaseAccount: Annotated[str, describe("The MariaDBAccount.")] = "teapot"
    keystoneInstance: Annotated[str, describe("The KeystoneAPI.")] = "keystone"
    serviceUser: Annotated[str, describe("The user in Keystone.")] = "teapot"
    passwordSelectors: TeapotPasswords = TeapotPasswords()
    auth: ServiceAuth = ServiceAuth()
    kettle: Annotated[str, describe("What the water is boiled in.")] = "copper"
    override: ApiOverride = ApiOverride()
    tls: ApiTls = ApiTls()


class TeapotAPIStatus(ServiceStatus, frozen=True, kw_only=True):
    """How far Teapot is, and where it is."""

    apiEndpoints: Annotated[dict[str, str], describe("The URLs of the endpoints: public, internal.")] = {}
    databaseHostname: Annotated[str, describe("The host of the database.")] = ""


class TeapotAPI(CustomResource, frozen=True, kw_only=True):
    """Teapot: tea for everybody."""

    kind: ClassVar[Kind] = Kind("teapot.openstack.org", VERSION, "TeapotAPI", "teapotapis")
    definition: ClassVar[Definition] = shown()
    conditions: ClassVar[tuple[str, ...]] = (
        "InputReady",
        "MariaDBAccountReady",
        "DBReady",
        "ServiceConfigReady",
        "DBSyncReady",
        "CreateServiceReady",
        "KeystoneServiceReady",
        "KeystoneEndpointReady",
        "DeploymentReady",
    )

    spec: TeapotAPISpec
    status: TeapotAPIStatus = TeapotAPIStatus()


KINDS: tuple[type[CustomResource], ...] = (TeapotAPI,)

"""The kinds of Teapot: the API, which stands for a map of cells, and a cell, which also works alone."""

from typing import Annotated, ClassVar

from stackwright.api.base import VERSION, CustomResource, Definition, Kind, Value, describe, minimum, shown
from stackwright.api.exposure import ApiOverride, ApiTls
from stackwright.api.service import RabbitMqConfig, ServiceAuth, ServiceSpec, ServiceStatus


class TeapotPasswords(Value, frozen=True, kw_only=True):
    """Under which keys of the Secret the passwords stand."""

    service: Annotated[str, describe("The key of the password of Teapot's user.")] = "TeapotPassword"


class TeapotCellTemplate(Value, frozen=True, kw_only=True):
    """A cell: cups of its own, with a database and a broker of its own."""

    databaseInstance: Annotated[str, describe("The Galera that holds the cell's cups.")] = "openstack"
    databaseAccount: Annotated[
        str, describe("The MariaDBAccount; if empty, one that is named after Teapot and the cell.")
    ] = ""
    messagingBus: Annotated[RabbitMqConfig, describe("The broker of the cell.")] = RabbitMqConfig(cluster="rabbitmq")
    memcachedInstance: Annotated[str, describe("The Memcached that keeps the cell's tea warm.")] = "memcached"
    replicas: Annotated[int, minimum(0), describe("How many brewers there are.")] = 1


class TeapotAPISpec(ServiceSpec, frozen=True, kw_only=True):
    """How Teapot runs."""

    databaseInstance: Annotated[str, describe("The Galera that holds the recipes.")]
    databaseAccount: Annotated[str, describe("The MariaDBAccount.")] = "teapot"
    keystoneInstance: Annotated[str, describe("The KeystoneAPI.")] = "keystone"
    serviceUser: Annotated[str, describe("The user in Keystone.")] = "teapot"
    passwordSelectors: TeapotPasswords = TeapotPasswords()
    auth: ServiceAuth = ServiceAuth()
    kettle: Annotated[str, describe("What the water is boiled in.")] = "copper"
    cells: Annotated[dict[str, TeapotCellTemplate], describe("The cells, by name.")] = {}
    override: ApiOverride = ApiOverride()
    tls: ApiTls = ApiTls()


class TeapotAPIStatus(ServiceStatus, frozen=True, kw_only=True):
    """The state of Teapot, and where to reach it."""

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
        "RabbitMqTransportURLReady",
        "ServiceConfigReady",
        "DBSyncReady",
        "MappingReady",
        "CreateServiceReady",
        "KeystoneServiceReady",
        "KeystoneEndpointReady",
        "DeploymentReady",
    )

    spec: TeapotAPISpec
    status: TeapotAPIStatus = TeapotAPIStatus()

    def declared_conditions(self) -> tuple[str, ...]:
        """Return one condition more for each cell."""
        return (*self.conditions, *(cell_condition(cell) for cell in sorted(self.spec.cells)))


def cell_condition(cell: str) -> str:
    """Return the condition that follows a cell."""
    return f"Cell-{cell}-Ready"


class TeapotCellSpec(ServiceSpec, frozen=True, kw_only=True):
    """How a cell runs; its connections stand in the Secret, whoever wrote that."""

    memcachedInstance: Annotated[str, describe("The Memcached; if empty, there is none.")] = ""
    kettle: Annotated[str, describe("What the water is boiled in.")] = "copper"


class TeapotCell(CustomResource, frozen=True, kw_only=True):
    """A cell of Teapot: brewers, and a kettle on every node."""

    kind: ClassVar[Kind] = Kind("teapot.openstack.org", VERSION, "TeapotCell", "teapotcells")
    definition: ClassVar[Definition] = shown()
    conditions: ClassVar[tuple[str, ...]] = (
        "InputReady",
        "MemcachedReady",
        "ServiceConfigReady",
        "DeploymentReady",
    )

    spec: TeapotCellSpec
    status: ServiceStatus = ServiceStatus()


KINDS: tuple[type[CustomResource], ...] = (TeapotAPI, TeapotCell)

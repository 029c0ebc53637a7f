"""The kinds with which a service gets a schema and an account in a MariaDB."""

from typing import Annotated, ClassVar, Literal

from stackwright.api.base import (
    VERSION,
    Column,
    CustomResource,
    Definition,
    Kind,
    Status,
    Value,
    deprecated,
    describe,
    immutable,
    max_length,
    min_length,
    pattern,
    shown,
)
from stackwright.api.forms import OPTIONAL_NAME, ObjectName

GROUP = "mariadb.openstack.org"

# The labels with which a schema names its server, and an account its schema.
SERVER_LABEL = "dbName"
# Where a server listens.
PORT = 3306
DATABASE_LABEL = "mariaDBDatabaseName"

# Under which key the status of a schema tells it from one of the same name that was there before, and how it tells of
# the first one.
IDENTITY_KEY, FIRST = "schema", "original"

# Under which key the status of a schema or an account keeps the uid of the Galera under which it is marked as ours.
GALERA_KEY = "galera"

# Names of this form need no quoting in SQL and mean the same on every file system.
_Identifier = Annotated[str, pattern(r"^[a-zA-Z0-9_]+$"), max_length(64)]
_LONGEST_SCHEMA = 64


class MariaDBDatabaseSpec(Value, frozen=True, kw_only=True):
    """Which schema should exist, and how it stores text."""

    name: Annotated[
        str,
        pattern(r"^[a-zA-Z0-9_]*$"),
        max_length(_LONGEST_SCHEMA),
        immutable("a schema cannot be renamed; make another MariaDBDatabase and move the data"),
        describe(
            "The name of the schema on the server; by default that of this resource. It must not be one of the "
            "server's own, such as mysql."
        ),
    ] = ""
    defaultCharacterSet: Annotated[_Identifier, describe("The default character set of tables.")] = "utf8"
    defaultCollation: Annotated[_Identifier, describe("The default collation of tables.")] = "utf8_general_ci"
    secret: Annotated[
        str | None,
        max_length(253),
        pattern(OPTIONAL_NAME),
        deprecated("an account has its own resource, MariaDBAccount."),
        describe("The Secret with the password of a user with the same name as the schema."),
    ] = None
    deletionPolicy: Annotated[
        Literal["Retain", "Delete"],
        describe(
            "What happens to the schema and its data when this resource is deleted. Retain: they stay. "
            "Delete: they are deleted."
        ),
    ] = "Retain"


class MariaDBDatabaseStatus(Status, frozen=True, kw_only=True):
    """The state of the schema."""

    completed: Annotated[bool, describe("Whether the schema exists.")] = False
    tlsSupport: Annotated[bool, describe("Whether the server accepts TLS.")] = False
    enableMultiMaster: Annotated[bool, describe("Whether clients may write to every node of the server.")] = False
    hash: Annotated[dict[str, str], describe("Hashes of what was last applied, by topic.")] = {}


class MariaDBDatabase(CustomResource, frozen=True, kw_only=True):
    """A schema on the Galera that the label dbName names. It outlives this resource unless deletionPolicy is Delete."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "MariaDBDatabase", "mariadbdatabases")
    definition: ClassVar[Definition] = shown(
        Column("Schema", ".spec.name", description="The name of the schema on the server"),
        Column("Server", f".metadata.labels.{SERVER_LABEL}", priority=1, description="The Galera that holds it"),
    )
    conditions: ClassVar[tuple[str, ...]] = ("MariaDBServerReady", "MariaDBDatabaseReady")

    spec: MariaDBDatabaseSpec = MariaDBDatabaseSpec()
    status: MariaDBDatabaseStatus = MariaDBDatabaseStatus()

    @property
    def schema(self) -> str:
        """The name of the schema on the server."""
        return self.spec.name or self.metadata.name.replace("-", "_").replace(".", "_")[:_LONGEST_SCHEMA]


class MariaDBAccountSpec(Value, frozen=True, kw_only=True):
    """Which user should exist, and where its password is."""

    userName: Annotated[
        str,
        min_length(1),
        max_length(80),
        immutable("an account cannot be renamed; make another MariaDBAccount and let the service use that"),
        describe("The name of the user on the server. It must not be one of the server's own, such as root."),
    ]
    secret: Annotated[
        ObjectName,
        describe("The Secret with the password, under the key DatabasePassword. A new Secret changes the password."),
    ]
    requireTLS: Annotated[
        bool,
        describe("Whether the server refuses this user without TLS."),
    ] = False
    accountType: Annotated[
        Literal["User", "System"],
        immutable("an account cannot change between User and System; make another MariaDBAccount"),
        describe("User: an account for one schema. System: the server's own, such as root."),
    ] = "User"
    deletionPolicy: Annotated[
        Literal["Retain", "Delete"],
        describe("What happens to the user when this resource is deleted. Retain: it stays. Delete: it is deleted."),
    ] = "Retain"


class MariaDBAccountStatus(Status, frozen=True, kw_only=True):
    """The state of the account."""

    currentSecret: Annotated[str, describe("The Secret with the password that the server has now.")] = ""
    server: Annotated[str, describe("The Galera that has the user.")] = ""
    formerPasswordUsers: Annotated[
        tuple[str, ...],
        describe(
            "The resources, as Kind/name, that may still log in with the former password. The server accepts it beside "
            "the new one until all of them work with the new one."
        ),
    ] = ()
    hash: Annotated[dict[str, str], describe("Hashes of what was last applied, by topic.")] = {}


class MariaDBAccount(CustomResource, frozen=True, kw_only=True):
    """A user with the rights that a service needs in the schema that the label mariaDBDatabaseName names."""

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "MariaDBAccount", "mariadbaccounts")
    definition: ClassVar[Definition] = shown(
        Column("User", ".spec.userName", description="The name of the user on the server"),
        Column(
            "Database", f".metadata.labels.{DATABASE_LABEL}", priority=1, description="The MariaDBDatabase it is for"
        ),
    )
    conditions: ClassVar[tuple[str, ...]] = ("MariaDBServerReady", "MariaDBDatabaseReady", "MariaDBAccountReady")

    spec: MariaDBAccountSpec
    status: MariaDBAccountStatus = MariaDBAccountStatus()


KINDS: tuple[type[CustomResource], ...] = (MariaDBDatabase, MariaDBAccount)

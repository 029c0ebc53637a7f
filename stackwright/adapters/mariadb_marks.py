"""The owners of schemas and users, recorded on the server itself. Pure.

Two Galera resources may lead to the same server under different names, from one namespace or from several. The server
has each schema and user only once, so a table in a schema of our own records there which resource owns it.
"""

from dataclasses import dataclass

from stackwright.adapters.mariadb_names import LEDGER

TABLE = f"`{LEDGER}`.`owners`"
SCHEMA, USER = "schema", "user"
# Between a resource and the uid of its Galera; no name in Kubernetes contains this character.
_BETWEEN = "#"

MAKE_TABLE = (
    f"CREATE DATABASE IF NOT EXISTS `{LEDGER}` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    f"CREATE TABLE IF NOT EXISTS {TABLE} ("
    "sort VARCHAR(16) NOT NULL, name VARCHAR(128) NOT NULL, owner VARCHAR(512) NOT NULL, "
    "made TINYINT NOT NULL, identity VARCHAR(64) NOT NULL, PRIMARY KEY (sort, name)"
    ") ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
)
READ = f"SELECT owner, made, identity FROM {TABLE} WHERE sort = %s AND name = %s"  # noqa: S608  a name of our own
WRITE = f"REPLACE INTO {TABLE} (sort, name, owner, made, identity) VALUES (%s, %s, %s, %s, %s)"  # noqa: S608  likewise
REMOVE = f"DELETE FROM {TABLE} WHERE sort = %s AND name = %s"  # noqa: S608  likewise


@dataclass(frozen=True)
class Thing:
    """A schema or a user of a server, as its mark names it; some servers ignore case in the names of schemas."""

    sort: str
    name: str

    @property
    def row(self) -> tuple[str, str]:
        """The first two columns of its row in the table."""
        return self.sort, self.name.casefold() if self.sort == SCHEMA else self.name


@dataclass(frozen=True)
class Mark:
    """Which resource owns a thing, as namespace/name; "" if no owner is known.

    `made` says that the resource created the thing, and did not find it. `identity` is empty for the first schema of a
    name, and changes each time the schema is created again. `galera` is the uid of the Galera through which the
    resource uses the server, because resources of two clusters may have the same name; marks of earlier versions have
    none. `fixed` says that this login may read the mark but not change it.
    """

    owner: str = ""
    made: bool = False
    identity: str = ""
    galera: str = ""
    fixed: bool = False

    @property
    def written_owner(self) -> str:
        """The owner as the table stores it: in one column, so that the table of an older version needs no change."""
        return f"{self.owner}{_BETWEEN}{self.galera}" if self.galera else self.owner


def read_mark(owner: str, made: object, identity: object, *, fixed: bool = False) -> Mark:
    """Return the mark that stands in a row of the table."""
    resource, _, galera = owner.partition(_BETWEEN)
    return Mark(resource, bool(made), str(identity), galera, fixed)


UNMARKED = Mark()
# What is left of a schema that its resource has dropped.
DROPPED = Mark(identity="dropped")


def way_out(thing: Thing) -> str:
    """Return the statement that hands a thing over to whoever asks for it next."""
    sort, name = (part.replace("'", "''") for part in thing.row)
    return f"DELETE FROM {LEDGER}.owners WHERE sort = '{sort}' AND name = '{name}'"  # noqa: S608  it is only shown

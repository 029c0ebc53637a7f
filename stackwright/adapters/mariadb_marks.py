"""The owners of schemas and users, recorded on the server itself. Pure.

Names differ: two Galera resources may lead to one server, from one namespace or from several. What is on the server is
there once, so a table of a schema of our own says there which resource has it.
"""

from dataclasses import dataclass

from stackwright.adapters.mariadb_names import LEDGER

TABLE = f"`{LEDGER}`.`owners`"
SCHEMA, USER = "schema", "user"
# Between a resource and the uid of its Galera; no name in Kubernetes has this sign.
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
    """A schema or a user of a server, as its mark names it: some servers do not tell the case of a schema's name."""

    sort: str
    name: str

    @property
    def row(self) -> tuple[str, str]:
        """How the table names it."""
        return self.sort, self.name.casefold() if self.sort == SCHEMA else self.name


@dataclass(frozen=True)
class Mark:
    """Which resource has a thing, as namespace/name; "" where none is known.

    `made` says that the resource made the thing and did not find it. `identity` is another one each time that a schema
    is made again; the first one has none. `galera` is the uid of the Galera by which the resource came here: two
    clusters may have resources of one name. Marks of versions before have none. `fixed` says that this login may read
    the mark and not change it.
    """

    owner: str = ""
    made: bool = False
    identity: str = ""
    galera: str = ""
    fixed: bool = False

    @property
    def written_owner(self) -> str:
        """How the table names the owner: in one column, so that a table of an older version needs no change."""
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

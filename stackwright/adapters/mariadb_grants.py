"""What a user of MariaDB may do: as SHOW GRANTS tells it, as a service needs it, and how it is taken away. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from stackwright.adapters.mariadb_names import SYSTEM_SCHEMAS, is_identifier, is_system_schema

# What OpenStack's services do in their schemas: rows, and the tables that their migrations make and change. Glance's
# migrations make triggers, and a trigger runs only while its maker may make triggers. None of them makes views,
# procedures or events, which could outlive the account or act for another one.
NEEDED = frozenset(
    {
        "SELECT",
        "INSERT",
        "UPDATE",
        "DELETE",
        "CREATE",
        "ALTER",
        "DROP",
        "INDEX",
        "REFERENCES",
        "LOCK TABLES",
        "CREATE TEMPORARY TABLES",
        "TRIGGER",
    }
)
ALL = "ALL PRIVILEGES"
# What these are in a schema, to a server that does not list them.
ALL_IN_SCHEMA = NEEDED | {
    "EXECUTE",
    "CREATE VIEW",
    "SHOW VIEW",
    "CREATE ROUTINE",
    "ALTER ROUTINE",
    "EVENT",
    "DELETE HISTORY",
}

# The scope of what a user may do on the whole server.
EVERYWHERE = "*.*"
# How the scope of a grant begins that is for all schemas with a matching name.
PATTERN = "LIKE "
# How the scope of a grant begins by which a user acts for another one.
ACTING = "PROXY "

_NAME = r"(?:`(?:[^`]|``)*`|\*)"
_ROUTINE = r"(?:PROCEDURE|FUNCTION|PACKAGE BODY|PACKAGE) "
_ON = re.compile(rf"GRANT (?P<privileges>.+?) ON (?P<routine>{_ROUTINE})?(?P<scope>{_NAME}\.{_NAME}) TO (?P<rest>.*)")
_PROXY = re.compile(r"GRANT PROXY ON (?P<whom>'(?:[^']|'')*'@'(?:[^']|'')*') TO (?P<rest>.*)")
_ROLE = re.compile(rf"GRANT (?P<role>{_NAME}) TO ")
_PRIVILEGE = re.compile(r"[A-Z]+(?: [A-Z]+)*")


@dataclass(frozen=True)
class Grant:
    """What a user may do in one scope.

    `scope` is `schema.*`, `schema.table` or `*.*`, `LIKE pattern.*` for all schemas that match, `PROCEDURE
    schema.name` for a routine; a role that the user has is its name alone, and `PROXY user` is another user for whom
    it may act. `grantable` says that the user may pass the privileges on.
    """

    scope: str
    privileges: frozenset[str] = NEEDED
    grantable: bool = False

    @property
    def is_beyond_schemas(self) -> bool:
        """Whether no service is ever given this: it reaches the whole server, or the server's own schemas."""
        if self.scope == EVERYWHERE or self.scope.startswith(ACTING):
            return True
        if self.scope.startswith(PATTERN):
            return any(_matches(self.scope.removeprefix(PATTERN).removesuffix(".*"), name) for name in SYSTEM_SCHEMAS)
        place = re.sub(f"^{_ROUTINE}", "", self.scope)
        return "." in place and is_system_schema(place.partition(".")[0])

    def beyond(self, other: "Grant") -> "Grant | None":
        """Return what this grants and another of the same scope does not; None if that is nothing."""
        more = self.privileges - other.privileges
        grantable = self.grantable and not other.grantable
        return Grant(self.scope, more, grantable) if more or grantable else None


def needed_in(schema: str) -> Grant:
    """Return the grant of what a service does in a schema, with no right to pass it on."""
    return Grant(f"{schema}.*")


def parse_grants(lines: Sequence[str]) -> tuple[Grant, ...]:
    """Return what the lines of SHOW GRANTS say; a line that only says that the user exists says nothing."""
    grants = []
    for line in lines:
        if found := _PROXY.match(line):
            grantable = "WITH GRANT OPTION" in found["rest"]
            grants.append(Grant(f"{ACTING}{found['whom']}", frozenset({"PROXY"}), grantable=grantable))
        elif found := _ON.match(line):
            grantable = "WITH GRANT OPTION" in found["rest"]
            if found["privileges"] == "USAGE" and not grantable:
                continue
            scope = (found["routine"] or "") + _plain_scope(found["scope"])
            grants.append(Grant(scope, _privileges(found["privileges"]), grantable=grantable))
        elif found := _ROLE.match(line):
            grants.append(Grant(_plain(found["role"]), frozenset()))
    return tuple(grants)


def _privileges(text: str) -> frozenset[str]:
    """Return the privileges of a line; those of single columns keep the names of the columns."""
    found = frozenset(re.split(r", (?![^(]*\))", text)) - {"USAGE"}
    return frozenset({ALL}) if "ALL" in found else found


def is_unlisted(grant: Grant) -> bool:
    """Return whether a grant is of all privileges in schemas, of which some are to be revoked and have to be named."""
    return grant.privileges == {ALL} and grant.scope.endswith(".*") and grant.scope != EVERYWHERE


def listed(grant: Grant, rows: Iterable[tuple[str, str]]) -> Grant:
    """Return a grant of all privileges with each by its name, from the schemas and privileges that the server lists.

    Which they are differs from version to version, and a name that the server does not know is an error.
    """
    named = frozenset(privilege for schema, privilege in rows if _one_or_many(schema) == grant.scope)
    return replace(grant, privileges=named or ALL_IN_SCHEMA)


def takings(grant: Grant) -> Iterable[str]:
    """Yield what stands between REVOKE and FROM to take a grant away, as templates of statements with values."""
    if grant.scope.startswith(ACTING):
        yield f"PROXY ON {grant.scope.removeprefix(ACTING)}".replace("%", "%%")
        return
    if "." not in grant.scope:
        yield quoted(grant.scope)
        return
    scope = _scope(grant.scope)
    if grant.grantable:
        yield f"GRANT OPTION ON {scope}"
    if not grant.privileges:
        return
    # Those of a schema are taken one by one, since others in it may have to stay. Elsewhere nothing has to.
    names = sorted(grant.privileges)
    one_by_one = grant.scope.endswith(".*") and all(_PRIVILEGE.fullmatch(name) for name in names)
    yield f"{', '.join(names) if one_by_one else ALL} ON {scope}"


def quoted(name: str) -> str:
    """Return a name as it stands in a statement with values, which is a template to PyMySQL."""
    return "`" + name.replace("`", "``").replace("%", "%%") + "`"


def pattern(schema: str) -> str:
    """Return a schema's name as GRANT reads it: as a pattern, in which an underscore would match anything."""
    return quoted(schema.replace("_", r"\_"))


def _scope(scope: str) -> str:
    if scope == EVERYWHERE:
        return scope
    if found := re.match(_ROUTINE, scope):
        return found[0] + _scope(scope[found.end() :])
    name, _, table = scope.rpartition(".")
    if table != "*":
        return f"{quoted(name)}.{quoted(table)}"
    if name.startswith(PATTERN):
        return f"{quoted(name.removeprefix(PATTERN))}.*"
    return f"{pattern(name)}.*"


def _plain(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _plain_scope(scope: str) -> str:
    """Return a scope without quotes and escapes; what matches several schemas is told apart from what is one."""
    schema, table = (_plain(name) for name in re.findall(_NAME, scope))
    return f"{schema}.{table}" if table != "*" or scope == EVERYWHERE else _one_or_many(schema)


def _one_or_many(schemas: str) -> str:
    """Return the scope of a pattern of schemas: one of them, or all that match."""
    bare = schemas.replace(r"\_", "_")
    is_one = is_identifier(bare) and schemas == bare.replace("_", r"\_")
    return f"{bare}.*" if is_one else f"{PATTERN}{schemas}.*"


def _matches(schemas: str, name: str) -> bool:
    """Return whether a pattern of schemas is also of this one."""
    words = {"_": ".", "%": ".*"}
    wanted = "".join(words.get(part, re.escape(part[-1:])) for part in re.findall(r"\\?.", schemas))
    return re.fullmatch(wanted, name, re.IGNORECASE) is not None

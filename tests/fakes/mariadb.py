"""A MariaDB in memory that passes the same contract tests as the real one."""

from dataclasses import dataclass, field, replace

from stackwright.adapters.errors import Refused, Rejected, Unavailable
from stackwright.adapters.mariadb import MariaDB, Schema, ServerLogin
from stackwright.adapters.mariadb import User as Found
from stackwright.adapters.mariadb_grants import Grant, needed_in
from stackwright.adapters.mariadb_marks import UNMARKED, Mark, Thing
from stackwright.adapters.mariadb_names import schema_problem, user_problem
from stackwright.adapters.mariadb_passwords import digest

# What the real server calls what it was asked for.
_CHARACTER_SETS = {"utf8": "utf8mb3", "utf8mb3": "utf8mb3", "utf8mb4": "utf8mb4", "latin1": "latin1"}


@dataclass
class User:
    """A user: the digest of its password, what it may do, and the digest of a former password that is valid, too."""

    digest: str
    grants: dict[str, Grant] = field(default_factory=dict)
    former: str = ""


@dataclass
class FakeMariaDB:
    """The state of one server, by what tests look at it and change it behind everybody's back.

    `down` makes it answer nobody. `calls` are the changes that were asked for, in order. `marks` are whose its schemas
    and users are; None where the administrator may not keep such a table.
    """

    password: str = "root-password"
    down: bool = False
    schemas: dict[str, Schema] = field(default_factory=dict)
    users: dict[str, User] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    marks: dict[tuple[str, str], Mark] | None = field(default_factory=dict)

    def connect(self, login: ServerLogin) -> MariaDB:
        """Return a way to this server, whatever host is dialled."""
        return _Session(self, login)


@dataclass(frozen=True)
class _Session:
    server: FakeMariaDB
    login: ServerLogin

    def _enter(self, change: str = "") -> None:
        if self.server.down:
            raise Unavailable(f"MariaDB at {self.login.host}:{self.login.port} does not answer")
        if (self.login.user, self.login.password) != ("root", self.server.password):
            raise Refused(
                f"MariaDB at {self.login.host}:{self.login.port} does not accept user {self.login.user} with the "
                "password that was given"
            )
        if change:
            self.server.calls.append(change)

    async def named(self, schema: Schema) -> Schema:
        self._enter()
        character_set = _CHARACTER_SETS.get(schema.character_set)
        if character_set is None:
            raise Rejected(f"MariaDB at {self.login.host}: Unknown character set: '{schema.character_set}'")
        if not schema.collation.startswith(schema.character_set.removesuffix("mb3")):
            raise Rejected(f"MariaDB at {self.login.host}: COLLATION '{schema.collation}' is not valid")
        _, _, rest = schema.collation.partition("_")
        return Schema(schema.name, character_set, f"{character_set}_{rest}")

    async def schema(self, name: str) -> Schema | None:
        self._enter()
        return self.server.schemas.get(name)

    async def create_schema(self, schema: Schema) -> None:
        self._enter(f"create schema {_schema(schema.name)}")
        self.server.schemas.setdefault(schema.name, await self.named(schema))

    async def alter_schema(self, schema: Schema) -> None:
        self._enter(f"alter schema {_schema(schema.name)}")
        if schema.name not in self.server.schemas:
            raise Rejected("MariaDB does not accept this (error 1049)")
        self.server.schemas[schema.name] = await self.named(schema)

    async def drop_schema(self, name: str) -> None:
        self._enter(f"drop schema {_schema(name)}")
        self.server.schemas.pop(name, None)

    async def user(self, name: str) -> Found | None:
        self._enter()
        found = self.server.users.get(name)
        if found is None:
            return None
        return Found(tuple(found.grants.values()), tuple(filter(None, (found.digest, found.former))))

    async def accepts(self, user: str, password: str) -> bool:
        if self.server.down:
            self._enter()
        found = self.server.users.get(user)
        return found is not None and digest(password) in (found.digest, found.former)

    async def create_user(self, user: str, password: str) -> None:
        self._enter(f"create user {_user(user)}")
        self.server.users.setdefault(user, User(digest(password)))

    async def set_password(self, user: str, password: str, *, keep: bool = False) -> None:
        self._enter(f"set password {_user(user)}{' beside the former' if keep else ''}")
        found, new = self._user(user), digest(password)
        known = [found.former, found.digest] if keep else []
        found.digest, found.former = new, next((text for text in known if text not in ("", new)), "")

    async def grant(self, user: str, schema: str) -> None:
        self._enter(f"grant {_user(user)} {_schema(schema)}")
        grants, given = self._user(user).grants, needed_in(schema)
        before = grants.get(given.scope, given)
        grants[given.scope] = replace(before, privileges=before.privileges | given.privileges)

    async def revoke(self, user: str, grant: Grant) -> None:
        self._enter(f"revoke {_user(user)} {grant.scope}")
        grants = self._user(user).grants
        before = grants.pop(grant.scope, None)
        if before is None:
            raise Rejected("MariaDB does not accept this (error 1141)")
        if left := before.beyond(grant):
            grants[grant.scope] = left

    async def drop_user(self, user: str) -> None:
        self._enter(f"drop user {_user(user)}")
        self.server.users.pop(user, None)

    async def mark(self, thing: Thing) -> Mark | None:
        self._enter()
        return None if self.server.marks is None else self.server.marks.get(thing.row, UNMARKED)

    async def set_mark(self, thing: Thing, mark: Mark) -> None:
        self._enter()
        if self.server.marks is not None:
            self.server.marks[thing.row] = mark

    async def remove_mark(self, thing: Thing) -> None:
        self._enter()
        if self.server.marks is not None:
            self.server.marks.pop(thing.row, None)

    def _user(self, name: str) -> User:
        if name not in self.server.users:
            raise Rejected("MariaDB does not accept this (error 1396)")
        return self.server.users[name]


def _schema(name: str) -> str:
    if problem := schema_problem(name):
        raise Rejected(problem)
    return name


def _user(name: str) -> str:
    if problem := user_problem(name):
        raise Rejected(problem)
    return name

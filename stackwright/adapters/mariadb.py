"""MariaDB by SQL: schemas, users, and what users may do.

Passwords travel as the digest that the server keeps (mysql_native_password), so that none stands in a statement, and
so in none of the server's logs. A user is a name at every host (`'name'@'%'`).
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

import pymysql
from pymysql.constants import CLIENT, CR, ER

from stackwright.adapters.errors import AdapterError, Refused, Rejected, Unavailable
from stackwright.adapters.mariadb_grants import (
    NEEDED,
    Grant,
    is_unlisted,
    listed,
    parse_grants,
    pattern,
    quoted,
    takings,
)
from stackwright.adapters.mariadb_marks import MAKE_TABLE, READ, REMOVE, UNMARKED, WRITE, Mark, Thing, read_mark
from stackwright.adapters.mariadb_names import is_identifier, schema_problem, user_problem
from stackwright.adapters.mariadb_passwords import READ as READ_PASSWORDS
from stackwright.adapters.mariadb_passwords import choose_kept, digest, identified, read_digests

T = TypeVar("T")
_Connection: TypeAlias = "pymysql.Connection[pymysql.cursors.Cursor]"

# Seconds for one try; a reconcile that hangs on a dead server for longer says nothing to the user meanwhile.
CONNECT_TIMEOUT = 5
ANSWER_TIMEOUT = 10

_UNKNOWN_VARIABLE = 1193
_NO_SUCH_TABLE = {ER.BAD_DB_ERROR, ER.NO_SUCH_TABLE}
_NO_SUCH_USER = {1141, 1133, 1269}
# The login is not accepted: wrong password, locked account, expired password.
_LOGIN_REFUSED = {ER.ACCESS_DENIED_ERROR, 1698, 1820, 1862, 4151}
_FORBIDDEN = {ER.DBACCESS_DENIED_ERROR, 1130, 1142, 1227, 1410}
# Broken connections, too many of them, a node that is not (yet) in the cluster, a stop, locks held by others.
_PASSING = {1040, 1047, 1053, 1152, 1158, 1159, 1160, 1161, 1205, 1213, 1927, 4031}
# What is wrong here are names that the caller gave; the server's sentence repeats nothing else.
_TELLING = {1115, 1253, 1273, 1470}


@dataclass(frozen=True)
class ServerLogin:
    """Where a server is and who we are there."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class Schema:
    """A schema and how it stores text of tables that say nothing of that."""

    name: str
    character_set: str
    collation: str


@dataclass(frozen=True)
class User:
    """A user: what it may do, and the digests of its passwords, of which there are none where we may not read them."""

    grants: tuple[Grant, ...]
    digests: tuple[str, ...] = field(default=(), repr=False)

    def has_other_password(self, password: str) -> bool:
        """Return whether the user can also log in with another password than this one."""
        return bool(choose_kept(self.digests, digest(password)))


class MariaDB(Protocol):
    """What can be asked of a server and done on it; every method raises only the errors of `adapters.errors`."""

    async def named(self, schema: Schema) -> Schema:
        """Return the schema with its character set and collation called as the server calls them."""

    async def schema(self, name: str) -> Schema | None:
        """Return the schema as it is, None where there is none."""

    async def create_schema(self, schema: Schema) -> None:
        """Make the schema where there is none."""

    async def alter_schema(self, schema: Schema) -> None:
        """Change how the schema stores text of new tables."""

    async def drop_schema(self, name: str) -> None:
        """Delete the schema with all data in it."""

    async def user(self, name: str) -> User | None:
        """Return the user as it is, None where there is none."""

    async def accepts(self, user: str, password: str) -> bool:
        """Return whether the user can log in with this password."""

    async def create_user(self, user: str, password: str) -> None:
        """Make the user where there is none; it may do nothing yet."""

    async def set_password(self, user: str, password: str, *, keep: bool = False) -> None:
        """Change the user's password, and unlock the user; with `keep`, the former password stays valid beside it.

        A server that gives a user only one password keeps none, and neither does one that does not show us the digests.
        """

    async def grant(self, user: str, schema: str) -> None:
        """Grant the user what a service needs in the schema; other grants stay."""

    async def revoke(self, user: str, grant: Grant) -> None:
        """Take away what the grant gives, and nothing else in its scope."""

    async def drop_user(self, user: str) -> None:
        """Delete the user, if it exists."""

    async def mark(self, thing: Thing) -> Mark | None:
        """Return the owner of a schema or a user; None if this login may not read it."""

    async def set_mark(self, thing: Thing, mark: Mark) -> None:
        """Record the owner of a schema or a user; nothing happens if this login may not write it."""

    async def remove_mark(self, thing: Thing) -> None:
        """Delete the record of a schema's or a user's owner."""


Connect = Callable[[ServerLogin], MariaDB]

# Servers, by host, port and user, on which that user may not write marks. Only a try shows this, and a pass that tried
# again each time would never be done.
Unkept: TypeAlias = set[tuple[str, int, str]]
_UNKEPT: Unkept = set()


@dataclass(frozen=True)
class SqlServer:
    """A real server; every call makes a connection of its own and closes it."""

    login: ServerLogin
    unkept: Unkept = field(default_factory=set, repr=False)

    @property
    def _place(self) -> tuple[str, int, str]:
        return self.login.host, self.login.port, self.login.user

    async def named(self, schema: Schema) -> Schema:
        """Return the schema with its character set and collation called as the server calls them."""
        character_set, collation = _identifier(schema.character_set), _identifier(schema.collation)
        text = f"CONVERT('' USING {character_set}) COLLATE {collation}"
        [(seen_set, seen_collation)] = await self._ask(f"SELECT CHARSET({text}), COLLATION({text})")
        return Schema(schema.name, str(seen_set), str(seen_collation))

    async def schema(self, name: str) -> Schema | None:
        """Return the schema as it is, None where there is none."""
        found = await self._ask(
            "SELECT DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA"
            " WHERE SCHEMA_NAME = %s",
            name,
        )
        return Schema(name, str(found[0][0]), str(found[0][1])) if found else None

    async def create_schema(self, schema: Schema) -> None:
        """Make the schema where there is none."""
        await self._ask(f"CREATE DATABASE IF NOT EXISTS {_text_rules(schema)}")

    async def alter_schema(self, schema: Schema) -> None:
        """Change how the schema stores text of new tables."""
        await self._ask(f"ALTER DATABASE {_text_rules(schema)}")

    async def drop_schema(self, name: str) -> None:
        """Delete the schema with all data in it."""
        await self._ask(f"DROP DATABASE IF EXISTS {quoted(_schema(name))}")

    async def user(self, name: str) -> User | None:
        """Return the user as it is, None where there is none."""

        def work(connection: _Connection) -> User | None:
            try:
                rows = _run(connection, "SHOW GRANTS FOR %s@'%%'", name)
            except pymysql.MySQLError as error:
                if _code(error) in _NO_SUCH_USER:
                    return None
                raise
            grants = parse_grants([str(row[0]) for row in rows])
            # On the same connection: each pass over each account does this.
            return User(tuple(_listed(connection, name, grant) for grant in grants), _digests(connection, name))

        return await self._with(work)

    async def accepts(self, user: str, password: str) -> bool:
        """Return whether the user can log in with this password."""
        login = ServerLogin(self.login.host, self.login.port, user, password)
        try:
            await asyncio.to_thread(lambda: _open(login).close())
        except pymysql.MySQLError as error:
            if _code(error) in _LOGIN_REFUSED:
                return False
            raise _translate(error, login) from None
        return True

    async def create_user(self, user: str, password: str) -> None:
        """Make the user where there is none; it may do nothing yet."""
        await self._ask("CREATE USER IF NOT EXISTS %s@'%%' IDENTIFIED BY PASSWORD %s", _user(user), digest(password))

    async def set_password(self, user: str, password: str, *, keep: bool = False) -> None:
        """Change the user's password, and unlock the user; with `keep`, the former password stays valid beside it."""
        name, new = _user(user), digest(password)

        def work(connection: _Connection) -> None:
            former = choose_kept(_digests(connection, name), new) if keep else ""
            words, values = identified((new, former) if former else (new,))
            _run(connection, f"ALTER USER %s@'%%' {words} ACCOUNT UNLOCK", name, *values)

        await self._with(work)

    async def grant(self, user: str, schema: str) -> None:
        """Give the user what a service needs in the schema; what it has beside that stays."""
        await self._ask(f"GRANT {', '.join(sorted(NEEDED))} ON {pattern(_schema(schema))}.* TO %s@'%%'", _user(user))

    async def revoke(self, user: str, grant: Grant) -> None:
        """Take away what the grant gives, and nothing else in its scope."""
        for words in takings(grant):
            await self._ask(f"REVOKE {words} FROM %s@'%%'", _user(user))

    async def drop_user(self, user: str) -> None:
        """Delete the user, if it exists."""
        await self._ask("DROP USER IF EXISTS %s@'%%'", _user(user))

    async def mark(self, thing: Thing) -> Mark | None:
        """Return the mark of a schema or a user; None if this login may not read it."""

        def work(connection: _Connection) -> Mark | None:
            try:
                rows = _run(connection, READ, *thing.row)
            except pymysql.MySQLError as error:
                if _code(error) in _NO_SUCH_TABLE:
                    return None if fixed else UNMARKED
                if _code(error) in _FORBIDDEN:
                    return None
                raise
            if not rows:
                return None if fixed else UNMARKED
            # Marks of others also count for a login that may not write there.
            return read_mark(str(rows[0][0]), rows[0][1], rows[0][2], fixed=fixed)

        fixed = self._place in self.unkept
        return await self._with(work)

    async def set_mark(self, thing: Thing, mark: Mark) -> None:
        """Record which resource owns a schema or a user; without the right to do so, nothing happens."""
        row = (*thing.row, mark.written_owner, str(int(mark.made)), mark.identity)

        def write(connection: _Connection) -> None:
            # A login that may write there is not always allowed to create the table.
            try:
                _run(connection, WRITE, *row)
            except pymysql.MySQLError as error:
                if _code(error) not in _NO_SUCH_TABLE:
                    raise
                for statement in MAKE_TABLE:
                    _run(connection, statement)
                _run(connection, WRITE, *row)

        def work(connection: _Connection) -> bool:
            try:
                write(connection)
            except pymysql.MySQLError as error:
                if _code(error) not in _FORBIDDEN:
                    raise
                return False
            return True

        if await self._with(work):
            self.unkept.discard(self._place)
        else:
            self.unkept.add(self._place)

    async def remove_mark(self, thing: Thing) -> None:
        """Delete the mark of a schema or a user."""

        def work(connection: _Connection) -> None:
            try:
                _run(connection, REMOVE, *thing.row)
            except pymysql.MySQLError as error:
                # Where there is no table, or none for this login, there is no mark.
                if _code(error) not in _NO_SUCH_TABLE | _FORBIDDEN:
                    raise

        await self._with(work)

    async def _ask(self, statement: str, *values: str) -> Sequence[Sequence[Any]]:
        return await self._with(lambda connection: _run(connection, statement, *values))

    async def _with(self, work: Callable[[_Connection], T]) -> T:
        """Do the work on a connection, in a thread: PyMySQL blocks."""

        def call() -> T:
            connection = _open(self.login)
            try:
                _follow(connection)
                return work(connection)
            finally:
                connection.close()

        try:
            return await asyncio.to_thread(call)
        except pymysql.MySQLError as error:
            # The foreign error may quote the statement, and its context would be logged with ours.
            raise _translate(error, self.login) from None


def connect(login: ServerLogin) -> MariaDB:
    """Return a way to the server; nothing is opened before something is asked."""
    return SqlServer(login, _UNKEPT)


def _digests(connection: _Connection, user: str) -> tuple[str, ...]:
    """Return the digests of a user's passwords; none where the server does not keep them so, or not for our eyes."""
    try:
        rows = _run(connection, READ_PASSWORDS, user)
    except pymysql.MySQLError as error:
        # Why we are refused makes no difference: without the digests, a user is worked on all the same.
        if _is_passing(_code(error)):
            raise
        return ()
    return read_digests(rows[0][0]) if rows else ()


def _listed(connection: _Connection, user: str, grant: Grant) -> Grant:
    """Return a grant with its privileges by name where the server sums them up."""
    if not is_unlisted(grant):
        return grant
    statement = (
        "SELECT TABLE_SCHEMA, PRIVILEGE_TYPE FROM information_schema.SCHEMA_PRIVILEGES WHERE BINARY GRANTEE = %s"
    )
    rows = _run(connection, statement, f"'{user}'@'%'")
    return listed(grant, [(str(schema), str(privilege)) for schema, privilege in rows])


def _open(login: ServerLogin) -> _Connection:
    return pymysql.connect(
        host=login.host,
        port=login.port,
        user=login.user,
        password=login.password,
        connect_timeout=CONNECT_TIMEOUT,
        read_timeout=ANSWER_TIMEOUT,
        write_timeout=ANSWER_TIMEOUT,
        client_flag=CLIENT.FOUND_ROWS,
        charset="utf8mb4",
        autocommit=True,
        ssl_disabled=True,
    )


def _follow(connection: _Connection) -> None:
    """Make what we read on this node at least as new as what we wrote on another one of its cluster."""
    try:
        _run(connection, "SET SESSION wsrep_sync_wait = 15")
    except pymysql.MySQLError as error:
        # A server without Galera has no such setting, and no other nodes.
        if _code(error) != _UNKNOWN_VARIABLE:
            raise


def _run(connection: _Connection, statement: str, *values: str) -> Sequence[Sequence[Any]]:
    with connection.cursor() as cursor:
        # Without values PyMySQL leaves the statement as it is, signs of per cent included.
        cursor.execute(statement, values or None)
        return cursor.fetchall()


def _identifier(name: str) -> str:
    if not is_identifier(name):
        raise Rejected(
            f"{name!r} is not a name that MariaDB accepts here; use letters, digits and underscores, at most 64"
        )
    return name


def _schema(name: str) -> str:
    """Return the name of a schema that may be changed: whoever asks, the server's own are left alone."""
    if problem := schema_problem(name):
        raise Rejected(problem)
    return name


def _user(name: str) -> str:
    """Return the name of a user that may be changed: whoever asks, the server's own are left alone."""
    if problem := user_problem(name):
        raise Rejected(problem)
    return name


def _text_rules(schema: Schema) -> str:
    character_set, collation = _identifier(schema.character_set), _identifier(schema.collation)
    return f"{quoted(_schema(schema.name))} CHARACTER SET {character_set} COLLATE {collation}"


def _code(error: pymysql.MySQLError) -> int:
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0


def _is_passing(code: int) -> bool:
    # What begins with 2 is the client's own: the connection broke.
    return code in _PASSING or code == 0 or CR.CR_UNKNOWN_ERROR <= code < 3000


def _translate(error: pymysql.MySQLError, login: ServerLogin) -> AdapterError:
    """Return our error for a foreign one, with nothing of the statement in it."""
    code = _code(error)
    where = f"MariaDB at {login.host}:{login.port}"
    if code in _LOGIN_REFUSED:
        return Refused(f"{where} does not accept user {login.user} with the password that was given")
    if code in _FORBIDDEN:
        return Refused(f"{where} does not let user {login.user} do this (error {code})")
    if code in {CR.CR_CONN_HOST_ERROR, CR.CR_CONNECTION_ERROR}:
        return Unavailable(f"{where} does not answer")
    if _is_passing(code):
        return Unavailable(f"{where} is not ready (error {code})")
    if code in _TELLING:
        return Rejected(f"{where}: {error.args[1]}")
    return Rejected(f"{where} does not accept this (error {code})")

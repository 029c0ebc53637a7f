"""The MariaDB adapter where it needs no server, and the fake held to the contract."""

import socket
from dataclasses import dataclass, field

import pymysql
import pytest

from stackwright.adapters import mariadb
from stackwright.adapters.errors import AdapterError, Refused, Rejected, Unavailable
from stackwright.adapters.mariadb import MariaDB, ServerLogin
from stackwright.adapters.mariadb_grants import ALL_IN_SCHEMA, Grant, listed, parse_grants, takings
from stackwright.adapters.mariadb_marks import SCHEMA, UNMARKED, Mark, Thing
from stackwright.adapters.mariadb_passwords import choose_kept, digest, identified, read_digests
from tests.contracts.mariadb import Everything, MariaDBContract
from tests.fakes.mariadb import FakeMariaDB

LOGIN = ServerLogin("db.example", 3306, "root", "the-password")


class TestFake(MariaDBContract):
    @pytest.fixture
    def fake(self) -> FakeMariaDB:
        return FakeMariaDB()

    @pytest.fixture
    def server(self, fake: FakeMariaDB) -> MariaDB:
        return fake.connect(ServerLogin("fake", 3306, "root", fake.password))

    @pytest.fixture
    def wrong(self, fake: FakeMariaDB) -> MariaDB:
        return fake.connect(ServerLogin("fake", 3306, "root", "wrong-password"))

    @pytest.fixture
    def everything(self, fake: FakeMariaDB) -> Everything:
        def give(user: str, schema: str) -> None:
            fake.users[user].grants[f"{schema}.*"] = Grant(f"{schema}.*", ALL_IN_SCHEMA)

        return give

    async def test_one_that_is_down_is_unavailable(self, fake: FakeMariaDB, server: MariaDB) -> None:
        fake.down = True
        with pytest.raises(Unavailable, match="does not answer"):
            await server.accepts("anybody", "anything")


EVERYTHING = frozenset({"ALL PRIVILEGES"})
USAGE = "GRANT USAGE ON *.* TO `nova`@`%` IDENTIFIED BY PASSWORD '*0123'"


@pytest.mark.parametrize(
    ("lines", "grants"),
    [
        pytest.param([USAGE], (), id="who-may-log-in-may-do-nothing"),
        pytest.param(
            [USAGE, r"GRANT ALL PRIVILEGES ON `nova\_api`.* TO `nova`@`%`"],
            (Grant("nova_api.*", EVERYTHING),),
            id="an-escaped-name-is-the-name",
        ),
        pytest.param(
            ["GRANT ALL PRIVILEGES ON `nova_api`.* TO `nova`@`%`"],
            (Grant("LIKE nova_api.*", EVERYTHING),),
            id="a-grant-on-a-pattern-is-not-taken-for-ours",
        ),
        pytest.param(
            ["GRANT SELECT, LOCK TABLES ON `nova`.* TO `nova`@`%`"],
            (Grant("nova.*", frozenset({"SELECT", "LOCK TABLES"})),),
            id="some-privileges-are-not-all",
        ),
        pytest.param(
            ["GRANT ALL PRIVILEGES ON *.* TO `nova`@`%` WITH GRANT OPTION"],
            (Grant("*.*", EVERYTHING, grantable=True),),
            id="a-second-root-is-seen",
        ),
        pytest.param(
            ["GRANT SELECT (`id`, `name`), INSERT ON `nova`.`cells` TO `nova`@`%`"],
            (Grant("nova.cells", frozenset({"SELECT (`id`, `name`)", "INSERT"})),),
            id="a-table-is-a-scope",
        ),
        pytest.param(
            ["GRANT EXECUTE ON PROCEDURE `mysql`.`AddGeometryColumn` TO `nova`@`%`"],
            (Grant("PROCEDURE mysql.AddGeometryColumn", frozenset({"EXECUTE"})),),
            id="a-procedure-is-a-scope",
        ),
        pytest.param(
            ["GRANT PROXY ON 'root'@'%' TO 'nova'@'%' WITH GRANT OPTION"],
            (Grant("PROXY 'root'@'%'", frozenset({"PROXY"}), grantable=True),),
            id="who-acts-for-root-is-seen",
        ),
        pytest.param(["GRANT `auditor` TO `nova`@`%`"], (Grant("auditor", frozenset()),), id="a-role-is-its-name"),
    ],
)
def test_grants_are_read(lines: list[str], grants: tuple[Grant, ...]) -> None:
    assert parse_grants(lines) == grants


def test_all_privileges_are_those_that_the_server_lists() -> None:
    rows = [(r"nova\_api", "SELECT"), (r"nova\_api", "SHOW CREATE ROUTINE"), ("nova", "DROP"), ("nova_api", "EVENT")]
    summed = Grant("nova_api.*", EVERYTHING)
    assert listed(summed, rows) == Grant("nova_api.*", frozenset({"SELECT", "SHOW CREATE ROUTINE"}))
    assert listed(summed, []) == Grant("nova_api.*", ALL_IN_SCHEMA)


@pytest.mark.parametrize(
    ("grant", "statements"),
    [
        pytest.param(
            Grant("nova_api.*", frozenset({"EVENT", "CREATE ROUTINE"}), grantable=True),
            [r"GRANT OPTION ON `nova\_api`.*", r"CREATE ROUTINE, EVENT ON `nova\_api`.*"],
            id="in-a-schema-one-by-one",
        ),
        pytest.param(Grant("*.*", EVERYTHING), ["ALL PRIVILEGES ON *.*"], id="everywhere"),
        pytest.param(Grant("LIKE m%.*", EVERYTHING), ["ALL PRIVILEGES ON `m%%`.*"], id="in-schemas-that-match"),
        pytest.param(
            Grant("nova.cells", frozenset({"SELECT (`id`)"})), ["ALL PRIVILEGES ON `nova`.`cells`"], id="on-a-table"
        ),
        pytest.param(
            Grant("FUNCTION nova.f", frozenset({"EXECUTE"})), ["ALL PRIVILEGES ON FUNCTION `nova`.`f`"], id="a-function"
        ),
        pytest.param(Grant("PROXY 'root'@'%'"), ["PROXY ON 'root'@'%%'"], id="acting-for-another"),
        pytest.param(Grant("auditor", frozenset()), ["`auditor`"], id="a-role"),
    ],
)
def test_grants_are_taken_away(grant: Grant, statements: list[str]) -> None:
    assert list(takings(grant)) == statements


@pytest.mark.parametrize(
    ("scope", "is_beyond"),
    [
        ("*.*", True),
        ("mysql.*", True),
        ("mysql.proc", True),
        ("PROCEDURE mysql.x", True),
        ("LIKE m_sql.*", True),
        ("LIKE %.*", True),
        (r"LIKE m\_%.*", False),
        ("LIKE nova_api.*", False),
        ("PROXY 'root'@'%'", True),
        ("nova.*", False),
        ("nova.mysql", False),
        ("auditor", False),
    ],
)
def test_what_reaches_the_servers_own_tables_is_no_services(scope: str, is_beyond: bool) -> None:
    assert Grant(scope).is_beyond_schemas is is_beyond


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        pytest.param(pymysql.OperationalError(2003, "Can't connect"), Unavailable, id="nobody-listens"),
        pytest.param(pymysql.OperationalError(2013, "Lost connection"), Unavailable, id="the-connection-broke"),
        pytest.param(pymysql.OperationalError(1047, "WSREP has not yet"), Unavailable, id="a-node-without-a-quorum"),
        pytest.param(pymysql.OperationalError(1040, "Too many"), Unavailable, id="too-many-connections"),
        pytest.param(pymysql.err.InterfaceError(0, ""), Unavailable, id="an-error-without-a-number"),
        pytest.param(pymysql.OperationalError(1045, "Access denied"), Refused, id="a-wrong-password"),
        pytest.param(pymysql.OperationalError(1227, "you need SUPER"), Refused, id="a-missing-right"),
        pytest.param(pymysql.ProgrammingError(1064, "near 'the-password'"), Rejected, id="bad-sql-is-not-repeated"),
    ],
)
def test_errors_are_translated_and_say_no_secret(error: pymysql.MySQLError, kind: type[AdapterError]) -> None:
    translated = mariadb._translate(error, LOGIN)
    assert type(translated) is kind
    assert "db.example:3306" in str(translated)
    assert "the-password" not in str(translated)


@dataclass
class Scripted:
    """A connection of PyMySQL: what its server answers to statements that begin with these words, error or rows."""

    answers: dict[str, int | list[tuple[object, ...]]]
    statements: list[str] = field(default_factory=list)

    def cursor(self) -> "Scripted":
        return self

    def __enter__(self) -> "Scripted":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""

    def close(self) -> None:
        """Nothing to close."""

    def execute(self, statement: str, _values: object = None) -> None:
        self.statements.append(statement)
        answer = self.answers.get(statement.split(maxsplit=1)[0], [])
        if isinstance(answer, int):
            raise pymysql.OperationalError(answer, "scripted")

    def fetchall(self) -> list[tuple[object, ...]]:
        answer = self.answers.get(self.statements[-1].split(maxsplit=1)[0], [])
        return answer if isinstance(answer, list) else []


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param({"SELECT": 1146, "REPLACE": 1146, "CREATE": 1044}, id="no-table-and-none-may-be-made"),
        pytest.param({"SELECT": 1049, "REPLACE": 1142}, id="no-table-and-no-right-to-write"),
        pytest.param({"REPLACE": 1142}, id="a-table-to-read-only"),
    ],
)
async def test_marks_that_may_not_be_written_are_none(
    monkeypatch: pytest.MonkeyPatch, answers: dict[str, int | list[tuple[object, ...]]]
) -> None:
    monkeypatch.setattr(pymysql, "connect", lambda **_: Scripted(answers))
    monkeypatch.setattr(mariadb, "_UNKEPT", set())
    thing = Thing(SCHEMA, "nova")
    assert await mariadb.connect(LOGIN).mark(thing) == UNMARKED
    await mariadb.connect(LOGIN).set_mark(thing, Mark("cloud/nova", made=True))
    # Each pass has a session of its own, and none plans what cannot be done.
    assert await mariadb.connect(LOGIN).mark(thing) is None
    assert await mariadb.connect(ServerLogin("other.example", 3306, "root", "p")).mark(thing) == UNMARKED


async def test_marks_of_others_count_where_none_may_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = Scripted({"REPLACE": 1142, "SELECT": [("cloud/nova#1f2e", 1, "")]})
    monkeypatch.setattr(pymysql, "connect", lambda **_: scripted)
    server, thing = mariadb.SqlServer(LOGIN), Thing(SCHEMA, "nova")
    await server.set_mark(thing, Mark("cloud/other"))
    assert await server.mark(thing) == Mark("cloud/nova", made=True, galera="1f2e", fixed=True)


async def test_who_may_write_a_mark_need_not_be_allowed_to_make_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = Scripted({"CREATE": 1044})
    monkeypatch.setattr(pymysql, "connect", lambda **_: scripted)
    server, thing = mariadb.SqlServer(LOGIN), Thing(SCHEMA, "nova")
    await server.set_mark(thing, Mark("cloud/nova"))
    assert await server.mark(thing) == UNMARKED


async def test_a_port_where_nobody_listens_is_unavailable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    server = mariadb.connect(ServerLogin("127.0.0.1", port, "root", "the-password"))
    with pytest.raises(Unavailable, match="does not answer"):
        await server.schema("nova")
    with pytest.raises(Unavailable, match="does not answer"):
        await server.accepts("nova", "anything")


def test_a_login_does_not_show_its_password() -> None:
    assert "the-password" not in repr(LOGIN)


A, B, C = (digest(word) for word in "abc")
PLAIN = f'{{"access":0,"plugin":"mysql_native_password","authentication_string":"{A}"}}'
# As MariaDB 11.8 writes it: the empty one of the list stands for the row itself.
TWO = (
    f'{{"access":0,"version_id":110806,"plugin":"mysql_native_password","authentication_string":"{B}",'
    f'"auth_or":[{{}},{{"plugin":"mysql_native_password","authentication_string":"{A}"}}],"account_locked":false}}'
)


@pytest.mark.parametrize(
    ("row", "digests"),
    [
        pytest.param(PLAIN, (A,), id="one"),
        pytest.param(PLAIN.replace("}", ',"auth_or":[{}]}'), (A,), id="one-after-there-were-two"),
        pytest.param(TWO, (B, A), id="two"),
        pytest.param(TWO.replace("mysql_native_password", "ed25519", 1), (A,), id="another-plugin-is-not-ours"),
        pytest.param(PLAIN.replace(A, ""), (), id="no-password"),
        pytest.param(PLAIN.replace(A, "invalid"), (), id="no-digest"),
        pytest.param('{"access":18446744073709551615}', (), id="who-cannot-log-in"),
        pytest.param("no json", (), id="what-nobody-knows"),
    ],
)
def test_the_digests_of_a_user_are_read(row: str, digests: tuple[str, ...]) -> None:
    assert read_digests(row) == digests


@pytest.mark.parametrize(
    ("known", "kept"),
    [((), ""), ((C,), ""), ((A,), A), ((B, A), A), ((C, A), A), ((B, C), B)],
)
def test_beside_a_new_password_the_oldest_is_kept(known: tuple[str, ...], kept: str) -> None:
    assert choose_kept(known, C) == kept


def test_a_statement_has_one_password_or_two_as_values() -> None:
    assert identified((B,)) == ("IDENTIFIED BY PASSWORD %s", (B,))
    two = "IDENTIFIED VIA mysql_native_password USING %s OR mysql_native_password USING %s"
    assert identified((B, A)) == (two, (B, A))


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(1146, id="an-older-server"),
        pytest.param(1142, id="no-right-to-read"),
        pytest.param(1044, id="no-such-right"),
        pytest.param(1143, id="no-right-to-read-the-column"),
        pytest.param(1356, id="a-view-that-is-broken"),
        pytest.param(9999, id="what-nobody-knows"),
    ],
)
async def test_where_digests_cannot_be_read_the_password_is_changed_all_the_same(
    monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    scripted = Scripted({"SELECT": error})
    monkeypatch.setattr(pymysql, "connect", lambda **_: scripted)
    server = mariadb.SqlServer(LOGIN)
    found = await server.user("nova")
    assert found is not None
    assert not found.has_other_password("new-password")
    await server.set_password("nova", "new-password", keep=True)
    assert scripted.statements[-1] == "ALTER USER %s@'%%' IDENTIFIED BY PASSWORD %s ACCOUNT UNLOCK"


@pytest.mark.parametrize("error", [2013, 1047, 1205], ids=["it-broke", "no-quorum", "a-lock"])
async def test_digests_that_cannot_be_read_now_are_asked_for_again(monkeypatch: pytest.MonkeyPatch, error: int) -> None:
    scripted = Scripted({"SELECT": error})
    monkeypatch.setattr(pymysql, "connect", lambda **_: scripted)
    server = mariadb.SqlServer(LOGIN)
    with pytest.raises(Unavailable):
        await server.user("nova")
    with pytest.raises(Unavailable):
        # A former password would be lost.
        await server.set_password("nova", "new-password", keep=True)
    assert not [statement for statement in scripted.statements if statement.startswith("ALTER")]


async def test_a_user_is_looked_at_on_one_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted, opened = Scripted({"SELECT": [(TWO,)]}), list[str]()

    def open_one(**login: str) -> Scripted:
        opened.append(login["user"])
        return scripted

    monkeypatch.setattr(pymysql, "connect", open_one)
    found = await mariadb.SqlServer(LOGIN).user("nova")
    assert found == mariadb.User((), (B, A))
    assert opened == ["root"]
    assert [statement.split(maxsplit=1)[0] for statement in scripted.statements] == ["SET", "SHOW", "SELECT"]
    assert A not in str(found)


def test_the_digest_is_the_servers_own() -> None:
    assert digest("password") == "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19"

"""The adapter's promises on the real server of the image that was built, as a node of a Galera with one member.

All DDL is replicated from such a node as it is from one of three: as a statement, in the order of all.
"""

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest

from stackwright.adapters import mariadb
from stackwright.adapters.mariadb import MariaDB, ServerLogin
from stackwright.adapters.mariadb_grants import pattern
from tests.contracts.mariadb import Everything, MariaDBContract
from tests.images.built import container, why_not_built
from tests.ports import free_ports

PROGRAMS = Path(__file__).parents[2] / "charts" / "mariadb" / "files"
ROOT = "root-password"
PATIENCE = 60.0
SCRIPT = f"""
import time
from pathlib import Path
from choice import Record
from server import Server

home = Path("/tmp/database")
server = Server(home, "db-0", home / "run")
server.configure("rsync", home / "included")
server.install()
server.start(Record("db-0", "life", empty=True), [], "127.0.0.1", bootstrap=True)
while not server.status().synced:
    assert server.running
    time.sleep(0.2)
server.ask("CREATE USER root@'%' IDENTIFIED BY '{ROOT}'; GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION")
(home / "size").write_text(server.ask("SHOW STATUS LIKE 'wsrep_cluster_size'"))
(home / "ready").touch()
while not (home / "stop").exists():
    time.sleep(0.2)
server.stop(60)
"""


@pytest.fixture(scope="module")
def login() -> Iterator[ServerLogin]:
    """How the root user logs in to a server that runs while the tests do."""
    if reason := why_not_built(["mariadb"]):
        pytest.skip(reason)
    with container("mariadb") as made:
        home = made.root / "tmp" / "database"
        for folder in (home, home / "run", home / "included"):
            folder.mkdir(mode=0o777)
            folder.chmod(0o777)
        for name in ("choice.py", "server.py"):
            shutil.copy(PROGRAMS / name, home / name)
        (home / "try.py").write_text(SCRIPT)
        (made.root / "etc/hosts").write_text("127.0.0.1 localhost\n")
        clients, cluster = free_ports(2)
        (home / "included" / "01.cnf").write_text(
            f"[mysqld]\nport = {clients}\nbind-address = 127.0.0.1\n"
            f"wsrep_provider_options = gmcast.listen_addr=tcp://127.0.0.1:{cluster}\n"
        )
        said: list[str] = []
        running = threading.Thread(
            target=lambda: said.append(made.run("python3 /tmp/database/try.py", timeout=600).output)
        )
        running.start()
        try:
            until = time.monotonic() + PATIENCE
            while not (home / "ready").exists():
                assert running.is_alive(), said
                assert time.monotonic() < until, "the server did not start in time"
                time.sleep(0.2)
            assert (home / "size").read_text().split() == ["wsrep_cluster_size", "1"]
            yield ServerLogin("127.0.0.1", clients, "root", ROOT)
        finally:
            (home / "stop").touch()
            running.join()


class TestReal(MariaDBContract):
    @pytest.fixture
    def server(self, login: ServerLogin) -> MariaDB:
        return mariadb.connect(login)

    @pytest.fixture
    def wrong(self, login: ServerLogin) -> MariaDB:
        return mariadb.connect(ServerLogin(login.host, login.port, login.user, "wrong-password"))

    @pytest.fixture
    def everything(self, login: ServerLogin) -> Everything:
        def give(user: str, schema: str) -> None:
            ask(login, f"GRANT ALL PRIVILEGES ON {pattern(schema)}.* TO %s@'%%'", user)

        return give

    async def test_no_password_stands_in_what_the_server_shows(
        self, server: MariaDB, login: ServerLogin, name: str
    ) -> None:
        await server.create_user(name, "first-password")
        await server.set_password(name, "second-password", keep=True)
        shown = ask(login, "SHOW CREATE USER %s@'%%'", name)
        assert shown.count("mysql_native_password USING '*") == 2
        assert "-password" not in shown
        await server.drop_user(name)

    async def test_a_locked_user_is_let_in_again_with_both_passwords(
        self, server: MariaDB, login: ServerLogin, name: str
    ) -> None:
        await server.create_user(name, "first-password")
        ask(login, "ALTER USER %s@'%%' ACCOUNT LOCK", name)
        assert not await server.accepts(name, "first-password")
        await server.set_password(name, "second-password", keep=True)
        assert await server.accepts(name, "first-password")
        assert await server.accepts(name, "second-password")
        await server.drop_user(name)

    async def test_who_may_not_read_digests_keeps_no_former_password(
        self, server: MariaDB, login: ServerLogin, name: str
    ) -> None:
        admin = f"{name}_admin"
        await server.create_user(name, "first-password")
        await server.create_user(admin, "admin-password")
        ask(login, "GRANT CREATE USER ON *.* TO %s@'%%'", admin)
        lesser = mariadb.connect(ServerLogin(login.host, login.port, admin, "admin-password"))
        await lesser.set_password(name, "second-password", keep=True)
        assert await server.accepts(name, "second-password")
        assert not await server.accepts(name, "first-password")
        for user in (name, admin):
            await server.drop_user(user)


def ask(login: ServerLogin, statement: str, *values: str) -> str:
    with (
        pymysql.connect(
            host=login.host, port=login.port, user=login.user, password=login.password, autocommit=True
        ) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(statement, values)
        return str(cursor.fetchall())

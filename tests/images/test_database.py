"""The database of the image that was built brings its own tables to its release, whoever wrote them before."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.images.built import Built, container, why_not_built
from tests.ports import free_ports

PROGRAMS = Path(__file__).parents[2] / "charts" / "mariadb" / "files"
COLUMN = "Show_create_routine_priv"
# A server with new data, and then with what a release of before would have left.
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
asked = "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA='mysql' AND TABLE_NAME='db'"
asked += " AND COLUMN_NAME='{COLUMN}'"
release = server.ask("SELECT VERSION()").strip()
known = server.data / "mariadb_upgrade_info"

def upgrade():
    begun = server.upgrade()
    while begun.ended is None:
        time.sleep(0.1)
    return begun.ended

print("new data:", known.exists(), upgrade(), flush=True)
server.ask("SET SESSION wsrep_on=OFF; ALTER TABLE mysql.db DROP COLUMN {COLUMN};")
known.write_text("10.11.6-MariaDB")
print("before:", server.ask(asked).strip(), flush=True)
print("older data:", upgrade(), server.ask(asked).strip(), flush=True)
print("after:", release.startswith(known.read_text().strip().removesuffix("-MariaDB")), upgrade(), flush=True)
# What another node gave, whose tables are older than what is noted here.
server.ask("SET SESSION wsrep_on=OFF; ALTER TABLE mysql.db DROP COLUMN {COLUMN};")
server.forget_release()
print("given:", upgrade(), server.ask(asked).strip(), flush=True)
begun = server.upgrade()
begun.stop()
print("stopped:", begun.ended, server.status().synced, flush=True)
server.stop(60)
"""  # noqa: S608  our own


@pytest.fixture(scope="module")
def mariadb() -> Iterator[Built]:
    if reason := why_not_built(["mariadb"]):
        pytest.skip(reason)
    with container("mariadb") as made:
        yield made


def test_a_server_brings_tables_of_an_older_release_to_its_own(mariadb: Built) -> None:
    home = mariadb.root / "tmp" / "database"
    for folder in (home, home / "run", home / "included"):
        folder.mkdir(mode=0o777)
        folder.chmod(0o777)
    for name in ("choice.py", "server.py"):
        shutil.copy(PROGRAMS / name, home / name)
    (home / "try.py").write_text(SCRIPT)
    (mariadb.root / "etc/hosts").write_text("127.0.0.1 localhost\n")
    clients, cluster = free_ports(2)
    (home / "included" / "01.cnf").write_text(
        f"[mysqld]\nport = {clients}\nbind-address = 127.0.0.1\n"
        f"wsrep_provider_options = gmcast.listen_addr=tcp://127.0.0.1:{cluster}\n"
    )
    said = mariadb.run("python3 /tmp/database/try.py", alone=True).output
    words = ("new data", "before", "older data", "after", "given", "stopped")
    lines = [line for line in said.splitlines() if line.split(":")[0] in words]
    assert lines == [
        "new data: True 0",
        "before: 0",
        "older data: 0 1",
        "after: True 0",
        "given: 0 1",
        "stopped: -9 True",
    ], said

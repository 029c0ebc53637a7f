"""The server of one database, and its file: made, joined, asked, told. Each function does one thing."""

import json
import os
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import cluster
from programs import Failed, run, say

RUN = Path(os.environ.get("RUN", "/run/ovn"))
SCHEMAS = Path(os.environ.get("SCHEMAS", "/usr/share/ovn"))


@dataclass(frozen=True)
class Database:
    """A database: its name, its schema, the table that lists its connections, and its ports."""

    name: str
    schema: Path
    table: str
    port: int
    raft: int


DATABASES = {
    "nb": Database("OVN_Northbound", SCHEMAS / "ovn-nb.ovsschema", "NB_Global", 6641, 6643),
    "sb": Database("OVN_Southbound", SCHEMAS / "ovn-sb.ovsschema", "SB_Global", 6642, 6644),
}
CONTROL, SOCKET = RUN / "db.ctl", RUN / "db.sock"


def read_file(path: Path) -> cluster.File | None:
    """Return what the file of a database says; None if there is none. One that is empty is no file."""
    if path.exists() and path.stat().st_size == 0:
        path.unlink()
    if not path.exists():
        return None
    if is_standalone(path):
        return cluster.File(is_backup=True)
    server = run("ovsdb-tool", "db-sid", str(path), seconds=120)
    try:
        return cluster.File(server, run("ovsdb-tool", "db-cid", str(path), seconds=120))
    except Failed:
        # A server that has not joined yet does not know its cluster.
        return cluster.File(server)


def is_standalone(path: Path) -> bool:
    """Return whether the file is of a single server, such as a restored backup."""
    try:
        run("ovsdb-tool", "db-is-standalone", str(path), seconds=120)
    except Failed:
        return False
    return True


def put_aside(path: Path) -> None:
    """Keep the file under another name; one that was kept before goes."""
    say(f"{path} is kept as {path.name}.aside")
    path.replace(path.with_name(f"{path.name}.aside"))


def create(database: Database, path: Path, address: str, timer: int, *, kept: bool) -> None:
    """Make a cluster of this server alone: with the data of the file if they are `kept`, else empty."""
    source = database.schema
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    if kept:
        source = path
        if not is_standalone(path):
            source = path.with_name(f"{path.name}.standalone")
            source.unlink(missing_ok=True)
            run("ovsdb-tool", "cluster-to-standalone", str(source), str(path), seconds=300)
    run("ovsdb-tool", f"--election-timer={timer}", "create-cluster", str(new), str(source), address, seconds=300)
    # There is a file at all times: who is killed here and finds none would begin with an empty database.
    if path.exists():
        aside = path.with_name(f"{path.name}.aside")
        aside.unlink(missing_ok=True)
        aside.hardlink_to(path)
    new.replace(path)
    _settle(path.parent)
    path.with_name(f"{path.name}.standalone").unlink(missing_ok=True)


def _settle(folder: Path) -> None:
    """Have the names in a folder on disk, before others are told of a file in it and put theirs aside."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def join(database: Database, path: Path, address: str, others: list[str]) -> None:
    """Make a file that joins the cluster of which one of the others is a member."""
    run("ovsdb-tool", "join-cluster", str(path), database.name, address, *others, seconds=60)


class Server:
    """The running server of a database."""

    def __init__(self, database: Database, path: Path, level: str) -> None:
        self.database = database
        for left in (CONTROL, SOCKET, RUN / "db.pid"):
            left.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [
                "ovsdb-server",
                "-vfile:off",
                f"-vconsole:{level}",
                f"--remote=punix:{SOCKET}",
                f"--remote=db:{database.name},{database.table},connections",
                f"--unixctl={CONTROL}",
                f"--pidfile={RUN / 'db.pid'}",
                str(path),
            ]
        )
        self.level = level

    def tell(self, *command: str, seconds: float = 15) -> str:
        """Tell the server something by its control socket, and return its answer."""
        return run("ovs-appctl", "-t", str(CONTROL), *command, seconds=seconds)

    def status(self) -> cluster.Status:
        """Return what the server says of its cluster; an empty status if it does not answer."""
        try:
            return cluster.parse_status(self.tell("cluster/status", self.database.name))
        except Failed:
            return cluster.Status()

    def transact(self, *operations: dict[str, object]) -> list[dict[str, object]]:
        """Run a transaction and return the results of its operations."""
        request = json.dumps([self.database.name, *operations])
        answer: list[dict[str, object]] = json.loads(run("ovsdb-client", "transact", f"unix:{SOCKET}", request))
        if wrong := [result for result in answer if result and result.get("error")]:
            raise Failed(f"{self.database.name}: {wrong[0]}")
        return answer

    def set_level(self, level: str) -> None:
        """Set the level of the log."""
        if level != self.level:
            self.tell("vlog/set", f"console:{level}")
            self.level = level

    def listen(self, probe: int) -> None:
        """Let the server listen for clients on all addresses, if it does not do so yet; `probe` is in milliseconds."""
        target = f"ptcp:{self.database.port}:{'[::]' if _has_ipv6() else '0.0.0.0'}"  # noqa: S104  policies close it
        found = self.transact({"op": "select", "table": "Connection", "where": [], "columns": _COLUMNS})[0]["rows"]
        if found == [{"target": target, "inactivity_probe": probe}]:
            return
        row = {"target": target, "inactivity_probe": probe}
        if isinstance(found, list) and [entry["target"] for entry in found] == [target]:
            self.transact({"op": "update", "table": "Connection", "where": [], "row": row})
            return
        self.transact(
            {"op": "insert", "table": "Connection", "row": row, "uuid-name": "new"},
            {
                "op": "update",
                "table": self.database.table,
                "where": [],
                "row": {"connections": ["set", [["named-uuid", "new"]]]},
            },
        )

    def has_table(self) -> bool:
        """Return whether the table that lists the connections has its one row; else it is added."""
        rows = self.transact({"op": "select", "table": self.database.table, "where": [], "columns": ["_uuid"]})
        if not rows[0]["rows"]:
            self.transact({"op": "insert", "table": self.database.table, "row": {}})
        return True

    def convert(self) -> None:
        """Bring the schema up to that of the image; on large databases this takes minutes.

        Never back: while images are replaced, one of the former release may lead, and would drop what is new.
        """
        place, schema = f"unix:{SOCKET}", str(self.database.schema)
        present = run("ovsdb-client", "get-schema-version", place, self.database.name)
        if cluster.is_newer(run("ovsdb-tool", "schema-version", schema), present):
            say(f"{self.database.name} gets the schema of this release")
            run("ovsdb-client", "-t", "600", "convert", place, schema, seconds=620)

    def stop(self, seconds: float = 60) -> None:
        """End the server in good order; one that does not end is killed."""
        try:
            self.tell("exit")
        except Failed:
            self.process.terminate()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def leave(self, seconds: float) -> bool:
        """Leave the cluster; return whether the others confirmed it in time."""
        end = time.monotonic() + seconds
        self.tell("cluster/leave", self.database.name)
        while time.monotonic() < end:
            if self.process.poll() is not None or self._has_left():
                return True
            time.sleep(0.5)
        return False

    def _has_left(self) -> bool:
        """Return whether the server has left: it then forgets the database."""
        try:
            return cluster.parse_status(self.tell("cluster/status", self.database.name)).status == "left cluster"
        except Failed as error:
            return "unknown cluster" in str(error)


_COLUMNS = ["target", "inactivity_probe"]


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::", 0))
    except OSError:
        return False
    return True

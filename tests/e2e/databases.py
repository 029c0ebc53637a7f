"""A MariaDB from its chart, by the real helm; a client that counts what was acknowledged, and kills of its servers."""

import base64
import json
import os
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import pymysql

from stackwright.adapters.mariadb import ServerLogin
from stackwright.kube.resource import JsonObject
from stackwright.local import binaries, programs
from tests.e2e.clusters import Kubectl
from tests.e2e.waiting import eventually

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "mariadb"
NAME = "openstack"
ROWS = 1000
# Seconds in which a cluster forms or heals on a loaded machine.
PATIENCE = 300.0


@dataclass(frozen=True)
class Database:
    """A release of the chart, in one namespace."""

    kubectl: Kubectl
    image: str

    def install(self, replicas: int) -> None:
        """Install or scale it, and wait until all nodes are ready."""
        # Through standard input: what stands in arguments, everybody on the machine can read.
        root = {"metadata": {"name": f"{NAME}-mariadb-root"}, "stringData": {"DatabasePassword": os.urandom(16).hex()}}
        self.kubectl.apply({"apiVersion": "v1", "kind": "Secret", **root})
        config = CHART / "example" / "config"
        self.kubectl("create", "secret", "generic", f"{NAME}-config-data", f"--from-file={config}")
        self.helm("install", replicas)
        self.settled(replicas)

    def helm(self, verb: str, replicas: int) -> None:
        """Run the real helm."""
        values = {
            "image": self.image,
            "rootSecret": {"name": f"{NAME}-mariadb-root"},
            "components": {
                "server": {"replicas": replicas, "config": f"{NAME}-config-data", "storage": {"request": "1G"}}
            },
        }
        command: list[str | Path] = [binaries.ensure(programs.ALL)["helm"], verb, NAME, CHART, "--values=-"]
        options = [f"--kubeconfig={self.kubectl.kubeconfig}", f"--namespace={self.kubectl.namespace}"]
        given = json.dumps(values)
        subprocess.run([*command, *options], input=given, text=True, check=True, capture_output=True, timeout=120)

    def scale(self, replicas: int) -> None:
        """Change the number of nodes, and wait until these are there and no other."""
        self.helm("upgrade", replicas)
        self.settled(replicas)

    def settled(self, replicas: int) -> None:
        """Wait until that many nodes are ready, and each of them sees that many members."""
        self.kubectl("rollout", "status", f"statefulset/{NAME}-galera", "--timeout=220s")
        eventually(lambda: self.views() == [str(replicas)] * replicas, f"{replicas} nodes in one cluster", PATIENCE)
        # kube-proxy learns of a ready node at the same time as we, and acts within a second.
        eventually(self.answers, "the Service leads to a node")

    def answers(self) -> bool:
        """Return whether somebody listens at the Service's address."""
        login = self.login
        try:
            socket.create_connection((login.host, login.port), timeout=10).close()
        except OSError:
            return False
        return True

    def views(self) -> list[str]:
        """How many members each node sees; a node that is not ready sees nobody."""
        query = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME='wsrep_cluster_size'"
        pods = json.loads(self.kubectl("get", "pods", "--output=json"))["items"]
        return [self.inside(pod["metadata"]["name"], query) if _ready(pod) else "" for pod in pods]

    def inside(self, pod: str, query: str) -> str:
        """Ask one node itself."""
        words = ["mariadb", "--user=mysql", "--batch", "--skip-column-names", f"--execute={query}"]
        done = subprocess.run(
            self.kubectl.command("exec", pod, "--", *words), capture_output=True, text=True, check=False, timeout=60
        )
        return done.stdout.strip()

    @property
    def login(self) -> ServerLogin:
        """How a client on this machine logs in."""
        secret = self.kubectl.get(f"secret/{NAME}-mariadb-root", "{.data.DatabasePassword}")
        address = self.kubectl.get(f"service/{NAME}", "{.spec.clusterIP}")
        return ServerLogin(address, 3306, "root", base64.b64decode(secret).decode())

    def kill(self) -> int:
        """Kill the mariadbd of every node at once, as the kernel would; return how many there were."""
        path = "{.items[*].status.containerStatuses[0].containerID}"
        listed = self.kubectl.get("pods", path).split()
        containers = [entry.rpartition("//")[2] for entry in listed]
        found = [process for container in containers for process in _servers_in(container)]
        for process in found:
            os.kill(process, signal.SIGKILL)
        return len(found)


def _ready(pod: JsonObject) -> bool:
    stated = pod["status"].get("conditions", ())
    return any(entry["type"] == "Ready" and entry["status"] == "True" for entry in stated)


def _servers_in(container: str) -> list[int]:
    """Return the mariadbd processes of a container, by the cgroup that carries its name."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "comm").read_text().strip() == "mariadbd" and container in (folder / "cgroup").read_text():
                found.append(int(folder.name))
        except OSError:
            continue  # It has ended meanwhile.
    return found


@dataclass
class Writer:
    """A client that inserts rows one by one, and remembers those whose commit was acknowledged."""

    login: ServerLogin
    acknowledged: list[int] = field(default_factory=list)
    failures: int = 0
    longest: float = 0.0
    _next: int = 0
    _connection: "pymysql.Connection[pymysql.cursors.Cursor] | None" = None

    def connect(self) -> "pymysql.Connection[pymysql.cursors.Cursor]":
        return pymysql.connect(
            host=self.login.host,
            port=self.login.port,
            user=self.login.user,
            password=self.login.password,
            connect_timeout=2,
            read_timeout=5,
            write_timeout=5,
            autocommit=True,
        )

    def prepare(self) -> None:
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE IF NOT EXISTS chaos")
            cursor.execute("CREATE TABLE IF NOT EXISTS chaos.written (id INT PRIMARY KEY) ENGINE=InnoDB")

    def write(self, rows: int) -> None:
        """Write until that many more rows are acknowledged, through whatever happens to the server."""
        goal, last = len(self.acknowledged) + rows, time.monotonic()
        while len(self.acknowledged) < goal:
            if self._insert():
                self.longest, last = max(self.longest, time.monotonic() - last), time.monotonic()
            else:
                self.failures += 1
                assert time.monotonic() < last + PATIENCE, f"no row was acknowledged for {PATIENCE:g} s"
                time.sleep(0.2)

    def _insert(self) -> bool:
        # A row that failed may be there or not, so its number is not used again.
        self._next += 1
        try:
            self._connection = self._connection or self.connect()
            with self._connection.cursor() as cursor:
                cursor.execute("INSERT INTO chaos.written VALUES (%s)", (self._next,))
        except (pymysql.MySQLError, OSError):
            self._connection = None
            return False
        self.acknowledged.append(self._next)
        return True

    def lost(self) -> list[int]:
        """Return what was acknowledged and is not there."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT id FROM chaos.written")
            there = {row[0] for row in cursor.fetchall()}
        return [row for row in self.acknowledged if row not in there]


def survive(database: Database, replicas: int, writer: Writer | None = None) -> Writer:
    """Write rows, kill all servers in the middle, write on; nobody lends a hand. Return who wrote."""
    writer = writer or Writer(database.login)
    writer.prepare()
    writer.write(ROWS // 2)
    assert database.kill() == replicas
    writer.write(ROWS - ROWS // 2)
    database.settled(replicas)
    return writer

"""One mariadbd and its data: where the data ends, starting it in the right way, asking it how it is, stopping it."""

import contextlib
import errno
import functools
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import choice

NOBODY = "00000000-0000-0000-0000-000000000000"
UUID = re.compile("[0-9a-f-]{36}")
RECOVERED = re.compile(r"Recovered position:\s*([0-9a-f-]{36}):(-?\d+)")
ERROR = re.compile(r"\[ERROR\]\s*(.*\S)")
DIGEST = re.compile(r"\*[0-9A-F]{40}")
SST_AUTHENTICATION = "mysql:"
# Seconds that the server may take for an answer about itself.
ANSWER = 5
STATUS = (
    "SELECT LOWER(VARIABLE_NAME), VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME IN"
    " ('WSREP_READY','WSREP_LOCAL_STATE','WSREP_CLUSTER_STATUS','WSREP_INCOMING_ADDRESSES','WSREP_CLUSTER_STATE_UUID')"
)
# Which password root has, and whether root may do everything: whoever is killed after the first statement leaves a root
# with a password and no rights.
ROOT = (
    "SELECT JSON_VALUE(Priv, '$.authentication_string'), (SELECT COUNT(*) FROM information_schema.USER_PRIVILEGES"
    " WHERE GRANTEE = '''root''@''%''' AND PRIVILEGE_TYPE = 'SUPER' AND IS_GRANTABLE = 'YES')"
    " FROM mysql.global_priv WHERE User = 'root' AND Host = '%'"
)
# The tables by which the server knows who may do what. It keeps that in memory, so it goes on without them until its
# next start, which then fails. After them those of what a schema has besides tables.
SYSTEM_TABLES = (
    *("global_priv", "db", "tables_priv", "columns_priv", "procs_priv", "proxies_priv", "roles_mapping"),
    *("proc", "event", "func", "plugin", "servers"),
)
TABLES = " UNION ALL ".join(f"(SELECT 1 FROM mysql.{table} LIMIT 1)" for table in SYSTEM_TABLES)  # noqa: S608  our own
# What the server says of a table or schema that is not there, or that it cannot read: not that it is busy, or that it
# waits for the other nodes.
CODES = "126|127|130|134|144|145|176|1016|1017|1030|1033|1034|1035|1049|1146|1194|1195|1286|1932"
UNREADABLE = re.compile(rf"ERROR (?:{CODES}) \(\w+\)(?: at line \d+)?: (.*)")
# What a server says that knows it cannot serve. Nothing else but the status is an answer about the cluster: not that
# there are too many connections (1040) or threads (1135), and not what the client says of a server that is silent.
UNPREPARED = re.compile(r"(?m)^ERROR 1047 ")
# Seconds for which a server that runs may be too busy to answer. Nobody is helped when its clients are sent away then.
BUSY = 20.0
# Where distributions put Galera.
PROVIDERS = ("/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera-4/libgalera_smm.so")
# OpenStack's services write rows that others have changed since they were read. MariaDB refuses that by default since
# 11.6 (error 1020), and no service tries again. Before 10.6 there is no such option, which is what `loose` is for.
BASICS = """\
[mysqld]
bind-address = *
skip-name-resolve
binlog_format = ROW
default_storage_engine = InnoDB
innodb_autoinc_lock_mode = 2
innodb_flush_log_at_trx_commit = 1
loose_innodb_snapshot_isolation = OFF
wsrep_provider = {provider}
wsrep_sst_method = {sst}
wsrep_sst_auth = {authentication}
!includedir {included}
"""


@dataclass(frozen=True)
class Status:
    """How a running server is."""

    ready: bool = False
    primary: bool = False
    state: int = 0
    view: tuple[str, ...] = ()
    broken: str = ""
    answered: bool = True

    @property
    def serves(self) -> bool:
        """Whether clients can be let in."""
        return self.synced and not self.broken

    @property
    def synced(self) -> bool:
        """Whether it is in a cluster with a majority and has all data; a donor has, too."""
        return self.ready and self.primary and self.state in (2, 4)


def parse_status(text: str, errors: str = "") -> Status:
    """Read what the server says of itself: a name and a value on each line; and why it cannot read its own tables."""
    unreadable = UNREADABLE.search(errors)
    values = dict(line.split("\t", 1) for line in text.splitlines() if "\t" in line)
    view = [address.strip().rpartition(":")[0] for address in values.get("wsrep_incoming_addresses", "").split(",")]
    return Status(
        values.get("wsrep_ready") == "ON",
        values.get("wsrep_cluster_status") == "Primary",
        int(values.get("wsrep_local_state", "0") or 0),
        tuple(sorted(name for name in view if name)),
        unreadable[1] if unreadable else "",
        "wsrep_ready" in values or bool(UNPREPARED.search(errors)),
    )


class Answers:
    """What a server has said of itself last."""

    def __init__(self, now: float) -> None:
        self.status = Status()
        self.answered = now

    def take(self, status: Status, now: float) -> Status:
        """Return how the server is: as it said last, for as long as it may be too busy to answer."""
        if status.answered:
            self.answered = now
        if status.answered or now > self.answered + BUSY:
            self.status = status
        return self.status


def parse_grastate(text: str) -> tuple[str, int | None, bool]:
    """Return the cluster, the last transaction (None where it is unknown) and whether this node left last."""
    values = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and not line.startswith("#"):
            values[name.strip()] = value.strip()
    # After a loss of power anything may stand there; then the data are asked.
    uuid = values.get("uuid", "") if UUID.fullmatch(values.get("uuid", "")) else NOBODY
    known = uuid != NOBODY and re.fullmatch("[0-9]+", values.get("seqno", ""))
    return uuid, (int(values["seqno"]) if known else None), values.get("safe_to_bootstrap") == "1"


def parse_recovered(text: str) -> tuple[str, int | None]:
    """Return the cluster and the last transaction that mariadbd found in the data, None where it found none."""
    found = RECOVERED.search(text)
    if not found or found[1] == NOBODY or int(found[2]) < 0:
        return "", None
    return found[1], int(found[2])


def describe_failure(code: int, log: str) -> str:
    """Return why mariadbd failed: how it ended, and the first error in its log."""
    ended = f"was killed by signal {-code}" if code < 0 else f"ended with {code}"
    error = ERROR.search(log)
    return f"mariadbd {ended}" + (f": {error[1][:200]}" if error else "")


def describe(error: Exception) -> str:
    """Return what went wrong; of a program that failed, what it said, without any password's digest."""
    said = error.stderr if isinstance(error, subprocess.CalledProcessError) else ""
    return DIGEST.sub("*", said.strip()) if isinstance(said, str) and said.strip() else str(error)


def digest(password: str) -> str:
    """Return a password as the server keeps it, so that no statement has it."""
    once = hashlib.sha1(password.encode(), usedforsecurity=False).digest()
    return "*" + hashlib.sha1(once, usedforsecurity=False).hexdigest().upper()


@functools.lru_cache(maxsize=1)
def fingerprint(password: str, salt: str) -> str:
    """Return what tells a password from another one; it is slow to make, so that nobody finds the password by it.

    The operator makes the same of what the Secret says (`services/mariadb/root_password.py`).
    """
    return hashlib.pbkdf2_hmac("sha256", password.encode(), salt.encode(), 100_000).hex()


def _content(path: Path) -> str:
    """Return what is in a file, nothing where there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def _settle(folder: Path) -> None:
    """See that the names in a folder are there, or gone, after a loss of power, too."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        # Some file systems have no such thing.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(opened)


def _replace(path: Path, text: str) -> None:
    """Write a file so that it has the old text or the new one, whenever we are killed and however full the disk is."""
    new = path.with_name(f"{path.name}.new")
    with new.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    _settle(path.parent)


@dataclass(frozen=True)
class Upgrade:
    """A program that brings the server's own tables to its release. Tables of clients are not looked at."""

    process: subprocess.Popen[bytes]

    @property
    def ended(self) -> int | None:
        """With what it ended; None while it works."""
        return self.process.poll()

    def stop(self) -> None:
        """End it, with the programs that it runs: the next start does the rest."""
        if self.ended is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Server:
    """A mariadbd in one directory, which is the volume; beside the data lie small marks of how far it came."""

    def __init__(self, volume: Path, pod: str, run: Path = Path("/run/mysqld")) -> None:
        self.pod = pod
        self.data = volume / "data"
        self.volume = volume
        self.settings = run / "my.cnf"
        self.socket = run / "mysqld.sock"
        self.process: subprocess.Popen[bytes] | None = None

    # What lies in the volume.

    def _mark(self, name: str) -> Path:
        return self.volume / f"stackwright-{name}"

    def has_mark(self, name: str) -> bool:
        """Return whether a mark is there: `fresh` (never had data), `joining` (is being filled from another)."""
        return self._mark(name).exists()

    def set_mark(self, name: str, text: str = "") -> None:
        """Set a mark, so that it is there after a crash, too."""
        _replace(self._mark(name), text)

    def clear_mark(self, name: str) -> None:
        """Remove a mark, for good: one that came back would say that data of clients are none."""
        if self.has_mark(name):
            self._mark(name).unlink()
            _settle(self.volume)

    def members(self) -> tuple[str, ...]:
        """Return the nodes that were in the cluster when this one last looked."""
        return tuple(json.loads(_content(self._mark("members")) or "[]"))

    def record(self, life: str, say: Callable[[str], None]) -> choice.Record:
        """Return where the data ends. That may take a while: the server's own recovery runs for it."""
        if not (self.data / "mysql").is_dir() or self.has_mark("fresh"):
            return choice.Record(self.pod, life, empty=True, interrupted=self.has_mark("joining"))
        uuid, seqno, safe = parse_grastate(self._grastate())
        failed = ""
        if seqno is None:
            say("the server did not stop in order; looking for the last transaction in its data")
            uuid, seqno, failed = self._recover()
        record = choice.Record(self.pod, life, uuid=uuid, seqno=seqno, safe=safe, failed=failed)
        return replace(record, interrupted=self.has_mark("joining"), members=self.members())

    def _grastate(self) -> str:
        return _content(self.data / "grastate.dat")

    def _recover(self) -> tuple[str, int | None, str]:
        """Return the cluster, the last transaction, and why mariadbd could not look for it."""
        with tempfile.TemporaryDirectory() as folder:
            # With its ending: the server would add one.
            log = Path(folder, "recovery.log")
            # It connects to nobody, and yet refuses to look without an address.
            options = ("--wsrep-on=ON", "--wsrep-cluster-address=gcomm://", "--wsrep-recover", f"--log-error={log}")
            failed = subprocess.run(self._command(*options), check=False).returncode
            text = _content(log)
        if failed:
            print(text, flush=True)
        uuid, seqno = parse_recovered(text)
        return uuid, seqno, describe_failure(failed, text) if failed and seqno is None else ""

    def install(self) -> None:
        """Make the system's tables; half of them are as good as none, so they come into place whole."""
        making = self.volume / "data.new"
        self.set_aside()
        for folder in (making, self.data):
            shutil.rmtree(folder, ignore_errors=True)
        self.set_mark("fresh")
        subprocess.run(
            [
                "mariadb-install-db",
                f"--defaults-file={self.settings}",
                f"--datadir={making}",
                "--auth-root-authentication-method=socket",
                "--auth-root-socket-user=mysql",
                "--skip-test-db",
                "--skip-name-resolve",
                "--wsrep-on=OFF",
            ],
            stdout=subprocess.DEVNULL,
            check=True,
        )
        making.replace(self.data)

    def set_aside(self) -> None:
        """Keep data that has lost the server's own tables beside the new: what is in it of clients may be wanted."""
        if (self.data / "ibdata1").exists() and not self.has_mark("joining") and not self.has_mark("fresh"):
            number = len(list(self.volume.glob("data.before-*")))
            self.data.replace(self.volume / f"data.before-{number}")

    # The process.

    def configure(self, sst: str, included: Path) -> None:
        """Write the settings that every start has; those of the user are read after them."""
        provider = next((path for path in PROVIDERS if Path(path).exists()), PROVIDERS[0])
        basics = BASICS.format(provider=provider, sst=sst, authentication=SST_AUTHENTICATION, included=included)
        included.mkdir(parents=True, exist_ok=True)
        self.settings.write_text(basics, encoding="utf-8")

    def _command(self, *more: str) -> list[str]:
        return [
            "mariadbd",
            f"--defaults-file={self.settings}",
            f"--datadir={self.data}",
            f"--socket={self.socket}",
            *more,
        ]

    def start(
        self, record: choice.Record, peers: list[str], address: str, *, donors: str = "", bootstrap: bool
    ) -> None:
        """Start the server as the first of a cluster, or to join one; what stands here no file overrides."""
        self.data.mkdir(parents=True, exist_ok=True)
        # Who forms the cluster is decided by us; what Galera remembers of its last view would form it on its own.
        (self.data / "gvwstate.dat").unlink(missing_ok=True)
        options = [
            "--wsrep-on=ON",
            f"--wsrep-cluster-name={self.pod.rpartition('-')[0]}",
            f"--wsrep-cluster-address=gcomm://{','.join(peers)}",
            f"--wsrep-node-name={self.pod}",
            f"--wsrep-node-address={address}",
            f"--wsrep-node-incoming-address={self.pod}:3306",
        ]
        if not bootstrap:
            self.forget_release()
        if donors and not bootstrap:
            options.append(f"--wsrep-sst-donor={donors}")
        if record.seqno is not None:
            options.append(f"--wsrep-start-position={record.uuid}:{record.seqno}")
        if bootstrap:
            self._permit()
            options.append("--wsrep-new-cluster")
        self.process = subprocess.Popen(self._command(*options))

    def _permit(self) -> None:
        """Tell Galera that this node may form the cluster, which it would otherwise refuse after a crash."""
        text = self._grastate()
        if text:
            permitted = re.sub(r"(?m)^safe_to_bootstrap:.*$", "safe_to_bootstrap: 1", text)
            _replace(self.data / "grastate.dat", permitted)

    def status(self) -> Status:
        """Ask the server how it is."""
        try:
            return parse_status(self.ask(f"{STATUS};\n{TABLES};\n"))
        except subprocess.CalledProcessError as error:
            # The statements are run one after the other, up to the first that fails.
            return parse_status(error.stdout, error.stderr)
        except (subprocess.SubprocessError, ValueError):
            return Status(answered=False)

    def ask(self, statements: str) -> str:
        """Run SQL as the server's own user, over its socket: no password is needed, and none stands anywhere."""
        command = [
            "mariadb",
            "--no-defaults",
            f"--socket={self.socket}",
            "--user=mysql",
            "--batch",
            "--skip-column-names",
        ]
        command.append(f"--connect-timeout={ANSWER}")
        return subprocess.run(
            command, input=statements, capture_output=True, text=True, check=True, timeout=ANSWER
        ).stdout

    def keep_root(self, password: str) -> bool:
        """Give root the password of the Secret, from everywhere; nothing is written where it is so already."""
        wanted = digest(password)
        if self.ask(ROOT).strip() == f"{wanted}\t1":
            return False
        self.ask(
            f"CREATE USER IF NOT EXISTS root@'%' IDENTIFIED BY PASSWORD '{wanted}';"
            f"ALTER USER root@'%' IDENTIFIED BY PASSWORD '{wanted}';"
            "GRANT ALL PRIVILEGES ON *.* TO root@'%' WITH GRANT OPTION;"
        )
        return True

    def upgrade(self) -> Upgrade:
        """Begin to bring the server's own tables to its release; it finds out by itself whether it has to do anything.

        Each node does this for itself, and nothing of it is replicated: others may be of the release before.
        """
        options = ("--no-defaults", f"--socket={self.socket}", "--user=mysql", "--upgrade-system-tables")
        return Upgrade(subprocess.Popen(["mariadb-upgrade", *options], start_new_session=True))

    def forget_release(self) -> None:
        """Forget of which release the server's own tables are: those that another node gives may be of any."""
        for name in ("mariadb_upgrade_info", "mysql_upgrade_info"):
            (self.data / name).unlink(missing_ok=True)

    @property
    def running(self) -> bool:
        """Whether there is a process."""
        return self.process is not None and self.process.poll() is None

    def stop(self, patience: float) -> None:
        """Stop the server in order; it is killed when that takes too long."""
        if self.process is None or not self.running:
            return
        self.process.terminate()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

"""What a cluster's folder holds, and what its first process and its users tell each other through it."""

import fcntl
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, TypeVar

import msgspec

from stackwright.local.cluster.addresses import Network
from stackwright.local.errors import ClusterFailed
from stackwright.local.progress import Progress

T = TypeVar("T", bound=msgspec.Struct)

# The host's ends of the node's cables are called sw-NAME, sx-NAME and so on, and Linux allows 15 characters.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,10}[a-z0-9])?")


# Where a cluster's registry answers, at the node's address.
REGISTRY_PORT = 5000
# The line by which the first process learns that its cable is there.
CONNECTED = "connected"

Health = Literal["waiting", "starting", "ready", "unwell", "ended"]


class Node(msgspec.Struct, frozen=True):
    """A machine of the cluster: namespaces of its own, with a place in the network and what it runs."""

    name: str
    index: int = 0
    roles: tuple[Literal["control-plane", "worker"], ...] = ("control-plane", "worker")


class Settings(msgspec.Struct, frozen=True):
    """How a cluster is run: written by the process that brings it up, read by its first process."""

    name: str
    network: Network
    nodes: tuple[Node, ...]
    binaries: dict[str, str]
    """Where each program is."""
    cni: str = "/usr/lib/cni"
    """Where the distribution has its network plugins."""
    nameservers: tuple[str, ...] = ()
    """Whom the node asks for names of the world outside."""
    audit: bool = False
    """Whether the API server writes down every request that changes something."""

    @property
    def cgroup(self) -> str:
        """The control group of the whole cluster, below each hierarchy's root."""
        return f"stackwright-{self.name}"

    @property
    def link(self) -> str:
        """The host's end of the cable to the node."""
        return f"sw-{self.name}"

    @property
    def bridge(self) -> str:
        """The host's bridge that joins the node's cable with those of the machines beside it, while there are any."""
        return f"sn-{self.name}"

    @property
    def spare_link(self) -> str:
        """The host's end of the node's spare cable."""
        return f"sx-{self.name}"

    @property
    def spare_bridge(self) -> str:
        """The host's bridge that joins the spare cable with the one by which the node itself is in that network."""
        return f"sb-{self.name}"

    @property
    def way_link(self) -> str:
        """The host's end of the cable by which the node, and its pods, reach what is behind the spare one."""
        return f"sv-{self.name}"

    @property
    def tunnel_link(self) -> str:
        """The host's end of the node's cable for tunnels."""
        return f"sy-{self.name}"

    @property
    def tunnel_bridge(self) -> str:
        """The host's bridge that joins the cables for tunnels, while there are machines."""
        return f"st-{self.name}"

    @property
    def addressed(self) -> tuple[str, ...]:
        """The links of the host that have its addresses in the cluster's networks."""
        return self.link, self.bridge, self.spare_bridge

    @property
    def node(self) -> Node:
        """The one node that there is until there are more."""
        return self.nodes[0]

    @property
    def address(self) -> str:
        """The node's address, at which the API server answers."""
        return self.network.node(self.node.index)

    @property
    def registry(self) -> str:
        """Where a registry answers once there is one: host and port."""
        return f"{self.address}:{REGISTRY_PORT}"

    @property
    def url(self) -> str:
        """Where the API server answers."""
        return f"https://{self.address}:6443"


class ProcessKey(msgspec.Struct, frozen=True):
    """A process for certain: its id as the host sees it, and when it started; ids are used again."""

    pid: int
    started: int


class ProgramState(msgspec.Struct, frozen=True):
    """How one program is, as the supervisor sees it."""

    name: str
    state: Health
    log: str
    pid: int = 0
    """Its process id inside of the node; zero while it does not run."""
    restarts: int = 0
    trouble: str = ""
    """What the last unwanted end looked like."""


class State(msgspec.Struct, frozen=True):
    """What the first process says of itself and its programs."""

    first: ProcessKey
    programs: tuple[ProgramState, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether every program is."""
        return bool(self.programs) and all(program.state == "ready" for program in self.programs)


def root() -> Path:
    """Return the folder of all clusters: $XDG_STATE_HOME, or ~/.local/state."""
    named = os.environ.get("XDG_STATE_HOME", "")
    base = Path(named) if named and Path(named).is_absolute() else Path.home() / ".local" / "state"
    return base / "stackwright"


def of(name: str) -> "Layout":
    """Return the folder of the cluster of that name, or say why it cannot be called so."""
    if not _NAME.fullmatch(name):
        raise ClusterFailed(
            f'A cluster cannot be called "{name}": use up to 12 small letters, digits and hyphens, such as "trial-2".'
        )
    return Layout(root() / name)


@dataclass(frozen=True)
class Layout:
    """The names of the files in a cluster's folder."""

    directory: Path

    @property
    def settings(self) -> Path:
        """How the cluster is run."""
        return self.directory / "settings.json"

    @property
    def state(self) -> Path:
        """What the first process says."""
        return self.directory / "state.json"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.directory / "kubeconfig"

    @property
    def certificates(self) -> Path:
        """The folder of keys and certificates."""
        return self.directory / "certificates"

    @property
    def configuration(self) -> Path:
        """The folder of the programs' configuration; it is rewritten at every start."""
        return self.directory / "configuration"

    @property
    def etcd(self) -> Path:
        """The folder of etcd's data."""
        return self.directory / "etcd"

    @property
    def logs(self) -> Path:
        """The folder of the programs' logs."""
        return self.directory / "logs"

    @property
    def controllers(self) -> Path:
        """Which controllers of cgroup v2 were switched on for this cluster."""
        return self.directory / "cgroup-controllers"

    def var(self, node: Node) -> Path:
        """The folder that is a node's /var."""
        return self.directory / "nodes" / node.name / "var"

    def root(self, node: Node) -> Path:
        """The folder on which a node's root is put together, in the node's own mount namespace."""
        return self.directory / "nodes" / node.name / "root"

    @property
    def machines(self) -> Path:
        """The folder of the machines beside the cluster."""
        return self.directory / "machines"

    def log(self, program: str) -> Path:
        """The log of one of the programs."""
        return self.logs / f"{program}.log"

    @property
    def audit_log(self) -> Path:
        """The audit log: one JSON object for each request that changes something."""
        return self.log("audit")

    def passing(self) -> list[Path]:
        """Everything but the data: files that each start makes, and files that are useless without the processes."""
        kept = {self.settings, self.etcd, self.certificates}
        top = [path for path in self.directory.iterdir() if path not in kept and path.name not in ("nodes", "machines")]
        var = [path for path in self.directory.glob("nodes/*/var/*") if path.name != "lib"]
        lib = [
            path for path in self.directory.glob("nodes/*/var/lib/*") if path.name not in ("containerd", "stackwright")
        ]
        return [*top, *var, *lib]

    def read_settings(self) -> Settings | None:
        """Return the settings of the cluster, or None if there is no cluster."""
        return read(self.settings, Settings)

    def write_settings(self, settings: Settings) -> None:
        """Leave for the first process what it needs to know."""
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        write(self.settings, settings)

    def read_state(self) -> State | None:
        """Return what the first process last said, or nothing when it has not said anything yet."""
        return read(self.state, State)

    def write_state(self, state: State) -> None:
        """Say something; a reader sees the old state or the new one, never a half."""
        write(self.state, state)

    @contextmanager
    def locked(self, progress: Progress) -> Iterator[None]:
        """Lock the cluster; if we have to wait, say so. The kernel frees the lock when its holder is killed."""
        with held(self.lock, lambda: progress.say(f"Another command works on {self.directory.name}; waiting for it.")):
            yield

    @property
    def gone(self) -> Path:
        """What a cluster that was taken down leaves while its files are being removed; no cluster's name has a dot."""
        return self.directory.parent / f".{self.directory.name}.gone"

    @property
    def lock(self) -> Path:
        """The lock of the process that works on the cluster; it is outside the folder, which comes and goes."""
        return self.directory.parent / f".{self.directory.name}.lock"

    @property
    def operators_lock(self) -> Path:
        """The lock of the process that installs the operators, which takes longer than what the other one is for."""
        return self.directory.parent / f".{self.directory.name}.operators.lock"


@contextmanager
def held(path: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold a lock that is a file, and is there only while somebody holds it or waits for it."""
    while True:
        with _opened(path) as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                fcntl.flock(lock, fcntl.LOCK_EX)
            # The holder before us has removed it; by now somebody else may hold a new one.
            if not path.exists() or path.stat().st_ino != os.fstat(lock.fileno()).st_ino:
                continue
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return


def _opened(path: Path) -> IO[str]:
    """Open a file for writing; who took a cluster down removes the folder around it when it is empty."""
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            return path.open("w")
        except FileNotFoundError:
            continue


def read(path: Path, kind: type[T]) -> T | None:
    """Return what a file of such a folder says, or None if there is none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise ClusterFailed(f"{path} may not be read by you; use sudo.") from error
    except msgspec.MsgspecError as error:
        raise ClusterFailed(f"{path} cannot be read ({error}); remove it, and bring the cluster up again.") from error


def write(path: Path, value: msgspec.Struct) -> None:
    """Write such a file; a reader sees the old content or the new one, never a half."""
    beside = path.with_suffix(".new")
    beside.write_bytes(msgspec.json.encode(value))
    beside.replace(path)

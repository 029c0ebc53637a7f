"""Brings a cluster up and takes it down, from the host's side."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stackwright.local import binaries, process
from stackwright.local.cluster import addresses, cgroups, layout, nameservers, network, packages, processes
from stackwright.local.cluster.addresses import Taken
from stackwright.local.cluster.layout import CONNECTED, Layout, Node, ProcessKey, Settings, State
from stackwright.local.distribution import Ask
from stackwright.local.errors import ClusterFailed, Collision
from stackwright.local.process import tail
from stackwright.local.programs import CLUSTER
from stackwright.local.progress import Progress

# The namespaces that a node has of its own.
_UNSHARE = ("unshare", "--net", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--propagation=private")
# How long a node may take to end, when asked to and when not asked.
_ORDERLY, _AT_ONCE = 60.0, 30.0
_RESOLVERS = (Path("/run/systemd/resolve/resolv.conf"), Path("/etc/resolv.conf"))


@dataclass(frozen=True)
class Cluster:
    """A cluster that is up."""

    layout: Layout
    settings: Settings
    first: ProcessKey
    new: bool
    """Whether it was started now, and not found running."""


def up(name: str, *, progress: Progress, ask: Ask, audit: bool = False) -> Cluster:
    """Start the cluster, or those of its parts that have ended; return when it can be used.

    With `audit` one that is started now writes down every request that changes something (`Layout.audit_log`).
    """
    place = layout.of(name)
    _require_root()
    plugins = packages.ensure(ask, progress)
    programs = binaries.ensure(CLUSTER, progress=progress)
    with place.locked(progress):
        state = _whole(running(place))
        settings = place.read_settings()
        new = state is None or settings is None
        if state is None or settings is None:
            _sweep(place, settings)
            settings = _decide(place, {program: str(path) for program, path in programs.items()}, plugins, audit=audit)
            progress.say(f"Starting the cluster {name}; its folder is {place.directory}.")
            first = _start(place, settings)
        else:
            first = state.first
            network.attach(settings, first.pid)
        # A client of Kubernetes takes long to import: by now the node starts meanwhile, and who takes a cluster down
        # needs none.
        from stackwright.local.cluster import settling  # noqa: PLC0415  see above

        settling.settle(place, settings, first, progress)
    return Cluster(place, settings, first, new)


def down(name: str, *, keep_data: bool, progress: Progress) -> bool:
    """End the cluster and remove all that it made; return whether there was anything."""
    place = layout.of(name)
    _require_root()
    if not place.directory.exists():
        return False
    with place.locked(progress):
        state = running(place)
        if state:
            progress.say(f"Stopping the cluster {name}.")
            _end(state.first, orderly=keep_data)
        _sweep(place, place.read_settings())
        _remove(place, keep_data=keep_data)
    # The folder of all clusters goes with the last of them.
    with suppress(OSError):
        place.directory.parent.rmdir()
    return True


def running(place: Layout) -> State | None:
    """Return the state of the cluster if it runs; what a dead one has left behind says nothing."""
    state = place.read_state()
    return state if state and processes.alive(state.first) else None


def _whole(state: State | None) -> State | None:
    """Return the state of a cluster that runs; end one that was left when it was half started."""
    if state is None or state.programs:
        return state
    _end(state.first, orderly=False)
    return None


def _require_root() -> None:
    # What root needs is not always where root's shell looks.
    os.environ["PATH"] = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin:/usr/bin:/bin"
    if os.geteuid() != 0:
        raise ClusterFailed("A cluster needs namespaces and mounts, which only root may create; use sudo.")


def _decide(place: Layout, programs: dict[str, str], plugins: Path, *, audit: bool) -> Settings:
    """Return how the cluster is run; one that has data keeps its addresses."""
    name = place.directory.name
    with layout.held(place.directory.parent / ".addresses.lock"):
        before = place.read_settings()
        taken = [*network.taken(), *_reserved(place)]
        if before:
            addresses.check(before.network, taken, name=name)
        settings = Settings(
            name=name,
            network=before.network if before else addresses.choose(taken),
            nodes=before.nodes if before else (Node("node-1"),),
            binaries=programs,
            cni=str(plugins),
            nameservers=_nameservers(),
            audit=audit,
        )
        place.write_settings(settings)
    return settings


def _reserved(place: Layout) -> Iterator[Taken]:
    """Return the ranges of other clusters, whether or not they run."""
    for folder in place.directory.parent.iterdir():
        other = None if folder == place.directory or not folder.is_dir() else Layout(folder).read_settings()
        if other:
            yield from (Taken(one, f"the cluster {other.name}") for one in other.network.ranges)


def _nameservers() -> tuple[str, ...]:
    forwards = Path("/proc/sys/net/ipv4/ip_forward").read_text().strip() == "1"
    for path in _RESOLVERS:
        with suppress(OSError):
            return nameservers.usable(path.read_text(), forwards=forwards, own=network.own_addresses())
    return ()


def _start(place: Layout, settings: Settings) -> ProcessKey:
    """Start the node's first process, and connect it."""
    place.logs.mkdir(parents=True, exist_ok=True, mode=0o700)
    place.state.unlink(missing_ok=True)
    command = [*_UNSHARE, "--", sys.executable, "-m", "stackwright.local.cluster", "--directory", str(place.directory)]
    with place.log("supervisor").open("ab") as log:
        keeper = subprocess.Popen(  # noqa: S603  our own interpreter, and no shell
            command,
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,  # The cluster outlives the terminal.
            text=True,
        )
    with keeper:
        try:
            first = _connect(place, settings, keeper)
        except BaseException:
            # Its child, the first process, goes with it.
            keeper.kill()
            raise
        # It goes on without us.
        keeper.returncode = 0
    return first


def _connect(place: Layout, settings: Settings, keeper: "subprocess.Popen[str]") -> ProcessKey:
    line = keeper.stdout.readline() if keeper.stdout else ""
    if not line or keeper.stdin is None:
        raise ClusterFailed(f"The node did not start. The end of its log:\n{tail(place.log('supervisor'))}")
    pid, started = (int(word) for word in line.split())
    first = ProcessKey(pid, started)
    place.write_state(State(first))
    enabled = cgroups.make(settings.cgroup, pid, cgroups.hierarchies())
    if enabled:
        place.controllers.write_text(" ".join(enabled))
    network.attach(settings, pid)
    keeper.stdin.write(f"{CONNECTED}\n")
    keeper.stdin.flush()
    return first


def _end(first: ProcessKey, *, orderly: bool) -> None:
    with suppress(ProcessLookupError):
        if orderly:
            os.kill(first.pid, signal.SIGTERM)
            process.wait_gone(first.pid, _ORDERLY)
        if processes.alive(first):
            # The kernel ends with it every process of the node, and with those its mounts and links.
            os.kill(first.pid, signal.SIGKILL)
    if not process.wait_gone(first.pid, _AT_ONCE):
        raise ClusterFailed(f"The node's first process {first.pid} does not end; a disk may hang. Try again later.")


def _sweep(place: Layout, settings: Settings | None) -> None:
    """Remove what is outside of the cluster's folder and was left by one that has ended."""
    name = place.directory.name
    settings = settings or Settings(name, next(addresses.candidates()), (Node("node-1"),), {})
    trees = cgroups.hierarchies()
    if strangers := cgroups.processes(settings.cgroup, trees):
        raise Collision(
            f"Another cluster called {name} runs on this machine, with processes such as {strangers[0]} in the "
            f"control group {settings.cgroup}; its folder is not {place.directory}. Choose another --name."
        )
    network.detach(settings)
    enabled = place.controllers.read_text().split() if place.controllers.exists() else []
    cgroups.remove(settings.cgroup, trees, enabled=enabled)
    place.controllers.unlink(missing_ok=True)


def _remove(place: Layout, *, keep_data: bool) -> None:
    """Remove the cluster's files."""
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    if inside := [mount for mount in mounts if Path(mount).is_relative_to(place.directory)]:
        raise ClusterFailed(f"Something is mounted at {inside[0]}; unmount it, and try again.")
    if not keep_data:
        shutil.rmtree(place.directory)
        return
    for path in place.passing():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

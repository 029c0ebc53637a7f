"""Brings a cluster up and takes it down, from the host's side."""

import errno
import os
import shutil
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stackwright.local import binaries
from stackwright.local.cluster import (
    addresses,
    cgroups,
    first_process,
    layout,
    mounts,
    nameservers,
    neighbours,
    network,
    packages,
    processes,
    reservation,
)
from stackwright.local.cluster.layout import Layout, Node, ProcessKey, Settings, State
from stackwright.local.distribution import Ask
from stackwright.local.errors import ClusterFailed, Collision
from stackwright.local.programs import CLUSTER
from stackwright.local.progress import Progress

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
    require_root()
    plugins = packages.ensure(ask, progress)
    programs = binaries.ensure(CLUSTER, progress=progress)
    with place.locked(progress):
        # An interrupted `down` has left them; they disturb nobody, so none of them keeps a cluster from its start.
        with suppress(OSError):
            _remove_gone(place, progress)
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
    require_root()
    if not _left(place):
        return False
    with place.locked(progress):
        # Whoever held the lock before us may have taken it down.
        there = _left(place)
        if place.directory.exists():
            _end(place, orderly=keep_data, progress=progress)
            _remove(place, keep_data=keep_data, progress=progress)
        _remove_gone(place, progress)
    # The folder of all clusters goes with the last of them.
    with suppress(OSError):
        place.directory.parent.rmdir()
    return there


def _left(place: Layout) -> bool:
    """Return whether there is anything of a cluster: its folder, or what an interrupted `down` left of it."""
    return place.directory.exists() or place.gone.exists()


def _end(place: Layout, *, orderly: bool, progress: Progress) -> None:
    """End a cluster and the machines beside it, and remove what they have outside of their folders."""
    state = running(place)
    if state:
        progress.say(f"Stopping the cluster {place.directory.name}.")
        first_process.end(state.first, asking=signal.SIGTERM if orderly else None)
    for machine in neighbours.of(place):
        progress.say(f"Stopping the machine {machine.name}.")
        neighbours.end(machine, orderly=orderly)
    _sweep(place, place.read_settings())


def running(place: Layout) -> State | None:
    """Return the state of the cluster if it runs; what a dead one has left behind says nothing."""
    state = place.read_state()
    return state if state and processes.alive(state.first) else None


def _whole(state: State | None) -> State | None:
    """Return the state of a cluster that runs; end one that was left when it was half started."""
    if state is None or state.programs:
        return state
    first_process.end(state.first)
    return None


def require_root() -> None:
    """Raise unless we are root, and look for programs where root does."""
    # What root needs is not always where root's shell looks.
    os.environ["PATH"] = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin:/usr/bin:/bin"
    if os.geteuid() != 0:
        raise ClusterFailed("A cluster needs namespaces and mounts, which only root may create; use sudo.")


def _decide(place: Layout, programs: dict[str, str], plugins: Path, *, audit: bool) -> Settings:
    """Return how the cluster is run; one that has data, or machines beside it, keeps its addresses."""
    return reservation.reserve(
        place,
        lambda before: Settings(
            name=before.name,
            network=before.network,
            nodes=before.nodes,
            binaries=programs,
            cni=str(plugins),
            nameservers=find_nameservers(),
            audit=audit,
        ),
    )


def find_nameservers() -> tuple[str, ...]:
    """Return the nameservers of this machine that a node can ask."""
    forwards = Path("/proc/sys/net/ipv4/ip_forward").read_text().strip() == "1"
    for path in _RESOLVERS:
        with suppress(OSError):
            return nameservers.usable(path.read_text(), forwards=forwards, own=network.own_addresses())
    return ()


def _start(place: Layout, settings: Settings) -> ProcessKey:
    """Start the node's first process, and connect it."""
    place.logs.mkdir(parents=True, exist_ok=True, mode=0o700)
    place.state.unlink(missing_ok=True)

    def connect(first: ProcessKey) -> None:
        place.write_state(State(first))
        if enabled := cgroups.make(settings.cgroup, first.pid, cgroups.hierarchies()):
            place.controllers.write_text(" ".join(enabled))
        network.attach(settings, first.pid)

    command = ["-m", "stackwright.local.cluster", "--directory", str(place.directory)]
    return first_process.start(command, log=place.log("supervisor"), connect=connect)


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
    network.stop_sharing(settings)
    enabled = place.controllers.read_text().split() if place.controllers.exists() else []
    cgroups.remove(settings.cgroup, trees, enabled=enabled)
    place.controllers.unlink(missing_ok=True)


def _remove(place: Layout, *, keep_data: bool, progress: Progress) -> None:
    """Remove the cluster's files."""
    if inside := mounts.inside(place.directory.resolve(), Path("/proc/mounts").read_text()):
        raise ClusterFailed(f"Something is mounted at {inside[0]}; unmount it, and try again.")
    if not keep_data:
        _remove_gone(place, progress)
        _put_aside(place)
        _remove_gone(place, progress)
        return
    for path in place.passing():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _put_aside(place: Layout) -> None:
    """Take a cluster's files away at once, or not at all: half of them would be taken for a cluster."""
    try:
        place.directory.replace(place.gone)
    except OSError as error:
        # A container that was saved and started again cannot rename a folder of its image.
        if error.errno != errno.EXDEV:
            raise
        shutil.rmtree(place.directory)


def _remove_gone(place: Layout, progress: Progress) -> None:
    """Remove the files that were put aside, which takes minutes where machines are among them."""
    if not place.gone.exists() and not place.gone.is_symlink():
        return
    for machine in neighbours.of(Layout(place.gone)):
        neighbours.remove_files(machine, progress)
    progress.say(f"Removing the files of the cluster {place.directory.name}.")
    # Somebody may have put the folder elsewhere, and a link in its place.
    if place.gone.exists():
        shutil.rmtree(place.gone.resolve())
    if place.gone.is_symlink():
        place.gone.unlink()

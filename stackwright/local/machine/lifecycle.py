"""Adds machines beside a cluster, lists them and removes them, from the host's side."""

import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from stackwright.local import distribution
from stackwright.local.cluster import (
    addresses,
    cgroups,
    first_process,
    layout,
    lifecycle,
    neighbours,
    network,
    packages,
    processes,
    reservation,
)
from stackwright.local.cluster.layout import Layout, ProcessKey, Settings
from stackwright.local.cluster.neighbours import MachineSettings, MachineState, Neighbour
from stackwright.local.distribution import Ask
from stackwright.local.errors import ClusterFailed
from stackwright.local.machine import furnishing, keys, root_files
from stackwright.local.machine.furnishing import Furniture
from stackwright.local.machine.keys import SshKey
from stackwright.local.process import tail
from stackwright.local.progress import Progress

# The programs of this machine that are used, and their packages.
PROGRAMS = {name: packages.PROGRAMS[name] for name in ("ip", "unshare", "nsenter", "pivot_root", "mount", "umount")}
# A host's name is one label of DNS, and so is a resource's.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
# How long a machine may take until it answers, in seconds.
_DEADLINE = 120.0
_SSH = 22
# Files among the machines' folders: the key that logs in to all of them, and the one that logs in to the first server.
KEY = "ssh-privatekey"
FIRST_SERVER_KEY = "first-server"
# A process in the machine's network that tries to reach a place.
_TRY = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)"


@dataclass(frozen=True)
class Machine:
    """A machine, whether or not it runs."""

    folder: Neighbour
    settings: MachineSettings
    key: SshKey
    """By which one logs in."""
    first: ProcessKey | None
    new: bool = False
    """Whether it was started now."""


def add(cluster: str, name: str, *, progress: Progress, ask: Ask) -> Machine:
    """Start a machine beside a cluster; one that was stopped gets its disk back, one that runs is left alone."""
    place = layout.of(cluster)
    if not _NAME.fullmatch(name):
        raise ClusterFailed(
            f'A node cannot be called "{name}": use up to 63 small letters, digits and hyphens, such as "compute-0".'
        )
    if name in (KEY, FIRST_SERVER_KEY):
        raise ClusterFailed(f'A node cannot be called "{name}", as a key beside the nodes is; choose another name.')
    lifecycle.require_root()
    distribution.ensure(PROGRAMS, ask=ask, progress=progress)
    _require_unified()
    archive = root_files.ensure(ask, progress)
    with place.locked(progress):
        settings = place.read_settings() or reservation.reserve(place, lambda new: new)
        key = keys.read(place.machines / KEY)
        machine = Neighbour(place.machines / name)
        state = machine.running()
        # One that is not connected was left when it was half started, and ends by itself at any moment.
        first = state.first if state and state.connected else None
        new = first is None
        if first is None:
            neighbours.end(machine, orderly=False)
            found = _furnish(machine, place, settings, key, archive)
            progress.say(f"Starting the node {name} at {found.address}.")
            network.share(settings)
            first = _start(machine, settings)
        else:
            network.share(settings)
            network.plug(settings, machine.cable, machine.tunnel_cable, first.pid)
        made = machine.read_settings()
        if made is None:
            raise ClusterFailed(f"{machine.settings} is gone; remove the node {name}, and add it again.")
        _await_answer(machine, made, first)
        _try_cluster(place, settings, machine, first)
    return Machine(machine, made, key, first, new)


def find(cluster: str) -> list[Machine]:
    """Return the machines beside a cluster."""
    place = layout.of(cluster)
    found = [(folder, folder.read_settings()) for folder in neighbours.of(place)]
    return [
        Machine(
            folder,
            settings,
            keys.read(place.machines / KEY),
            state.first if (state := folder.running()) else None,
        )
        for folder, settings in found
        if settings is not None
    ]


def remove(cluster: str, name: str, *, progress: Progress) -> bool:
    """End a machine and remove all that it made; return whether there was one."""
    place = layout.of(cluster)
    lifecycle.require_root()
    machine = Neighbour(place.machines / name)
    if not _NAME.fullmatch(name) or not machine.directory.is_dir():
        return False
    with place.locked(progress):
        neighbours.end(machine, orderly=False)
        neighbours.remove_files(machine, progress)
        if settings := place.read_settings():
            network.stop_sharing(settings)
        if not list(neighbours.of(place)):
            _forget_network(place)
    return True


def _forget_network(place: Layout) -> None:
    """Remove what was made for machines alone, after the last of them."""
    shutil.rmtree(place.machines, ignore_errors=True)
    if {path.name for path in place.directory.iterdir()} <= {place.settings.name}:
        shutil.rmtree(place.directory)
        with suppress(OSError):
            place.directory.parent.rmdir()


def _require_unified() -> None:
    if not any(tree.version == 2 for tree in cgroups.hierarchies()):
        raise ClusterFailed(
            "systemd needs control groups of version 2. Mount them beside the others: "
            "`mkdir -p /sys/fs/cgroup/unified; mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified`."
        )


def _furnish(machine: Neighbour, place: Layout, settings: Settings, key: SshKey, archive: Path) -> MachineSettings:
    """Make a machine's root file system unless it is there whole, and return how it is run."""
    before = machine.read_settings()
    if before and machine.root.is_dir():
        return before
    used = {found.index for folder in neighbours.of(place) if (found := folder.read_settings())}
    index = choose_index(used)
    address = settings.network.machine(index)
    told = Furniture(
        name=machine.name,
        address=address,
        network=settings.network,
        nameservers=lifecycle.find_nameservers(),
        login=key.public,
        identity=keys.generate(),
        registry=settings.registry,
    )
    machine.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    furnishing.furnish(archive, machine.root, told)
    made = MachineSettings(machine.name, settings.name, index, address, root=archive.parent.name)
    layout.write(machine.settings, made)
    return made


def choose_index(used: set[int]) -> int:
    """Return the first place in the network that no machine has; pure."""
    free = (index for index in range(addresses.MACHINES) if index not in used)
    if (index := next(free, None)) is None:
        raise ClusterFailed(f"There are {addresses.MACHINES} nodes already, and no address is left; remove one.")
    return index


def _start(machine: Neighbour, settings: Settings) -> ProcessKey:
    machine.log.unlink(missing_ok=True)

    def connect(first: ProcessKey) -> None:
        layout.write(machine.state, MachineState(first))
        if enabled := cgroups.make(machine.cgroup, first.pid, cgroups.hierarchies()):
            machine.controllers.write_text(" ".join(enabled))
        network.plug(settings, machine.cable, machine.tunnel_cable, first.pid)

    command = ["-m", "stackwright.local.machine", "--directory", str(machine.directory)]
    first = first_process.start(command, log=machine.log, connect=connect)
    layout.write(machine.state, MachineState(first, connected=True))
    return first


def _await_answer(machine: Neighbour, settings: MachineSettings, first: ProcessKey) -> None:
    """Wait until the machine's SSH server answers."""
    deadline = time.monotonic() + _DEADLINE
    while not _answers(settings.address):
        if not processes.alive(first):
            raise ClusterFailed(f"The node {machine.name} ended. The end of its log:\n{tail(machine.log)}")
        if time.monotonic() > deadline:
            raise ClusterFailed(
                f"The node {machine.name} runs, and no SSH server answers at {settings.address} after {_DEADLINE:g} s. "
                f"Its journal says more: nsenter --all --target {first.pid} journalctl"
            )
        # Nothing announces it: systemd says when the server was started, but the machine's network may come up later.
        time.sleep(0.1)


def _answers(address: str) -> bool:
    with suppress(OSError), socket.create_connection((address, _SSH), 2) as connection:
        connection.settimeout(2)
        return connection.recv(4) == b"SSH-"
    return False


def _try_cluster(place: Layout, settings: Settings, machine: Neighbour, first: ProcessKey) -> None:
    """Raise if the machine does not reach the node of a cluster that runs."""
    if lifecycle.running(place) is None:
        return
    words = ["nsenter", "--net", "--target", str(first.pid), sys.executable, "-c", _TRY, settings.address, "6443"]
    tried = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603  no shell
    if tried.returncode:
        raise ClusterFailed(
            f"The node {machine.name} runs, but cannot reach the cluster at {settings.address}. This machine's "
            f"firewall may drop what the bridges {settings.bridge} and {settings.tunnel_bridge} forward; to let it "
            f"pass: iptables -I FORWARD -i {settings.bridge} -j ACCEPT; "
            f"iptables -I FORWARD -i {settings.tunnel_bridge} -j ACCEPT"
        )


def known_host(machine: Machine) -> str:
    """Return the line of known_hosts by which ssh knows the machine again."""
    public = (machine.folder.root / "etc/ssh/ssh_host_ed25519_key.pub").read_text().strip()
    return f"{machine.settings.address} {public}"


def known_hosts(machines: Iterable[Machine]) -> str:
    """Return the known_hosts of some machines."""
    return "".join(f"{known_host(machine)}\n" for machine in machines)


def describe(machine: Machine) -> dict[str, str]:
    """Return what a list of machines says of one."""
    told = msgspec.to_builtins(machine.settings)
    return {"name": told["name"], "state": "running" if machine.first else "stopped", "address": told["address"]}

"""The machines beside a cluster, as far as the cluster knows them: what their folders hold, and how they end.

They are machines of their own and run nothing of Kubernetes. `stackwright.local.machine` makes them; a cluster that
goes down takes them with it, because their addresses are of its network.
"""

import hashlib
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from stackwright.local.cluster import cgroups, first_process, layout, network, processes
from stackwright.local.cluster.layout import Layout, ProcessKey
from stackwright.local.errors import Collision
from stackwright.local.progress import Progress, duration

# What systemd understands as a request to shut down in order.
SHUT_DOWN = signal.SIGRTMIN + 3
# After how many removed files a person hears of it again.
_TOLD = 1000
# How long the processes of a machine that has ended may take to be gone, in seconds.
_PATIENCE = 10.0


class MachineSettings(msgspec.Struct, frozen=True):
    """How a machine is run."""

    name: str
    cluster: str
    index: int
    """Its place in the network, counted from zero."""
    address: str
    root: str = ""
    """Of which root file system it was made."""


class MachineState(msgspec.Struct, frozen=True):
    """Which process is a machine's first, and whether the process that started it has done all its part."""

    first: ProcessKey
    connected: bool = False


@dataclass(frozen=True)
class Neighbour:
    """The folder of one machine."""

    directory: Path

    @property
    def name(self) -> str:
        """The machine's name."""
        return self.directory.name

    @property
    def settings(self) -> Path:
        """How it is run."""
        return self.directory / "settings.json"

    @property
    def state(self) -> Path:
        """Which process is its first."""
        return self.directory / "state.json"

    @property
    def root(self) -> Path:
        """Its root file system."""
        return self.directory / "root"

    @property
    def log(self) -> Path:
        """What its first process says before it becomes systemd."""
        return self.directory / "machine.log"

    @property
    def controllers(self) -> Path:
        """Which controllers of cgroup v2 were switched on for it."""
        return self.directory / "cgroup-controllers"

    @property
    def cluster(self) -> str:
        """The name of the cluster that it is beside."""
        return self.directory.parent.parent.name

    @property
    def cgroup(self) -> str:
        """Its control group, below each hierarchy's root; no cluster's name has a dot."""
        return f"stackwright-{self.cluster}.{self.name}"

    @property
    def cable(self) -> str:
        """The host's end of its cable; Linux allows 15 characters."""
        return f"sm-{self._digest}"

    @property
    def tunnel_cable(self) -> str:
        """The host's end of its cable for tunnels."""
        return f"su-{self._digest}"

    @property
    def _digest(self) -> str:
        return hashlib.sha256(f"{self.cluster}/{self.name}".encode()).hexdigest()[:12]

    def read_settings(self) -> MachineSettings | None:
        """Return how it is run, or None if it was never made."""
        return layout.read(self.settings, MachineSettings)

    def running(self) -> MachineState | None:
        """Return its state if it runs; what a dead one has left behind says nothing."""
        state = layout.read(self.state, MachineState)
        return state if state and processes.alive(state.first) else None


def of(place: Layout) -> Iterator[Neighbour]:
    """Return the machines beside a cluster, in the order of their names."""
    if place.machines.is_dir():
        yield from (Neighbour(path) for path in sorted(place.machines.iterdir()) if path.is_dir())


def end(machine: Neighbour, *, orderly: bool) -> None:
    """End a machine, and remove what it has outside of its folder; one that has ended is swept up after."""
    if state := machine.running():
        first_process.end(state.first, asking=SHUT_DOWN if orderly else None)
    trees = cgroups.hierarchies()
    if strangers := cgroups.processes(machine.cgroup, trees, patience=_PATIENCE):
        raise Collision(
            f"Another machine called {machine.name} runs beside a cluster called {machine.cluster}, with processes "
            f"such as {strangers[0]} in the control group {machine.cgroup}; its folder is not {machine.directory}."
        )
    network.unplug(machine.cable)
    network.unplug(machine.tunnel_cable)
    enabled = machine.controllers.read_text().split() if machine.controllers.exists() else []
    cgroups.remove(machine.cgroup, trees, enabled=enabled)
    machine.controllers.unlink(missing_ok=True)
    machine.state.unlink(missing_ok=True)


def remove_files(machine: Neighbour, progress: Progress) -> None:
    """Remove the folder of a machine that has ended. It has many files, which takes minutes on a slow disk."""
    progress.say(f"Removing the files of the machine {machine.name}.")
    # Without its settings, what is left of it is made anew by the next add, if we are killed here.
    machine.settings.unlink(missing_ok=True)
    began, removed, told = time.monotonic(), 0, 0
    for folder, _, names in os.walk(machine.directory, topdown=False):
        for name in names:
            with suppress(OSError):
                Path(folder, name).unlink()
        removed += len(names)
        if removed - told >= _TOLD:
            told, passed = removed, duration(time.monotonic() - began)
            progress.update(f"Removed {removed:,} files of the machine {machine.name}, {passed} so far")
    shutil.rmtree(machine.directory, ignore_errors=True)

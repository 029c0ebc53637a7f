"""Says how a cluster is: each of its programs, its health, its memory, its log."""

import msgspec

from stackwright.local.cluster import layout, lifecycle, processes
from stackwright.local.cluster.layout import Health


class ProgramStatus(msgspec.Struct, frozen=True):
    """One program: how it is, its process as the host sees it, its memory in bytes (shared parts by share)."""

    name: str
    state: Health
    pid: int
    memory: int
    restarts: int
    log: str
    trouble: str


class ClusterStatus(msgspec.Struct, frozen=True):
    """A cluster: whether it runs, where it answers, and its programs."""

    name: str
    running: bool
    ready: bool = False
    server: str = ""
    kubeconfig: str = ""
    directory: str = ""
    memory: int = 0
    programs: tuple[ProgramStatus, ...] = ()


def read(name: str) -> ClusterStatus:
    """Return how the cluster of that name is."""
    place = layout.of(name)
    state = lifecycle.running(place)
    settings = place.read_settings()
    if state is None or settings is None:
        return ClusterStatus(name, running=False, directory=str(place.directory) if settings else "")
    outside = processes.inside(state.first.pid)
    first = ProgramStatus(
        name="supervisor",
        state="ready",
        pid=state.first.pid,
        memory=processes.memory(state.first.pid),
        restarts=0,
        log=str(place.log("supervisor")),
        trouble="",
    )
    programs = [first]
    for one in state.programs:
        pid = outside.get(one.pid, 0) if one.pid else 0
        programs.append(
            ProgramStatus(one.name, one.state, pid, processes.memory(pid), one.restarts, one.log, one.trouble)
        )
    return ClusterStatus(
        name=name,
        running=True,
        ready=state.ready,
        server=settings.url,
        kubeconfig=str(place.kubeconfig),
        directory=str(place.directory),
        memory=sum(one.memory for one in programs),
        programs=tuple(programs),
    )


def lines(found: ClusterStatus) -> list[str]:
    """Return the status as people read it."""
    if not found.running:
        kept = f"; its data is in {found.directory}" if found.directory else ""
        return [f"The cluster {found.name} is not running{kept}."]
    title = f"The cluster {found.name} answers at {found.server}; its kubeconfig is {found.kubeconfig}"
    table = [("PROGRAM", "STATE", "PID", "MEMORY", "RESTARTS", "LOG")]
    table += [
        (one.name, one.state, str(one.pid or "-"), _megabytes(one.memory), str(one.restarts), one.log)
        for one in found.programs
    ]
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    rows = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    unwell = [f"{one.name}: {one.trouble}" for one in found.programs if one.state != "ready" and one.trouble]
    return [title, *rows, f"Memory of all: {_megabytes(found.memory)}", *unwell]


def _megabytes(size: int) -> str:
    return f"{round(size / 1e6)} MB"

"""Looks at processes as the host sees them: which one has an id, which are in a node, how much memory they use."""

from pathlib import Path

from stackwright.local.cluster.layout import ProcessKey

PROC = Path("/proc")


def key_of(pid: int, proc: Path = PROC) -> ProcessKey | None:
    """Return the process that has this id now, or None if there is none; a zombie does not count."""
    try:
        text = (proc / str(pid) / "stat").read_text()
    except OSError:
        return None
    # The name in the second field may itself have spaces and parentheses.
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else ProcessKey(pid, int(fields[19]))


def alive(who: ProcessKey, proc: Path = PROC) -> bool:
    """Return whether that very process still runs."""
    return key_of(who.pid, proc) == who


def inside(first: int, proc: Path = PROC) -> dict[int, int]:
    """Return the processes of the node whose first process that is: by their id inside, the one outside."""
    found: dict[int, int] = {}
    try:
        namespace = (proc / str(first) / "ns" / "pid_for_children").readlink()
    except OSError:
        return found
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            if (folder / "ns" / "pid").readlink() == namespace:
                found[_inner(folder / "status")] = int(folder.name)
        except OSError:
            continue  # It ended while we looked.
    return found


def _inner(status: Path) -> int:
    for line in status.read_text().splitlines():
        if line.startswith("NSpid:"):
            return int(line.split()[-1])
    return 0


def memory(pid: int, proc: Path = PROC) -> int:
    """Return a process' memory in bytes; what it shares with others counts for its share alone."""
    try:
        text = (proc / str(pid) / "smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:")), 0)

"""How mmdebstrap is run, so that nothing is left of it when it is killed."""

import os
from pathlib import Path

from stackwright.local import process

PROGRAM = "mmdebstrap"


def command(folder: Path) -> list[str]:
    """Return the beginning of mmdebstrap's command line; what it makes on its way is in a new folder of this one.

    Without root it has namespaces of its own anyway, whose users could not enter such a folder. With root, apt's own
    user may not be able to enter it either: mmdebstrap sees that, and lets apt download as root.
    """
    if os.geteuid() != 0:
        return [PROGRAM]
    temporary = folder / "temporary"
    temporary.mkdir()
    told = [f"TMPDIR={temporary}"] if may_have_a_root(os.statvfs(temporary).f_flag) else []
    return [*process.OWN_MOUNTS, "env", *told, PROGRAM]


def may_have_a_root(flags: int) -> bool:
    """Return whether programs and devices work on a file system that is mounted with those flags. Pure."""
    return not flags & (os.ST_NOEXEC | os.ST_NODEV)

"""Reads the kernel's list of mounts."""

import re
from pathlib import Path

# A space in a path, and other signs that would break a line, are written as three digits.
_WRITTEN = re.compile(r"\\([0-7]{3})")


def inside(folder: Path, mounts: str) -> list[Path]:
    """Return where something is mounted in a folder, from the text of a mounts file; pure.

    The kernel knows no links, so the folder must be the one behind them.
    """
    written = (line.split()[1] for line in mounts.splitlines())
    found = (Path(_WRITTEN.sub(lambda sign: chr(int(sign[1], 8)), path)) for path in written)
    return [path for path in found if path.is_relative_to(folder)]

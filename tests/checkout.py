"""A copy of the checkout, for those who change it or run it elsewhere."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def copy(tree: Path) -> None:
    """Copy what git knows of, and what is new and not ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, listed.split("\0")):
        # A chart has the library by a link to its folder. What is listed may have been deleted.
        if (ROOT / name).is_file() or (ROOT / name).is_symlink():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name, follow_symlinks=False)

"""Run a name server, and let it read its hosts files again whenever they change: FOLDER COMMAND [ARGUMENT ...].

Kubernetes replaces the files of a mounted ConfigMap by exchanging a link whose name begins with a dot, and dnsmasq
does not look at such names: it would serve the old names until it is restarted. On SIGHUP it reads the files again, and
forgets what other servers told it, so that a name that did not exist a moment ago is not remembered as missing.
"""

import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

# How often the files are looked at, in seconds.
PERIOD = 1.0


def look(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Return what stands for the present files: their names, and which files these are."""
    found = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        try:
            there = path.stat()
        except FileNotFoundError:
            # It was removed just now.
            continue
        found.append((path.name, there.st_ino, there.st_mtime_ns))
    return tuple(found)


def main(folder: Path, *command: str) -> int:
    """Run the command until it ends, and return its exit code; what would end us ends it."""
    read = look(folder)
    server = subprocess.Popen(command)  # noqa: S603  the command of the pod itself

    def end(number: int, _: FrameType | None) -> None:
        server.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    while server.poll() is None:
        # By then it has read its files, and handles the signal.
        time.sleep(PERIOD)
        present = look(folder)
        if present != read and server.poll() is None:
            read = present
            server.send_signal(signal.SIGHUP)
    return server.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))

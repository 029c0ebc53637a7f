"""The first process of a machine: makes the machine's view of this one, and becomes systemd once it is connected."""

import argparse
import sys
from pathlib import Path

from stackwright.local.cluster import first_process
from stackwright.local.cluster.neighbours import Neighbour
from stackwright.local.errors import LocalError
from stackwright.local.machine import isolation


def main() -> int:
    """Read the command line, tell which process we are, and become systemd."""
    parser = argparse.ArgumentParser(prog="python -m stackwright.local.machine", description=__doc__)
    parser.add_argument("--directory", type=Path, required=True, help="the machine's folder")
    machine = Neighbour(parser.parse_args().directory)
    first_process.announce()
    try:
        isolation.prepare(machine.root)
        if first_process.is_connected():
            isolation.become(machine.root, machine.name)
    except (LocalError, OSError) as error:
        print(error, file=sys.stderr, flush=True)  # noqa: T201  standard error is our log
        first_process.is_connected()
    return 1


if __name__ == "__main__":
    sys.exit(main())

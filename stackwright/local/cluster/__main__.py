"""The first process of a node: makes the node's view of the machine, and runs its programs until it is ended."""

import argparse
import sys
from pathlib import Path

from stackwright.local.cluster import processes
from stackwright.local.cluster.layout import CONNECTED, Layout


def main() -> int:
    """Read the command line, write down which process we are, and run the node once it is connected."""
    parser = argparse.ArgumentParser(prog="python -m stackwright.local.cluster", description=__doc__)
    parser.add_argument("--directory", type=Path, required=True, help="the cluster's folder, with its settings.json")
    layout = Layout(parser.parse_args().directory)
    # /proc is still the host's, so this is our id as the host sees it.
    first = processes.key_of(int(Path("/proc/self").readlink().name))
    settings = layout.read_settings()
    if first is None or settings is None:
        return 1
    print(first.pid, first.started, flush=True)  # noqa: T201  who started us reads it
    # This takes a while; meanwhile the process that started us connects the node by its cable.
    from stackwright.local.cluster import node  # noqa: PLC0415  see above

    return node.run(layout, settings, first, connected=lambda: sys.stdin.readline().strip() == CONNECTED)


if __name__ == "__main__":
    sys.exit(main())

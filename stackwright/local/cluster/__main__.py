"""The first process of a node: makes the node's view of the machine, and runs its programs until it is ended."""

import argparse
import sys
from pathlib import Path

from stackwright.local.cluster import first_process
from stackwright.local.cluster.layout import Layout


def main() -> int:
    """Read the command line, write down which process we are, and run the node once it is connected."""
    parser = argparse.ArgumentParser(prog="python -m stackwright.local.cluster", description=__doc__)
    parser.add_argument("--directory", type=Path, required=True, help="the cluster's folder, with its settings.json")
    layout = Layout(parser.parse_args().directory)
    settings = layout.read_settings()
    first = first_process.announce() if settings else None
    if first is None or settings is None:
        return 1
    # This takes a while; meanwhile the process that started us connects the node by its cable.
    from stackwright.local.cluster import node  # noqa: PLC0415  see above

    return node.run(layout, settings, first, connected=first_process.is_connected)


if __name__ == "__main__":
    sys.exit(main())

"""Runs the supervisor of one API server until the process that it serves has ended."""

import argparse
import asyncio
import sys
from pathlib import Path

from stackwright.local.apiserver.supervisor import supervise


def main() -> int:
    """Read the command line and supervise."""
    parser = argparse.ArgumentParser(prog="python -m stackwright.local.apiserver", description=__doc__)
    parser.add_argument("--directory", type=Path, required=True, help="the server's folder, with its settings.json")
    parser.add_argument("--while", dest="master", type=int, required=True, help="the process to end with")
    parser.add_argument("--commands", action="store_true", help="take commands on standard input")
    arguments = parser.parse_args()
    return asyncio.run(supervise(arguments.directory, master=arguments.master, commands=arguments.commands))


if __name__ == "__main__":
    sys.exit(main())

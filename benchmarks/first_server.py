"""Measures `stackwright up` to a first server beside a hand-written script; see first_server_parts/program.py."""

import sys
from pathlib import Path

# A benchmark is started by its path, and its parts are found from the root of the checkout.
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.first_server_parts import program

if __name__ == "__main__":
    sys.exit(program.main())

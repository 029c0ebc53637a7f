"""Measures a data plane of 100 and of 1,000 nodes from apply to Ready; see benchmarks/dataplane_parts/program.py."""

import sys
from pathlib import Path

# A benchmark is started by its path, and its parts are found from the root of the checkout.
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.dataplane_parts import program

if __name__ == "__main__":
    sys.exit(program.main())

"""Measures one resource to all APIs beside a hand-written script; see benchmarks/services_parts/program.py."""

import sys
from pathlib import Path

# A benchmark is started by its path, and its parts are found from the root of the checkout.
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.services_parts import program

if __name__ == "__main__":
    sys.exit(program.main())

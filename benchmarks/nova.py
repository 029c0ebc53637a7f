"""Measures a Nova with three and with ten cells from apply to Ready; see benchmarks/nova_parts/program.py."""

import sys
from pathlib import Path

# A benchmark is started by its path, and its parts are found from the root of the checkout.
sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.nova_parts import program

if __name__ == "__main__":
    sys.exit(program.main())

"""Tells where a ring's time goes: `pytest --durations=0 … > log; python -m tests.durations log`.

Seconds of all workers by file, and how much of them is setup, call and teardown: a file whose setup is long starts
something that others have already.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

LINE = re.compile(r"^\s*(?P<seconds>[0-9.]+)s (?P<phase>setup|call|teardown) +(?P<file>[^:]+)::")
PHASES = ("setup", "call", "teardown")


def by_file(lines: Iterable[str]) -> dict[str, dict[str, float]]:
    """Return the seconds of each file by phase, the longest file first."""
    found: dict[str, dict[str, float]] = defaultdict(lambda: dict.fromkeys(PHASES, 0.0))
    for line in lines:
        if match := LINE.match(line):
            found[match["file"]][match["phase"]] += float(match["seconds"])
    return dict(sorted(found.items(), key=lambda entry: -sum(entry[1].values())))


def table(found: dict[str, dict[str, float]]) -> str:
    """Return it as a person reads it."""
    whole = sum(sum(phases.values()) for phases in found.values()) or 1.0
    lines = [f"{'all':>8} {'share':>6} {'setup':>8} {'call':>8} {'teardown':>8}  file"]
    for file, phases in found.items():
        seconds = sum(phases.values())
        parts = " ".join(f"{phases[phase]:8.1f}" for phase in PHASES)
        lines.append(f"{seconds:8.1f} {seconds / whole:6.1%} {parts}  {file}")
    return "\n".join([*lines, f"{whole:8.1f}"])


if __name__ == "__main__":
    sys.stdout.write(f"{table(by_file(Path(sys.argv[1]).read_text().splitlines()))}\n")

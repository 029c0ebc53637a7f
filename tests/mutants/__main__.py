"""Runs the mutants: `make mutants`, or `python -m tests.mutants WORD ...` for those whose names have a word.

The tests first have to pass on the product as it is, none skipped. Then each mutant is put into a copy of the tree,
and its tests have to fail: fail, not break, so that an error while they are collected is no proof.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests import checkout
from tests.mutants.catalog import ALL
from tests.mutants.mutant import DoesNotApply, Mutant

# Seconds after which tests hang: each has a deadline of its own, and none is that long. All of them take longer.
PATIENCE, PATIENCE_WITH_ALL = 600, 1800
# What pytest exits with.
PASSED, FAILED = 0, 1


def main(words: Sequence[str]) -> int:
    """Run the mutants whose names have one of the words, or all; return 0 when none survives."""
    chosen = [mutant for mutant in ALL if not words or any(word in mutant.name for word in words)]
    if not chosen:
        print(f"no mutant has one of the words {', '.join(words)} in its name")
        return 2
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = Path(folder) / "tree"
        checkout.copy(tree)
        print(f"==> the tests of {len(chosen)} mutants on the product as it is", flush=True)
        tests = sorted({test for mutant in chosen for test in mutant.caught_by})
        code, output = run(tree, tests, "-n", str(os.cpu_count() or 1), patience=PATIENCE_WITH_ALL)
        if code != PASSED:
            print(output)
            return 1
        troubles = list(troubles_of(chosen, tree))
    for trouble in troubles:
        print(trouble)
    print(f"{len(chosen)} mutants, {len(troubles)} of them in trouble")
    return 1 if troubles else 0


def troubles_of(mutants: Iterable[Mutant], tree: Path) -> Iterable[str]:
    """Try one mutant after the other; yield a line for each that no test caught, or that could not be tried."""
    for mutant in mutants:
        began = time.monotonic()
        try:
            found = caught(mutant, tree)
        except DoesNotApply as error:
            found = f"DOES NOT APPLY: {error}"
        word = found.partition(":")[0] or "caught"
        print(f"  {word:15} {time.monotonic() - began:5.1f} s  {mutant.name}", flush=True)
        if found:
            yield f"{mutant.name}\n  {found}"


def caught(mutant: Mutant, tree: Path) -> str:
    """Return "" where the tests of a mutant fail of it, else what is wrong."""
    path = tree / mutant.file
    before = path.read_text()
    path.write_text(mutant.applied(tree))
    try:
        code, output = run(tree, mutant.caught_by)
    finally:
        path.write_text(before)
    match code:
        case 0:
            return f"SURVIVED: {' '.join(mutant.caught_by)} passes in {mutant.file} with it"
        case 1:
            return ""
        case _:
            return f"BROKEN: pytest ended with {code}\n{output}"


def run(tree: Path, tests: Sequence[str], *options: str, patience: float = PATIENCE) -> tuple[int, str]:
    """Run tests in a tree until one fails; return pytest's exit code and what it printed."""
    # In CI a skip is a failure: a test that did not run proves nothing.
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "CI": "true"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *options, *tests]
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=patience, check=False
        )
    except subprocess.TimeoutExpired:
        return -1, f"no end after {patience:g} s: a test without a deadline"
    return done.returncode, done.stdout + done.stderr


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Runs what takes long: `make everything`, or `python -m tests.everything NAME ...` for some parts.

Every part is run, also after one that failed. At the end each has a line with its result and its minutes.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tests.checkout import ROOT
from tests.everything.parts import ALL, Part

# Seconds in which a part that is interrupted takes down what it brought up.
TIDYING = 180.0


@dataclass(frozen=True)
class Result:
    """How a part ended; an empty trouble means that it passed."""

    part: Part
    seconds: float
    trouble: str = ""

    def line(self) -> str:
        """Return what the summary says of it."""
        word = "FAILED" if self.trouble else "passed"
        end = f": {self.trouble}" if self.trouble else ""
        return f"  {word}  {self.seconds / 60:5.1f} min  {self.part.name:12}  {self.part.what}{end}"


def main(names: Sequence[str], parts: Sequence[Part] = ALL) -> int:
    """Run the parts of these names, or all; return 0 if none failed."""
    known = [part.name for part in parts]
    if unknown := [name for name in names if name not in known]:
        print(f"there is no part {', '.join(unknown)}; there are {', '.join(known)}")
        return 2
    chosen = [part for part in parts if not names or part.name in names]
    results: list[Result] = []
    try:
        for number, part in enumerate(chosen, 1):
            print(f"==> {number} of {len(chosen)}: {part.name}: {part.what}", flush=True)
            results.append(run(part))
            print(results[-1].line(), flush=True)
    except KeyboardInterrupt:
        print("interrupted")
    return summed_up(results, chosen)


def summed_up(results: Sequence[Result], chosen: Sequence[Part]) -> int:
    """Print a line for each part; return 0 if all of them ran and passed."""
    failed = [result for result in results if result.trouble]
    not_run = chosen[len(results) :]
    print("==> everything")
    for result in results:
        print(result.line())
    for part in not_run:
        print(f"  not run           {part.name:12}  {part.what}")
    minutes = sum(result.seconds for result in results) / 60
    print(f"{len(results)} of {len(chosen)} parts in {minutes:.0f} min, {len(failed)} failed")
    return 1 if failed or not_run else 0


def run(part: Part) -> Result:
    """Run one part, with its output where ours goes."""
    # In CI a skip is a failure: a test that did not run proves nothing.
    environment = {**os.environ, "CI": "true", **part.environment}
    began = time.monotonic()
    # A group of its own, so that all of it can be ended.
    with subprocess.Popen(part.command, cwd=ROOT, env=environment, start_new_session=True) as process:
        try:
            code = process.wait(part.minutes * 60)
            trouble = f"ended with {code}" if code else ""
        except subprocess.TimeoutExpired:
            end(process)
            trouble = f"no end after {part.minutes:g} min"
        except BaseException:
            end(process)
            raise
    return Result(part, time.monotonic() - began, trouble)


def end(process: "subprocess.Popen[bytes]") -> None:
    """Interrupt a part, as a person would; kill what does not listen."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(TIDYING)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

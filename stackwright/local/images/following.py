"""What a user sees of a build while it goes on, and the log that is kept of it."""

import os
import re
import time
from collections.abc import Sequence
from pathlib import Path

from stackwright.local import process
from stackwright.local.progress import Progress, duration

_STEP = re.compile(r"(?:\[(\d+)/(\d+)\] )?STEP (\d+)/(\d+): (.*)")


class Following:
    """What a build is seen to do: the step that it is at, and for how long."""

    def __init__(self, name: str, doing: str, progress: Progress) -> None:
        self._name = name
        self._progress = progress
        self._begin = time.monotonic()
        self._doing = doing

    def run(self, command: Sequence[str], *, directory: Path, log: Path) -> int:
        """Run a program to its end, add what it writes to the log, and return its exit code."""
        with log.open("ab") as output:

            def line(text: str) -> None:
                output.write(f"{text}\n".encode())
                output.flush()
                self.line(text)

            listener = process.Listener(line=line, tick=self.tick)
            return process.stream(command, directory=directory, environment=os.environ, listener=listener)

    def line(self, text: str) -> None:
        """Take one line that the program wrote."""
        if step := _STEP.match(text):
            stage, stages, number, total, instruction = step.groups()
            of = f" of stage {stage} of {stages}" if stage else ""
            self._doing = f"step {number} of {total}{of}: {instruction[:60]}"
        elif text.startswith("I: "):
            self._doing = text[3:]

    def tick(self) -> None:
        """Tell how far it is."""
        self._progress.update(f"{self._name}: {self._doing}, {duration(time.monotonic() - self._begin)} so far")

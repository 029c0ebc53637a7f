"""One helm that stays for many runs: to start helm takes several times as long as to render one of our charts.

Only our own build of helm can (its word is `stackwright-runs`); any other does one run at a time, as always. It is for
our own charts alone: what a user's chart does is bounded by a process that it has to itself.
"""

import asyncio
import contextlib
import json
import subprocess
import threading
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from stackwright.adapters.errors import Unavailable
from stackwright.adapters.helm import programs
from stackwright.adapters.helm.manifests import JsonObject
from stackwright.adapters.helm.programs import Bounds, Done

WORD = "stackwright-runs"
# A cloud that comes up or changes asks several times in a second; one at rest need not pay for the memory.
IDLE = 15.0
# Helm keeps some 400 KB of each run (its commands register their flags for good): one that is not replaced meets its
# memory limit after 170. The start of the next one, divided by so many runs, is 1.5 ms.
RUNS = 40
# JSON takes up to six characters for one.
_ESCAPED = 6


@dataclass(frozen=True)
class Answer:
    """How a run ended, and the objects of a manifest that it printed; None where it did not read them."""

    done: Done
    objects: tuple[JsonObject, ...] | None = None


class _Standing:
    """A helm that waits for the next run."""

    def __init__(self, program: Path, environment: Mapping[str, str], bounds: Bounds, idle: float) -> None:
        words = [str(program), WORD, f"{idle:g}s"]
        pipe = subprocess.PIPE
        settings = {**programs.go_settings(bounds), **environment}
        # It ends by itself when its input does, so none is left behind by an operator that is killed.
        self._process = subprocess.Popen(  # noqa: S603  helm, and no shell
            words, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=settings, start_new_session=True
        )
        assert self._process.stdin is not None  # noqa: S101  both are pipes
        assert self._process.stdout is not None  # noqa: S101  likewise
        self._questions, self._answers = self._process.stdin, self._process.stdout
        self._seconds = bounds.seconds
        # What is printed, and the objects in it.
        self._longest = 2 * bounds.printed * _ESCAPED
        try:
            programs.bound(self._process.pid, bounds, stays=True)
        except BaseException:
            self.end()
            raise

    def line(self, question: bytes = b"") -> bytes:
        """Return the next line of it, after a question; "" where it ended, or had to be ended."""
        late = threading.Timer(self._seconds, self._process.kill)
        late.start()
        try:
            self._questions.write(question)
            self._questions.flush()
            answer = self._answers.readline(self._longest)
        except OSError:
            return b""
        finally:
            late.cancel()
        return answer if answer.endswith(b"\n") else b""

    def dismiss(self) -> None:
        """Let it end, after it has answered all that it was asked: nothing is left to be written."""
        self._questions.close()
        self.end()

    def end(self) -> int:
        """See that nothing of it is left; return what it exited with, below zero if it was killed."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            # One that closed its output is about to exit.
            return self._close(self._process.wait(0.1))
        self._process.kill()
        return self._close(self._process.wait())

    def _close(self, code: int) -> int:
        self._answers.close()
        # What it has not read is still to be written.
        with contextlib.suppress(OSError):
            self._questions.close()
        return code


class StandingHelm:
    """Runs of one helm program, one after another.

    Whatever goes wrong is answered by None: then who asked does the run in a process of its own, which says what is
    wrong, if it still is.
    """

    def __init__(self, environment: Mapping[str, str], bounds: Bounds, *, idle: float = IDLE, runs: int = RUNS) -> None:
        self.starts = 0
        """How often a helm was started to stay."""
        self._most = runs
        # How many runs the present one still does.
        self._left = 0
        self._environment = environment
        self._bounds = bounds
        self._idle = idle
        self._standing: _Standing | None = None
        self._unable: set[Path] = set()
        # One thread: whoever comes next waits in its queue, and no event loop does.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="helm")
        # Nobody closes a renderer.
        self._at_last = weakref.finalize(self, lambda: None)

    async def run(self, program: Path, words: Sequence[str], given: str) -> Answer | None:
        """Return how a run ended; None if it is to be done in another way."""
        if program in self._unable:
            return None
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, program, words, given)

    def _run(self, program: Path, words: Sequence[str], given: str) -> Answer | None:
        question = json.dumps({"words": words, "given": given}).encode() + b"\n"
        if self._standing is not None and not self._left:
            self._release(self._standing).dismiss()
        if self._standing is not None:
            if (answer := self._ask(self._standing, question)) is not None:
                return answer
            if self._end(self._standing) != 0:
                return None
            # It had gone: it does when nobody asks for a while.
        if program not in self._unable:
            self._start(program)
        if self._standing is None:
            return None
        if (answer := self._ask(self._standing, question)) is None:
            self._end(self._standing)
        return answer

    def _start(self, program: Path) -> None:
        try:
            standing = _Standing(program, self._environment, self._bounds, self._idle)
        except (OSError, Unavailable):
            return
        self.starts += 1
        said = standing.line()
        if said == b"\n":
            self._standing, self._left = standing, self._most
            self._at_last = weakref.finalize(self, standing.end)
        elif standing.end() >= 0 or said:
            # It does not know the word. One that was killed may have met a bad moment.
            self._unable.add(program)

    def _end(self, standing: _Standing) -> int:
        return self._release(standing).end()

    def _release(self, standing: _Standing) -> _Standing:
        self._at_last.detach()
        self._standing = None
        return standing

    def _ask(self, standing: _Standing, question: bytes) -> Answer | None:
        self._left -= 1
        answer = standing.line(question)
        if not answer:
            return None
        try:
            told = json.loads(answer)
            done = Done(int(told["code"]), str(told["printed"]).encode(), str(told["complaint"]))
            objects = told.get("objects")
        except (ValueError, TypeError, LookupError):
            return None
        if len(done.printed) > self._bounds.printed:
            return None
        return Answer(done, tuple(body for body in objects if isinstance(body, dict)) if objects is not None else None)

"""What a person sees while programs are fetched or compiled: one live line on a terminal, else a line now and then."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self, TextIO

Clock = Callable[[], float]

# How often a log that nobody watches live gets a line.
QUIET = 15.0


class Progress(Protocol):
    """Shows the user how far we are."""

    def say(self, text: str) -> None:
        """Tell something that stays worth reading."""

    def update(self, text: str) -> None:
        """Tell the state of now; called often, and only the latest matters."""


class Silent:
    """Tells nobody."""

    def say(self, text: str) -> None:
        """Drop it."""

    def update(self, text: str) -> None:
        """Drop it."""


class Lines:
    """Plain lines for a log: everything said, and the state of now at most every `every` seconds."""

    def __init__(self, stream: TextIO, *, every: float = QUIET, clock: Clock = time.monotonic) -> None:
        self._stream = stream
        self._every = every
        self._clock = clock
        self._last = clock()

    def say(self, text: str) -> None:
        """Write the line."""
        self._stream.write(f"{text}\n")
        self._stream.flush()

    def update(self, text: str) -> None:
        """Write the line when the last one is old enough."""
        if self._clock() - self._last >= self._every:
            self._last = self._clock()
            self.say(text)


class Live:
    """One line on a terminal that changes in place, and goes away when the work is done."""

    def __init__(self, stream: TextIO) -> None:
        # rich costs more than a second call for binaries that are there, so only a terminal pays for it.
        from rich.console import Console  # noqa: PLC0415  see above
        from rich.live import Live as RichLive  # noqa: PLC0415  see above
        from rich.text import Text  # noqa: PLC0415  see above

        self._console = Console(file=stream, highlight=False)
        # Refreshed by us alone: a thread of rich's would be in the way of the processes that are started meanwhile.
        self._live = RichLive(console=self._console, auto_refresh=False, transient=True)
        self._line = Text(no_wrap=True, overflow="ellipsis")
        self._started = False

    def say(self, text: str) -> None:
        """Write a line that stays, above the live one."""
        self._console.print(text, markup=False)

    def update(self, text: str) -> None:
        """Change the live line."""
        if not self._started:
            self._live.start()
            self._started = True
        self._line.plain = text
        self._live.update(self._line, refresh=True)

    def close(self) -> None:
        """Take the live line away."""
        if self._started:
            self._live.stop()
            self._started = False


class Shown:
    """Progress on a stream for the time of a block: live where the stream is a terminal, else lines."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._progress: Live | Lines | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(self._progress, Live):
            self._progress.close()

    def say(self, text: str) -> None:
        """Tell something that stays worth reading."""
        self._chosen().say(text)

    def update(self, text: str) -> None:
        """Tell the state of now."""
        self._chosen().update(text)

    def _chosen(self) -> Live | Lines:
        # Chosen when there is something to say: a call that finds everything in the cache says nothing.
        if self._progress is None:
            self._progress = Live(self._stream) if self._stream.isatty() else Lines(self._stream)
        return self._progress


def duration(seconds: float) -> str:
    """Return a time as people say it: 8 s, 1 min 40 s, 2 h 5 min."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def share(done: int, total: int, elapsed: float) -> str:
    """Return how much is done, for how long it took, and an estimate of the rest once it is worth something."""
    text = f"{done:,} of {total:,}, {duration(elapsed)} so far"
    if done * 20 < total or elapsed < 10 or done >= total:
        return text
    left = elapsed / done * (total - done)
    # An estimate that is exact to the second would promise too much.
    return f"{text}, about {duration(max(10, round(left / 10) * 10))} left"

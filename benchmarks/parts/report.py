"""The end of a benchmark: a table for people, then one line of JSON for programs."""

import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

# How wide the table is in a log; a terminal says itself how wide it is.
WIDTH = 180


@dataclass(frozen=True)
class Figure:
    """One figure, of ours and of what it is compared with, by round; less is better."""

    name: str
    unit: str
    ours: Sequence[float]
    beside: Sequence[float]
    of: str
    at_most: float | None = None
    """The goal: ours is at most this share of the other. Without one, the figure is only told."""

    @property
    def median(self) -> float:
        """Ours."""
        return statistics.median(self.ours)

    @property
    def median_beside(self) -> float:
        """The other's."""
        return statistics.median(self.beside)

    @property
    def ratio(self) -> float:
        """Ours as a share of the other."""
        return self.median / self.median_beside

    @property
    def holds(self) -> bool:
        """Whether the goal is met; one that is not set always is."""
        return self.at_most is None or self.ratio <= self.at_most


def table(title: str, figures: Sequence[Figure]) -> Table:
    """Return the figures as people read them: medians, and in brackets the least and the most."""
    made = Table(title=title, title_justify="left")
    made.add_column("figure")
    for column in ("ours", "beside", "ratio", "goal"):
        made.add_column(column, justify="right")
    made.add_column("")
    for figure in figures:
        goal = "" if figure.at_most is None else f"≤ {figure.at_most:g}"
        verdict = "" if figure.at_most is None else ("holds" if figure.holds else "MISSED")
        made.add_row(
            f"{figure.name}, {figure.unit}",
            _spread(figure.ours),
            f"{_spread(figure.beside)}  {figure.of}",
            f"{figure.ratio:.3f}",
            goal,
            verdict,
        )
    return made


def line(benchmark: str, figures: Sequence[Figure]) -> str:
    """Return the figures that have a goal as one line of JSON."""
    return json.dumps(
        {
            "benchmark": benchmark,
            "python": python(),
            "figures": [
                {
                    "name": f"{figure.name}, {figure.unit}",
                    "ours": _short(figure.median),
                    "beside": _short(figure.median_beside),
                    "of": figure.of,
                    "ratio": _short(figure.ratio),
                    "at_most": figure.at_most,
                    "holds": figure.holds,
                }
                for figure in figures
                if figure.at_most is not None
            ],
        }
    )


def python() -> str:
    """Return which Python this is and whose: a build without optimization takes nearly twice the CPU of another."""
    return f"Python {sys.version.split()[0]} of {sys.base_prefix}"


def finish(benchmark: str, title: str, figures: Sequence[Figure]) -> int:
    """Print both; return the exit code, 1 when a goal is missed."""
    wide_console().print(table(f"{title}, {python()}", figures))
    print(line(benchmark, figures), flush=True)
    return 0 if all(figure.holds for figure in figures) else 1


def wide_console() -> Console:
    """Return a console that does not break tables in a log."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    return console


def _spread(values: Sequence[float]) -> str:
    median, least, most = statistics.median(values), min(values), max(values)
    return f"{_short(median):g}" if least == most else f"{_short(median):g} ({_short(least):g} to {_short(most):g})"


def _short(value: float) -> float:
    return float(f"{value:.3g}")

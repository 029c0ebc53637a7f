"""Compares what a command printed with what its page shows: by the words that are the same in every run."""

import re
from collections.abc import Iterable

# What draws trees and tables.
_DRAWN = "│├└─|+-…,;:.()\"'"
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
# What depends on when a page was recorded: dates as C's ctime and as ISO 8601 write them, and lengths of time.
_FLEETING = re.compile(
    rf"\b{_DAY},? (?:{_MONTH} +\d+|\d+ {_MONTH})\b"
    r"|\b\d{4}-\d{2}-\d{2}\b|\b\d{2}:\d{2}:\d{2}(?:\.\d+)?\b"
    r"|\b[\d.]+ (?:s|min|h|d|msecs)\b|\bago\b"
)
# Counts last: revisions, pods, keys. Longer numbers are ports, sizes and years, which differ from run to run.
_COUNT = re.compile(r"\d{1,3}(?:/\d{1,3})?")


def missing(shown: Iterable[str], printed: str) -> list[str]:
    """Return the lines of a page whose lasting words stand, in their order, in no line that was printed."""
    answers = [lasting(line) for line in printed.splitlines()]
    return [line for line in shown if not any(_within(lasting(line), answer) for answer in answers) and lasting(line)]


def lasting(line: str) -> list[str]:
    """Return the words of a line that are the same whenever it is printed: no dates, ages, hashes, sizes or ports."""
    words = (word.strip(_DRAWN) for word in _FLEETING.sub(" ", line).split() if "…" not in word)
    return [word for word in words if word and (_COUNT.fullmatch(word) or not re.search(r"\d", word))]


def _within(words: list[str], answer: list[str]) -> bool:
    rest = iter(answer)
    return all(word in rest for word in words)

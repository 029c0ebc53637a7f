"""Compares what a command printed with what its page shows: by the words that are the same in every run."""

import re
from collections.abc import Iterable

# Words of times, and what draws trees and tables.
_FLEETING = frozenset({"s", "min", "h", "d", "ago"})
_DRAWN = "│├└─|+-…,;:.()\"'"


def missing(shown: Iterable[str], printed: str) -> list[str]:
    """Return the lines of a page whose lasting words stand, in their order, in no line that was printed."""
    answers = [lasting(line) for line in printed.splitlines()]
    return [line for line in shown if not any(_within(lasting(line), answer) for answer in answers) and lasting(line)]


def lasting(line: str) -> list[str]:
    """Return the words of a line that do not depend on the day: no numbers, hashes, ages, and nothing left out."""
    words = (word.strip(_DRAWN) for word in line.split() if not re.search(r"\d|…", word))
    return [word for word in words if word and word not in _FLEETING]


def _within(words: list[str], answer: list[str]) -> bool:
    rest = iter(answer)
    return all(word in rest for word in words)

"""What `stackwright check` found, as people and programs read it: a table of sentences, JSON. Pure."""

import textwrap
from collections.abc import Iterable

import msgspec

from stackwright.cli import exit_codes
from stackwright.foresight.checks.results import CheckResult, Level, count

# So wide that nobody folds it: for what is no terminal.
ENDLESS = 10_000


class Report(msgspec.Struct, frozen=True, rename="camel"):
    """What `-o json` prints. Fields may be added; none changes its meaning."""

    namespace: str
    problems: int
    warnings: int
    findings: tuple[CheckResult, ...]


def report(namespace: str, found: tuple[CheckResult, ...]) -> str:
    """Return the results of checks as JSON."""
    said = Report(namespace, count(found, Level.PROBLEM), count(found, Level.WARNING), found)
    return msgspec.json.format(msgspec.json.encode(said)).decode()


def code_of(found: Iterable[CheckResult]) -> int:
    """Return how the command ends."""
    return exit_codes.FAILED if count(found, Level.PROBLEM) else exit_codes.DONE


def lines(found: Iterable[CheckResult], width: int = ENDLESS) -> list[str]:
    """Return the results as a table for a terminal of that width, with a summary at the end."""
    every = list(found)
    level, topic = (max(map(len, column), default=0) for column in (_levels(every), _topics(every)))
    rows = [
        row
        for one in every
        for row in _fold(f"{one.level:<{level}}  {one.topic:<{topic}}  ", one.message, level + topic + 4, width)
    ]
    counted = [
        f"{number} {word if number == 1 else f'{word}s'}"
        for level_of, word in ((Level.PROBLEM, "problem"), (Level.WARNING, "warning"))
        if (number := count(every, level_of))
    ]
    unknown = count(every, Level.UNKNOWN)
    counted += [f"{unknown} not checked"] if unknown else []
    return [*rows, "", f"{', '.join(counted)}." if counted else "No problems found."]


def _fold(first: str, message: str, indent: int, width: int) -> list[str]:
    """Return a row in lines, none of its words cut: a reference or a command is copied whole."""
    room = max(40, width - indent - 1)
    parts = textwrap.wrap(message, room, break_long_words=False, break_on_hyphens=False)
    return [f"{first if not number else ' ' * indent}{part}" for number, part in enumerate(parts)]


def _levels(found: list[CheckResult]) -> list[str]:
    return [str(one.level) for one in found]


def _topics(found: list[CheckResult]) -> list[str]:
    return [one.topic for one in found]

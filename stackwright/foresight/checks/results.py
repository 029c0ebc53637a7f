"""The results of checks: each a sentence that says what was found and, if something is wrong, what to do. Pure."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec


class Level(StrEnum):
    """How serious a result is."""

    OK = "OK"
    UNKNOWN = "Not checked"
    WARNING = "Warning"
    PROBLEM = "Problem"


class CheckResult(msgspec.Struct, frozen=True, rename="camel"):
    """What one check says about one topic."""

    level: Level
    topic: str
    message: str


def count(found: Iterable[CheckResult], level: Level) -> int:
    """Return how many results have a level."""
    return sum(1 for result in found if result.level is level)

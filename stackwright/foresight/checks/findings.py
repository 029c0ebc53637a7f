"""What a check comes to: a sentence that says how it is, and what to do where it is not well. Pure."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec


class Level(StrEnum):
    """How much a finding matters."""

    OK = "OK"
    UNKNOWN = "Not checked"
    WARNING = "Warning"
    PROBLEM = "Problem"


class Finding(msgspec.Struct, frozen=True, rename="camel"):
    """One thing that was looked at."""

    level: Level
    topic: str
    message: str


def count(found: Iterable[Finding], level: Level) -> int:
    """Return how many findings are of a level."""
    return sum(1 for finding in found if finding.level is level)

"""What the pod tells, line by line, and what it comes to. Pure."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import msgspec

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class TestResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of one test."""

    # pytest takes what is called so for a test of its own.
    __test__ = False

    test: str
    status: str
    seconds: float = 0.0
    reason: str = ""
    trace: str = ""


class _Done(msgspec.Struct, frozen=True):
    missing: int = 0


class _Line(msgspec.Struct, frozen=True):
    """All that a line can say; it says one of these."""

    error: str = ""
    notes: tuple[str, ...] = ()
    selected: int | None = None
    leftOut: dict[str, int] = {}
    name: str = ""
    test: str = ""
    status: str = ""
    seconds: float = 0.0
    reason: str = ""
    trace: str = ""
    missing: tuple[str, ...] = ()
    said: str = ""
    removing: bool = False
    removed: int = 0
    troubles: tuple[str, ...] = ()
    ended: bool = False
    done: _Done | None = None


@dataclass
class Findings:
    """What has been told so far."""

    results: list[TestResult] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    selected: int | None = None
    left_out: dict[str, int] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    said: str = ""
    """What Tempest itself said where tests are missing."""
    removing: bool = False
    troubles: tuple[str, ...] = ()
    """What could not be removed from the cloud."""
    error: str = ""
    done: bool = False

    def take(self, text: bytes) -> TestResult | None:
        """Take note of a line; return the result of a test if that is what it says."""
        try:
            line = msgspec.json.decode(text, type=_Line)
        except msgspec.DecodeError:
            # Warnings of Python, and the like.
            return None
        if line.test:
            result = TestResult(line.test, line.status, line.seconds, line.reason, line.trace)
            self.results.append(result)
            return result
        self.names += [line.name] if line.name else []
        self.notes = line.notes or self.notes
        self.selected = self.selected if line.selected is None else line.selected
        self.left_out = line.leftOut or self.left_out
        self.missing = line.missing or self.missing
        self.said = line.said or self.said
        self.removing = self.removing or line.removing
        self.troubles = line.troubles or self.troubles
        self.error = line.error or self.error
        self.done = self.done or line.done is not None
        return None

    def count(self, status: str) -> int:
        """Return how many tests ended so."""
        return sum(result.status == status for result in self.results)

    def of(self, status: str) -> list[TestResult]:
        """Return the tests that ended so, by name."""
        return sorted((result for result in self.results if result.status == status), key=lambda result: result.test)

    @property
    def complete(self) -> bool:
        """Whether all that was selected has a result."""
        return self.done and not self.missing

    @property
    def succeeded(self) -> bool:
        """Whether the cloud does all that was tried."""
        return self.complete and not self.count(FAILED)

    def skips(self) -> list[tuple[str, int]]:
        """Return why tests were skipped, each reason with how many, the most frequent first."""
        return Counter(result.reason for result in self.results if result.status == SKIPPED).most_common()


def as_json(found: Findings, seconds: float) -> dict[str, Any]:
    """Return all of it for machines."""
    return {
        "passed": found.count(PASSED),
        "failed": found.count(FAILED),
        "skipped": found.count(SKIPPED),
        "missing": list(found.missing),
        "leftOut": found.left_out,
        "notes": list(found.notes),
        "notRemoved": list(found.troubles),
        "seconds": round(seconds, 1),
        "tests": msgspec.to_builtins(sorted(found.results, key=lambda result: result.test)),
    }

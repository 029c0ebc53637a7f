"""Which tests are run: by names or patterns, without those that this cloud cannot serve. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .facts import Facts

# What a test is marked with that is quick and broad; `tempest run --smoke` looks for the same.
SMOKE = "smoke"
_SMOKE = re.compile(r"\[.*\bsmoke\b.*\]")
# Scenarios log in to servers, whatever is configured; these do not.
SCENARIO = "tempest.scenario."
WITHOUT_LOGIN = frozenset(
    {
        "test_compute_unified_limits",
        "test_dashboard_basic_ops",
        "test_network_qos_placement",
        "test_object_storage_basic_ops",
        "test_server_advanced_ops",
        "test_server_basic_ops",
        "test_server_multinode",
        "test_unified_limits",
    }
)
PRETENDING = "They need servers that really run, and the computes of this cloud only pretend to run them."
UNREACHED = "They log in to servers, and no external network leads to those of this cloud."


class NothingSelected(Exception):
    """A selection that no test has; the message is a sentence for the user."""


@dataclass(frozen=True)
class Selected:
    """The tests to run, as they are called with their marks, and how many were left out, by the reason."""

    tests: tuple[str, ...] = ()
    left_out: dict[str, int] = field(default_factory=dict)


def choose(known: Sequence[str], words: Iterable[str], exclude: str = "") -> tuple[str, ...]:
    """Return the tests that any of the words selects; each word has to select one at least.

    A word is `smoke`, or a pattern that is found in the name of a test.
    """
    chosen: set[str] = set()
    for word in words:
        pattern = _SMOKE if word == SMOKE else re.compile(word)
        found = {test for test in known if pattern.search(test)}
        if not found:
            raise NothingSelected(f"No test of Tempest is called {word}; --list prints the names of all tests.")
        chosen |= found
    without = re.compile(exclude) if exclude else None
    left = tuple(test for test in known if test in chosen and not (without and without.search(test)))
    if not left:
        raise NothingSelected(f"--exclude {exclude} leaves no test.")
    return left


def leave_out(tests: Iterable[str], facts: Facts) -> Selected:
    """Return the tests without those that no flag of Tempest skips, although this cloud cannot serve them."""
    if "compute" not in facts.services or not facts.computes:
        return Selected(tuple(tests))
    reason = PRETENDING if not facts.real else UNREACHED if facts.external is None else ""
    kept, dropped = [], 0
    for test in tests:
        if reason and test.startswith(SCENARIO) and test.split(".")[2] not in WITHOUT_LOGIN:
            dropped += 1
        else:
            kept.append(test)
    return Selected(tuple(kept), {reason: dropped} if dropped else {})


def plain(test: str) -> str:
    """Return the name of a test without its marks."""
    return test.partition("[")[0]

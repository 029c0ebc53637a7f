"""Times as people write and read them."""

from datetime import UTC, datetime

import click
import pytest

from stackwright.cli.parameters import Duration
from stackwright.foresight.durations import spell, spell_since


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("10m", 600), ("1h30m", 5400), ("2d", 172800), ("0", 0)]
)
def test_a_time_is_read(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "soon", "10 m", "-5", "1.5h", "m", "10m later"])
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(click.BadParameter, match="write 90s, 10m or 1h30m"):
        Duration().convert(text, None, None)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-3, "0 s"), (8, "8 s"), (60, "1 min"), (252, "4 min 12 s"), (11100, "3 h 5 min"), (187200, "2 d 4 h")],
)
def test_a_time_is_said_in_at_most_two_units(seconds: float, text: str) -> None:
    assert spell(seconds) == text


def test_a_moment_that_is_not_known_is_no_time() -> None:
    now = datetime(2026, 11, 15, 10, tzinfo=UTC)
    assert spell_since("", now) == ""
    assert spell_since("2026-11-15T09:59:00Z", now) == "1 min"

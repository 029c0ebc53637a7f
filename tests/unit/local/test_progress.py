"""Progress: what people read, and how often."""

import io

import pytest

from stackwright.local.progress import Lines, Shown, duration, share


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.2, "0 s"), (59.4, "59 s"), (60, "1 min"), (100, "1 min 40 s"), (7500, "2 h 5 min"), (-1, "0 s")],
)
def test_a_duration_is_said_as_people_say_it(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


@pytest.mark.parametrize(
    ("done", "total", "elapsed", "expected"),
    [
        pytest.param(10, 3211, 20, "10 of 3,211, 20 s so far", id="too-few-are-done-for-an-estimate"),
        pytest.param(100, 200, 4, "100 of 200, 4 s so far", id="too-little-time-has-gone-for-an-estimate"),
        pytest.param(
            1000,
            3000,
            100,
            "1,000 of 3,000, 1 min 40 s so far, about 3 min 20 s left",
            id="the-rest-takes-as-long-each",
        ),
        pytest.param(199, 200, 60, "199 of 200, 1 min so far, about 10 s left", id="never-less-than-ten-seconds"),
        pytest.param(200, 200, 60, "200 of 200, 1 min so far", id="nothing-is-left"),
    ],
)
def test_a_share_has_an_estimate_once_it_is_worth_something(
    done: int, total: int, elapsed: float, expected: str
) -> None:
    assert share(done, total, elapsed) == expected


def test_a_log_gets_a_line_now_and_then_and_everything_that_is_said() -> None:
    now = 100.0
    stream = io.StringIO()
    lines = Lines(stream, every=15, clock=lambda: now)
    lines.update("too early")
    lines.say("said")
    now = 115.0
    lines.update("in time")
    now = 129.0
    lines.update("too early again")
    assert stream.getvalue() == "said\nin time\n"


def test_a_terminal_has_one_line_that_goes_away_and_keeps_what_is_said() -> None:
    stream = Terminal()
    with Shown(stream) as progress:
        progress.update("Compiled packages: 1 of 2")
        progress.say("a [bold] word that stays")
        progress.update("Compiled packages: 2 of 2")
    text = stream.getvalue()
    assert "Compiled packages: 2 of 2" in text
    assert "a [bold] word that stays\n" in text.replace("\r\n", "\n")
    # The live line is taken away by moving up and erasing, or by erasing where the cursor is.
    assert "\x1b[2K" in text


def test_nothing_to_say_writes_nothing() -> None:
    stream = Terminal()
    with Shown(stream):
        pass
    assert stream.getvalue() == ""

"""What failed is told again, and tried again later and later."""

import pytest

from stackwright.adapters.errors import Rejected, Unavailable
from stackwright.adapters.helm import failures
from stackwright.adapters.helm.failures import Failures


class Clock:
    """A clock that a test turns by hand."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_failure_is_told_until_its_time_is_over_and_then_for_twice_as_long() -> None:
    clock = Clock()
    known = Failures[str](clock)
    known.refuse("a")
    held = []
    for _ in range(10):
        held.append(known.note("a", Rejected("no chart")))
        clock.now += held[-1] - 0.1
        with pytest.raises(Rejected, match="no chart"):
            known.refuse("a")
        known.refuse("another")
        clock.now += 0.2
        known.refuse("a")
    assert held == [5, 10, 20, 40, 80, 160, 320, 600, 600, 600]
    known.forget("a")
    assert known.note("a", Rejected("no chart")) == 5


def test_what_heals_by_itself_says_when_it_is_tried_again() -> None:
    clock = Clock()
    known = Failures[str](clock)
    known.note("a", Unavailable("too slow"))
    clock.now += 2
    with pytest.raises(Unavailable) as caught:
        known.refuse("a")
    assert caught.value.after == 3


def test_only_so_many_are_remembered() -> None:
    known = Failures[int](Clock())
    for number in range(failures.REMEMBERED + 1):
        known.note(number, Rejected("no chart"))
    known.refuse(0)
    with pytest.raises(Rejected):
        known.refuse(1)

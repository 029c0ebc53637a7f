"""How rings of keys are made and turned."""

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackwright.blueprint import key_rings


def chance(seed: int = 0) -> key_rings.Chance:
    return random.Random(seed).randbytes  # noqa: S311  the same keys in every run


def test_a_new_ring_has_a_staged_and_a_primary_key() -> None:
    ring = key_rings.made(chance())
    assert sorted(ring) == ["0", "1"]
    assert len(set(ring.values())) == 2
    assert key_rings.is_ring(ring)
    assert not key_rings.was_turned(ring)


def test_the_staged_key_becomes_the_primary_one_and_a_new_one_is_staged() -> None:
    ring = key_rings.turned({"0": "staged", "1": "old"}, 5, chance())
    assert ring["2"] == "staged"
    assert ring["1"] == "old"
    assert ring["0"] not in {"staged", "old"}
    assert key_rings.was_turned(ring)


def test_the_oldest_keys_go_when_there_are_more_than_the_size() -> None:
    ring = key_rings.turned({"0": "staged", "3": "c", "4": "d"}, 3, chance())
    assert sorted(ring) == ["0", "4", "5"]


def test_a_key_that_is_needed_stays_however_many_there_are() -> None:
    keys = {"0": "staged", "2": "b", "3": "c", "4": "d"}
    ring = key_rings.turned(keys, 3, chance(), needed={"3", "4"})
    assert sorted(ring) == ["0", "3", "4", "5"]
    assert key_rings.surplus(ring, 3) == ("3",)
    assert key_rings.surplus(ring, 4) == ()


@pytest.mark.parametrize(
    ("noted", "found"),
    [
        pytest.param('{"2": "2026-11-14T00:00:00Z"}', "2026-11-14T00:00:00Z", id="what-was-noted"),
        pytest.param("", "2026-11-15T00:00:00Z", id="nothing-was-noted"),
        pytest.param("{", "2026-11-15T00:00:00Z", id="what-was-noted-cannot-be-read"),
        pytest.param("[1]", "2026-11-15T00:00:00Z", id="it-is-no-map"),
        pytest.param('{"2": "yesterday"}', "2026-11-15T00:00:00Z", id="it-is-no-time"),
    ],
)
def test_a_key_of_which_nothing_is_noted_was_the_primary_one_until_the_last_turn(noted: str, found: str) -> None:
    keys = {"0": "staged", "2": "old", "3": "primary"}
    assert key_rings.primary_until(keys, noted, "2026-11-15T00:00:00Z") == {"2": found}


@given(size=st.integers(3, 8), turns=st.integers(1, 20))
def test_whoever_holds_the_ring_before_a_turn_reads_what_is_written_after_it(size: int, turns: int) -> None:
    draw = chance()
    ring = key_rings.made(draw)
    for _ in range(turns):
        after = key_rings.turned(ring, size, draw)
        primary = after[max(after, key=int)]
        assert primary in ring.values()
        assert len(after) <= size
        ring = after


@given(size=st.integers(3, 8))
def test_a_key_stays_for_as_many_turns_as_the_size_promises(size: int) -> None:
    draw = chance()
    ring = key_rings.made(draw)
    primary = ring["1"]
    for _ in range(size - 2):
        ring = key_rings.turned(ring, size, draw)
        assert primary in ring.values()


@pytest.mark.parametrize(
    ("keys", "holds"),
    [
        pytest.param({"0": "a", "1": "b"}, True, id="two-keys-are-a-ring"),
        pytest.param({"0": "a"}, False, id="a-staged-key-alone-is-none"),
        pytest.param({"1": "a", "2": "b"}, False, id="without-a-staged-key-it-is-none"),
        pytest.param({"0": "a", "one": "b"}, False, id="names-are-numbers"),
    ],
)
def test_what_is_a_ring(keys: dict[str, str], holds: bool) -> None:
    assert key_rings.is_ring(keys) is holds


def test_a_ring_is_due_days_after_its_last_turn_and_not_before() -> None:
    now = datetime(2026, 11, 15, 12, tzinfo=UTC)
    assert key_rings.due_in("2026-11-15T00:00:00Z", 1, now) == 12 * 3600
    assert key_rings.due_in("2026-11-13T00:00:00Z", 1, now) == 0

"""To write the same again and again is noticed, and ends."""

from stackwright.kube.builtin import ConfigMap
from stackwright.kube.resource import Key
from stackwright.kube.shapes.exchange import REMAKES, REST_SECONDS, TURNS, WITHIN_SECONDS, Exchanges

PARENT = Key("n", "parent")
NAME = (PARENT, ConfigMap.kind, Key("n", "child"))


def written(exchanges: Exchanges, digests: str, *, every: float) -> list[int]:
    """Return which of the writes, one for each letter, were one too many."""
    return [number for number, digest in enumerate(digests) if exchanges.note(NAME, digest, number * every)]


def test_new_contents_are_no_exchange() -> None:
    assert written(Exchanges(), "abcdefghijklmnopqrstuvwxyz", every=0.1) == []


def test_the_same_content_again_and_again_is_one() -> None:
    exchanges = Exchanges()
    (last,) = written(exchanges, "a" * (TURNS + 1), every=0.1)
    assert last == TURNS
    assert exchanges.rest(NAME, last * 0.1) == REST_SECONDS
    assert exchanges.rest(NAME, last * 0.1 + REST_SECONDS) == 0.0


def test_who_changes_its_own_mind_to_and_fro_is_in_one_too() -> None:
    assert written(Exchanges(), "ab" * TURNS, every=0.1) != []


def test_what_is_deleted_is_made_again_however_often() -> None:
    # A Service is made with the port that it had, and then written without it.
    exchanges = Exchanges()
    for turn in range(3 * TURNS):
        assert not exchanges.note(NAME, "with the port", turn * 1.0, absent=True)
        assert not exchanges.note(NAME, "without", turn * 1.0 + 0.1)
    assert exchanges.rest(NAME, 0.0) == 0.0


def remade(exchanges: Exchanges, times: int, *, once: bool) -> list[int]:
    """Return which of the makings of what was gone again, one each second, were one too many."""
    return [turn for turn in range(times) if exchanges.note(NAME, "a", turn * 1.0, absent=True, once=once)]


def test_what_runs_once_and_takes_itself_away_is_left_alone() -> None:
    exchanges = Exchanges()
    assert remade(exchanges, TURNS + 1, once=True) == [TURNS]
    assert exchanges.rest(NAME, TURNS * 1.0, absent=True) == REST_SECONDS


def test_what_is_changed_to_and_fro_and_then_deleted_is_made_again() -> None:
    exchanges = Exchanges()
    (last,) = written(exchanges, "a" * (TURNS + 1), every=0.1)
    assert exchanges.rest(NAME, last * 0.1, absent=True) == 0.0


def test_what_a_program_deletes_without_end_is_left_alone() -> None:
    assert remade(Exchanges(), REMAKES + 1, once=False) == [REMAKES]


def test_what_is_repaired_now_and_then_is_none() -> None:
    assert written(Exchanges(), "a" * 100, every=WITHIN_SECONDS / (TURNS - 2)) == []


def test_what_is_no_child_any_more_is_forgotten() -> None:
    exchanges = Exchanges()
    written(exchanges, "ab", every=1.0)
    exchanges.keep(PARENT, {(ConfigMap.kind, Key("n", "child"))})
    assert exchanges.courses
    exchanges.keep(PARENT, ())
    assert exchanges.courses == {}

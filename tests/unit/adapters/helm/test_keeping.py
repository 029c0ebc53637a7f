"""What is remembered weighs no more than it may."""

from stackwright.adapters.helm.keeping import Kept


def test_the_oldest_go_when_all_weigh_too_much() -> None:
    kept = Kept[str, int](lambda value: value, most=10)
    for name, weight in (("a", 4), ("b", 4), ("c", 1)):
        kept.put(name, weight)
    assert kept.get("a") == 4
    kept.put("d", 5)
    # `b` was asked for least recently.
    assert [name for name in "abcd" if kept.get(name) is not None] == ["a", "c", "d"]
    assert kept.weight == 10


def test_the_latest_stays_however_heavy_it_is() -> None:
    kept = Kept[str, int](lambda value: value, most=10)
    kept.put("a", 1)
    kept.put("b", 11)
    assert (kept.get("a"), kept.get("b")) == (None, 11)


def test_there_are_no_more_than_a_number_and_each_is_made_once() -> None:
    kept = Kept[int, object](lambda _: 0, most=0, number=2)
    made = [kept.recall(number, object) for number in (1, 1, 2, 3, 3, 1)]
    assert made[0] is made[1]
    assert made[3] is made[4]
    assert made[5] is not made[0]

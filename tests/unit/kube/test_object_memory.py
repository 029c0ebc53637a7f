"""What follows from an object is worked out once for it."""

from stackwright.kube.object_memory import REMEMBERED, ObjectMemory


def test_it_is_worked_out_once_for_each_object_and_not_for_its_equal() -> None:
    memory, made = ObjectMemory[int](), [0]

    def make() -> int:
        made[0] += 1
        return made[0]

    one, equal = [1], [1]
    assert [memory.recall(one, make), memory.recall(one, make), memory.recall(equal, make)] == [1, 1, 2]


def test_the_oldest_are_forgotten_and_worked_out_again() -> None:
    memory, items = ObjectMemory[int](), [[number] for number in range(REMEMBERED + 1)]
    for item in items:
        memory.recall(item, lambda: 1)
    assert len(memory.known) == REMEMBERED
    assert memory.recall(items[1], lambda: 2) == 1
    assert memory.recall(items[0], lambda: 2) == 2

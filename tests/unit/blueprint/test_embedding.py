"""Free-form parts of Kubernetes' own objects: what is wrong is named by its path, and what is right is let through."""

from typing import Annotated, Any

import pytest

from stackwright.api.base import JsonObject, Value, free_form
from stackwright.api.embedded import embedded
from stackwright.blueprint import ranges
from tests.embedded_cases import CASES, Case


def paths(case: Case) -> list[str]:
    """Return where our checks find something wrong with a value, below the value."""

    class Spec(Value, frozen=True, kw_only=True):
        part: Annotated[JsonObject, free_form, embedded(case.part)] = {}

    class Resource(Value, frozen=True, kw_only=True):
        spec: Any

    # The annotation names a variable of this function, which the names of a module do not have.
    Spec.__annotations__["part"] = Annotated[JsonObject, free_form, embedded(case.part)]
    return [path.removeprefix("spec.part") for path, _ in ranges.problems(Resource(spec=Spec(part=case.value)))]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_part_is_refused_for_what_is_wrong_with_it(case: Case) -> None:
    found = paths(case)
    assert (found == []) if case.wrong is None else (case.wrong in found)


def test_every_mistake_is_told_and_not_the_first_alone() -> None:
    case = next(case for case in CASES if case.part.__name__ == "Toleration")
    assert paths(Case(case.part, {"kye": "a", "effect": "Never", "tolerationSeconds": True})) == [
        ".kye",
        ".effect",
        ".tolerationSeconds",
    ]


def test_a_long_key_is_not_repeated_in_full() -> None:
    (path,) = paths(Case(CASES[0].part, {"operator": "Exists", "x" * 5000: 1}))
    assert len(path) < 80

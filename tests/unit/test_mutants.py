"""Every mutant still applies to the product, and names tests that there are; `make mutants` runs them."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.mutants.catalog import ALL
from tests.mutants.mutant import DoesNotApply, Mutant

ROOT = Path(__file__).parents[2]

each_mutant = pytest.mark.parametrize("mutant", [pytest.param(one, id=one.name.replace(" ", "-")) for one in ALL])


@each_mutant
def test_a_mutant_changes_its_file(mutant: Mutant) -> None:
    assert mutant.applied(ROOT) != (ROOT / mutant.file).read_text()


@pytest.mark.parametrize(
    "mutant", [pytest.param(one, id=one.name.replace(" ", "-")) for one in ALL if one.file.endswith(".py")]
)
def test_a_mutant_is_still_python(mutant: Mutant) -> None:
    ast.parse(mutant.applied(ROOT), mutant.file)


@each_mutant
def test_a_mutant_names_tests_that_there_are(mutant: Mutant) -> None:
    assert mutant.caught_by
    for test in mutant.caught_by:
        file, _, name = test.partition("::")
        function = name.partition("[")[0]
        assert not name or f"def {function}(" in (ROOT / file).read_text(), test


def test_mutants_are_told_apart_by_their_names() -> None:
    assert [name for name, count in Counter(mutant.name for mutant in ALL).items() if count > 1] == []


@pytest.mark.parametrize("text", ["nowhere in the file", "a"])
def test_a_text_that_is_not_there_exactly_once_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_text("a and a")
    with pytest.raises(DoesNotApply):
        Mutant("x", "file", text, "b", ()).applied(tmp_path)

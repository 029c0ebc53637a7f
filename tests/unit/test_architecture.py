"""The plan of the house, `docs/architecture.md`, has every room, and no other."""

import re

import pytest

from tests.checkout import ROOT
from tests.everything import parts

PAGE = (ROOT / "docs" / "architecture.md").read_text()
FLOORS = ("adapters", "api", "blueprint", "cli", "controllers", "foresight", "kube", "local", "simulator")


def named(floor: str) -> set[str]:
    """Return the modules and folders that the table of a floor names, in its first column."""
    (section,) = re.findall(rf"^## {floor}/.*?\n(.*?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    return {word.rstrip("/") for row in rows for word in re.findall(r"`([a-z0-9_]+/?)`", row)}


def existing(floor: str) -> set[str]:
    """Return the modules and folders that a floor has."""
    places = (ROOT / "stackwright" / floor).iterdir()
    return {
        place.stem for place in places if place.suffix == ".py" or (place.is_dir() and any(place.glob("**/*.py")))
    } - {"__init__", "__main__"}


@pytest.mark.parametrize("floor", FLOORS)
def test_the_table_of_a_floor_names_what_there_is(floor: str) -> None:
    assert (sorted(existing(floor) - named(floor)), sorted(named(floor) - existing(floor))) == ([], [])


def test_every_floor_has_a_table() -> None:
    floors = {place.name for place in (ROOT / "stackwright").iterdir() if place.is_dir() and any(place.glob("*.py"))}
    assert floors == {*FLOORS, "services"}


def test_every_part_of_what_takes_long_has_a_row() -> None:
    rows = re.findall(r"^\| ([a-z, -]+) \| `tests/", PAGE, re.MULTILINE)
    assert sorted(name for row in rows for name in row.split(", ")) == sorted(part.name for part in parts.ALL)


def test_no_word_stands_twice_in_the_glossary() -> None:
    words = re.findall(r"^\| ([a-z -]+) \|", PAGE[PAGE.index("## Glossary") :], re.MULTILINE)[1:]
    assert words
    assert len(set(words)) == len(words)

"""What holds for the tests on real clusters, so that one of them can be run alone, moved or removed."""

import re
from pathlib import Path

import pytest

from tests.checkout import ROOT
from tests.e2e import conftest, leaking

RINGS = ("e2e", "long", "chaos")
FILES = [path for ring in RINGS for path in sorted((ROOT / "tests" / ring).rglob("*.py"))]


def found(pattern: str) -> list[Path]:
    return [path.relative_to(ROOT) for path in FILES if re.search(pattern, path.read_text(), re.MULTILINE)]


def test_there_is_one_way_to_wait() -> None:
    assert found(r"^def (eventually|until)\(") == [Path("tests/e2e/waiting.py")]


class Item:
    """What pytest knows of a test, as far as its place matters."""

    def __init__(self, mark: pytest.MarkDecorator | None) -> None:
        self.mark = mark

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self.mark.mark if self.mark and self.mark.name == name else None


def test_only_marks_order_the_tests_of_the_shared_cloud() -> None:
    ends, looks = pytest.mark.at_the_end(2), pytest.mark.at_the_end(1)
    items = [Item(mark) for mark in (ends, None, pytest.mark.as_installed, looks, None)]
    first, second = items[1], items[4]
    conftest.pytest_collection_modifyitems(items)  # type: ignore[arg-type]  # a part of pytest's own
    assert [item.mark for item in items] == [pytest.mark.as_installed, None, None, looks, ends]
    assert (items[1], items[2]) == (first, second)


class Session:
    """What pytest knows of a run."""

    def __init__(self) -> None:
        self.stash = pytest.Stash()


class Asking:
    """What pytest knows of a test that asks for fixtures."""

    def __init__(self, session: Session, *fixturenames: str) -> None:
        self.session = session
        self.fixturenames = fixturenames


def test_the_first_test_of_the_cloud_after_a_failure_waits_and_no_other() -> None:
    session = Session()
    other, first, second = Asking(session, "cluster"), Asking(session, "cloud"), Asking(session, "cloud")
    assert not conftest.follows_failure(first)  # type: ignore[arg-type]  # a part of pytest's own
    session.stash[conftest.FAILED] = True
    waiting = [conftest.follows_failure(item) for item in (other, first, second)]  # type: ignore[arg-type]  # likewise
    assert waiting == [False, True, False]


def test_what_a_leak_could_not_be_looked_for_in_is_named() -> None:
    there = [f"{leaking.LOG}keystone-5d9-x", f"{leaking.LOG}nova-api-7c-y", "the pods"]
    assert leaking.missing(("keystone", "glance", "nova"), leaking.LOG, there) == ["glance"]

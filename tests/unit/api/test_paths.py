"""The one notation of paths: what stands at one, and what is put there."""

from typing import Any

import pytest

from stackwright.api import paths
from stackwright.api.base import JsonObject, Value

CELLS = {"cells": {"cell0": {"bus": {"cluster": "a"}}, "cell1": {}}, "secret": "s"}


class Cell(Value, frozen=True, kw_only=True):
    """A cell."""

    bus: str = ""


class Cells(Value, frozen=True, kw_only=True):
    """Cells by name."""

    cells: dict[str, Cell]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        pytest.param("secret", {"secret": "s"}, id="a-field"),
        pytest.param("cells.cell0.bus.cluster", {"cells.cell0.bus.cluster": "a"}, id="a-deep-field"),
        pytest.param("cells.*.bus.cluster", {"cells.cell0.bus.cluster": "a"}, id="where-an-entry-has-it"),
        pytest.param("cells.*", {"cells.cell0": {"bus": {"cluster": "a"}}, "cells.cell1": {}}, id="entries"),
        pytest.param("secret.*", {}, id="no-map-has-no-entries"),
        pytest.param("others.*.bus", {}, id="no-map-at-all"),
        pytest.param("*.*.bus", {"cells.cell0.bus": {"cluster": "a"}}, id="several-stars"),
    ],
)
def test_what_stands_at_a_path_is_found(path: str, found: JsonObject) -> None:
    assert dict(paths.find_all(CELLS, path)) == found


def test_typed_values_are_walked_as_their_json_is() -> None:
    typed = Cells(cells={"cell1": Cell(bus="b")})
    assert dict(paths.find_all(typed, "cells.*.bus")) == {"cells.cell1.bus": "b"}
    assert paths.find(typed, "cells.cell1.bus") == "b"


@pytest.mark.parametrize(
    ("body", "path", "expected"),
    [
        pytest.param({}, "a.b", {"a": {"b": 1}}, id="what-is-above-is-made"),
        pytest.param({"a": {"c": 2}}, "a.b", {"a": {"c": 2, "b": 1}}, id="what-is-beside-stays"),
        pytest.param(
            {"a": {"x": {}, "y": {"c": 2}}}, "a.*.b", {"a": {"x": {"b": 1}, "y": {"c": 2, "b": 1}}}, id="in-every-entry"
        ),
        pytest.param({"a": {}}, "a.*.b", {"a": {}}, id="no-entry-is-made"),
        pytest.param({}, "a.*.b", {}, id="no-map-is-made"),
        pytest.param({}, ("a", "b.c"), {"a": {"b.c": 1}}, id="a-key-with-a-dot"),
    ],
)
def test_a_value_is_put_at_a_path(body: JsonObject, path: Any, expected: JsonObject) -> None:
    assert paths.put(body, path, 1) == expected


def test_the_places_of_a_path_know_their_entries() -> None:
    path = "cells.*.bus"
    places = tuple(paths.places(CELLS, path))

    assert places == (("cells", "cell0", "bus"), ("cells", "cell1", "bus"))
    assert [paths.keys(path, place) for place in places] == [("cell0",), ("cell1",)]
    assert paths.fill("cells.*.older", ("cell1",)) == ("cells", "cell1", "older")

"""The difference of two JSON values: what it says, and that applying it gives the second from the first."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackwright.kube.admission.json_patch import difference


def applied(patch: list[dict[str, Any]], document: Any) -> Any:
    """Return the document after the patch, by the letter of RFC 6902: what is replaced or removed must be there."""
    root = {"root": copy.deepcopy(document)}
    for operation in patch:
        pointer = operation["path"]
        assert pointer == "" or pointer.startswith("/")
        *parents, last = ["root", *(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])]
        place: Any = root
        for part in parents:
            place = place[int(part)] if isinstance(place, list) else place[part]
        index: Any = int(last) if isinstance(place, list) else last
        if operation["op"] == "add" and isinstance(place, list):
            assert 0 <= index <= len(place)
            place.insert(index, operation["value"])
        elif operation["op"] == "add":
            place[index] = operation["value"]
        elif operation["op"] == "remove":
            del place[index]
        else:
            assert operation["op"] == "replace"
            place[index]  # raises when there is nothing to replace
            place[index] = operation["value"]
    return root["root"]


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        pytest.param({"a": 1}, {"a": 1}, [], id="the-same-needs-nothing"),
        pytest.param({}, {"a": 1}, [{"op": "add", "path": "/a", "value": 1}], id="a-new-member-is-added"),
        pytest.param({"a": 1}, {}, [{"op": "remove", "path": "/a"}], id="a-missing-member-is-removed"),
        pytest.param({"a": 1}, {"a": 2}, [{"op": "replace", "path": "/a", "value": 2}], id="a-value-is-replaced"),
        pytest.param(
            {"a": {"b": {"c": 1}}},
            {"a": {"b": {"c": 2}}},
            [{"op": "replace", "path": "/a/b/c", "value": 2}],
            id="only-the-leaf-is-replaced",
        ),
        pytest.param(
            {"metadata": {"annotations": {}}},
            {"metadata": {"annotations": {"example.org/a~b": "x"}}},
            [{"op": "add", "path": "/metadata/annotations/example.org~1a~0b", "value": "x"}],
            id="slash-and-tilde-are-escaped",
        ),
        pytest.param({"~1": 1}, {}, [{"op": "remove", "path": "/~01"}], id="a-tilde-before-a-one-is-not-a-slash"),
        pytest.param({"a": True}, {"a": 1}, [{"op": "replace", "path": "/a", "value": 1}], id="true-is-not-one"),
        pytest.param(
            {"a": [0]}, {"a": [False]}, [{"op": "replace", "path": "/a/0", "value": False}], id="in-lists-too"
        ),
        pytest.param({"a": None}, {}, [{"op": "remove", "path": "/a"}], id="null-is-not-absence"),
        pytest.param([1, 2, 3], [1, 3], [{"op": "remove", "path": "/1"}], id="one-less-is-one-operation"),
        pytest.param([1, 3], [1, 2, 3], [{"op": "add", "path": "/1", "value": 2}], id="one-more-is-one-operation"),
        pytest.param(
            [1, 2, 3, 4],
            [1],
            [{"op": "remove", "path": "/3"}, {"op": "remove", "path": "/2"}, {"op": "remove", "path": "/1"}],
            id="removals-go-from-the-end",
        ),
        pytest.param({"": 1}, {"": 2}, [{"op": "replace", "path": "/", "value": 2}], id="a-name-may-be-empty"),
        pytest.param(1, 2, [{"op": "replace", "path": "", "value": 2}], id="the-root-may-be-a-number"),
    ],
)
def test_the_difference_says_what_changed(before: Any, after: Any, patch: list[dict[str, Any]]) -> None:
    assert difference(before, after) == patch


# Few names and values, so that documents have something in common.
names = st.sampled_from(["a", "b", "c", "", "~", "/", "~1", "a/b~c", "0", "-"])
leaves = st.sampled_from([None, True, False, 0, 1, 1.0, 2, "", "0", "x"])
documents = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(names, inner, max_size=5), max_leaves=25
)


@given(documents, documents)
def test_applying_the_difference_gives_the_second_from_the_first(before: Any, after: Any) -> None:
    # As text, because Python takes True for 1.
    text = json.dumps(before, sort_keys=True)
    patch = json.loads(json.dumps(difference(before, after)))
    assert json.dumps(applied(patch, before), sort_keys=True) == json.dumps(after, sort_keys=True)
    assert json.dumps(before, sort_keys=True) == text


@given(documents)
def test_a_value_differs_from_itself_in_nothing(document: Any) -> None:
    assert difference(document, copy.deepcopy(document)) == []

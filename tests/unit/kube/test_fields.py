"""Fields of manifests: comparison by what is asked for, removal by the server's own paths."""

from typing import Any

import pytest

from stackwright.kube import fields
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.resource import ObjectMeta

BODY: dict[str, Any] = {
    "metadata": {"name": "a", "annotations": {"example.org/a.b": "1", "example": "2"}, "finalizers": ["x/y", "z"]},
    "spec": {
        "replicas": 3,
        "containers": [{"name": "api", "image": "one", "ports": [{"port": 80, "protocol": "TCP"}]}, {"name": "log"}],
        "only": {"child": 1},
    },
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(".spec.replicas", {"replicas"}, id="a-plain-field"),
        pytest.param(".spec.only.child", {"only"}, id="an-emptied-parent-goes-too"),
    ],
)
def test_without_a_field_of_the_spec(path: str, expected: set[str]) -> None:
    assert BODY["spec"].keys() - fields.without(BODY, [path])["spec"].keys() == expected


def test_without_a_key_that_holds_dots_and_a_slash() -> None:
    left = fields.without(BODY, [".metadata.annotations.example.org/a.b"])
    assert left["metadata"]["annotations"] == {"example": "2"}


def test_without_a_field_of_an_item_found_by_its_key() -> None:
    left = fields.without(BODY, ['.spec.containers[name="api"].image'])
    assert left["spec"]["containers"] == [
        {"name": "api", "ports": [{"port": 80, "protocol": "TCP"}]},
        {"name": "log"},
    ]


def test_without_an_item_found_by_two_keys() -> None:
    left = fields.without(BODY, ['.spec.containers[name="api"].ports[port=80,protocol="TCP"]'])
    assert "ports" not in left["spec"]["containers"][0]


def test_without_an_entry_of_a_set() -> None:
    assert fields.without(BODY, ['.metadata.finalizers[="x/y"]'])["metadata"]["finalizers"] == ["z"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(".spec.replicas", 3, id="a-plain-field"),
        pytest.param(".metadata.annotations.example.org/a.b", "1", id="a-key-that-holds-dots-and-a-slash"),
        pytest.param('.spec.containers[name="api"].image', "one", id="a-field-of-an-item"),
        pytest.param('.metadata.finalizers[="x/y"]', "x/y", id="an-entry-of-a-set"),
        pytest.param(".", BODY, id="all-of-it"),
    ],
)
def test_what_stands_at_a_path(path: str, expected: Any) -> None:
    assert fields.value_at(BODY, path) == expected


@pytest.mark.parametrize("path", [".spec.nothing", '.spec.containers[name="x"].image', ".spec.replicas.deeper", "[0]"])
def test_where_nothing_stands(path: str) -> None:
    with pytest.raises(KeyError):
        fields.value_at(BODY, path)


def test_a_long_value_is_cut() -> None:
    assert fields.shown({"a": [1, "b"]}) == '{"a":[1,"b"]}'
    assert len(fields.shown("x" * 1000)) == fields.SHOWN


def test_without_leaves_the_original_alone() -> None:
    fields.without(BODY, [".spec.replicas", ".spec.containers", ".metadata"])
    assert BODY["spec"]["replicas"] == 3
    assert "metadata" in BODY


def test_an_unknown_path_changes_nothing() -> None:
    assert fields.without(BODY, [".spec.absent", ".spec.replicas.deeper", '.spec.containers[name="x"].image']) == BODY


@pytest.mark.parametrize(
    ("actual", "desired", "expected"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 1}, True, id="what-it-has-besides-is-its-own"),
        pytest.param({"a": 1}, {"a": 1, "b": 2}, False, id="a-missing-field"),
        pytest.param({"a": {"b": 1}}, {"a": {"b": 2}}, False, id="another-value-deep-down"),
        pytest.param([{"a": 1, "d": 0}], [{"a": 1}], True, id="defaults-inside-an-item"),
        pytest.param([1, 2], [1], False, id="an-item-too-many"),
        pytest.param({"a": [1]}, {"a": {"b": 1}}, False, id="another-type"),
        pytest.param("x", {"a": 1}, False, id="a-scalar-for-an-object"),
        pytest.param({"limits": {"cpu": "2"}}, {"limits": {"cpu": "2000m"}}, True, id="the-same-quantity"),
        pytest.param({"limits": {"cpu": "2"}}, {"limits": {"cpu": "2500m"}}, False, id="another-quantity"),
        pytest.param({"limits": {"cpu": "2"}}, {"limits": {"cpu": "two"}}, False, id="no-quantity"),
        pytest.param({"limits": {"cpu": "2"}}, {"limits": {"memory": "2"}}, False, id="a-missing-quantity"),
        pytest.param({"limits": 2}, {"limits": {"cpu": "2"}}, False, id="no-map-of-quantities"),
        pytest.param({"data": {"cpu": "2"}}, {"data": {"cpu": "2000m"}}, False, id="a-text-like-a-quantity"),
    ],
)
def test_covers(actual: Any, desired: Any, expected: bool) -> None:
    assert fields.covers(actual, desired) is expected


@pytest.mark.parametrize(
    ("desired", "expected"),
    [
        pytest.param({"metadata": {"name": "a"}, "immutable": False}, True, id="a-value-that-equals-the-default"),
        pytest.param({"immutable": True}, False, id="another-value-than-the-default"),
        pytest.param({"kind": "ConfigMap", "new": 1}, True, id="what-the-type-does-not-know"),
        pytest.param({"data": {"b": "2"}}, False, id="a-missing-key"),
        pytest.param({"metadata": {"finalizers": ["x/y"]}}, True, id="a-list-in-a-struct"),
    ],
)
def test_covers_of_a_typed_object(desired: Any, expected: bool) -> None:
    actual = ConfigMap(metadata=ObjectMeta(name="a", finalizers=("x/y",)), data={"a": "1"})
    assert fields.covers(actual, desired) is expected


def test_a_digest_does_not_depend_on_order() -> None:
    assert fields.digest({"a": 1, "b": 2}) == fields.digest({"b": 2, "a": 1})
    assert fields.digest({"a": 1}) != fields.digest({"a": 2})

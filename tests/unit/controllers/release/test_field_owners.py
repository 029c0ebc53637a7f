"""Fields that change hands, in the server's own notation."""

from typing import Any

import pytest

from stackwright.controllers.release.field_owners import handed, manages, released


def entry(manager: str, fields: dict[str, Any], operation: str = "Apply", **more: str) -> dict[str, Any]:
    return {"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsV1": fields, **more}


DATA: dict[str, Any] = {"f:data": {"f:a": {}}}
MORE: dict[str, Any] = {"f:data": {".": {}, "f:b": {}}, "f:spec": {}}
BOTH: dict[str, Any] = {"f:data": {".": {}, "f:a": {}, "f:b": {}}, "f:spec": {}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([entry("kubectl", DATA)], [entry("kubectl", DATA)], id="what-others-manage-stays-theirs"),
        pytest.param([entry("helm", DATA)], [entry("ours", DATA)], id="all-goes-over"),
        pytest.param([entry("helm", DATA), entry("ours", MORE)], [entry("ours", BOTH)], id="what-both-have-is-joined"),
        pytest.param([entry("ours", MORE), entry("helm", DATA)], [entry("ours", BOTH)], id="in-either-order"),
        pytest.param(
            [entry("helm", DATA, "Update"), entry("helm", MORE)], [entry("ours", BOTH)], id="older-helms-did-update"
        ),
        pytest.param(
            [entry("helm", DATA, subresource="status")],
            [entry("helm", DATA, subresource="status")],
            id="a-subresource-is-another-matter",
        ),
        pytest.param(
            [entry("helm", DATA), {**entry("ours", MORE), "apiVersion": "v2"}],
            [entry("ours", DATA), {**entry("ours", MORE), "apiVersion": "v2"}],
            id="fields-of-another-version-are-not-joined",
        ),
    ],
)
def test_fields_change_hands(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> None:
    assert handed(before, "helm", "ours") == after
    assert not manages([item for item in after if not item.get("subresource")], "helm")


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        pytest.param({"f:m": {"f:a": {"f:mark": {}}}}, {}, id="an-emptied-parent-goes-too"),
        pytest.param({"f:m": {"f:a": {".": {}, "f:mark": {}}}, "f:s": {}}, {"f:s": {}}, id="also-one-that-was-owned"),
        pytest.param({"f:m": {"f:a": {"f:mark": {}, "f:b": {}}}}, {"f:m": {"f:a": {"f:b": {}}}}, id="neighbours-stay"),
        pytest.param({"f:m": {"f:b": {}}}, {"f:m": {"f:b": {}}}, id="what-is-not-there"),
    ],
)
def test_what_goes_to_nobody(fields: dict[str, Any], left: dict[str, Any]) -> None:
    (result,) = handed([entry("ours", fields)], "ours", "helm", less=[("f:m", "f:a", "f:mark")])
    assert result == entry("helm", left)


IMAGE: dict[str, Any] = {"f:containers": {'k:{"name":"api"}': {".": {}, "f:image": {}}}}


@pytest.mark.parametrize(
    ("fields", "path", "left"),
    [
        pytest.param({"f:spec": {"f:replicas": {}}}, ".spec.replicas", {}, id="a-plain-field"),
        pytest.param({"f:spec": IMAGE}, '.spec.containers[name="api"].image', {}, id="an-emptied-item-goes-too"),
        pytest.param({"f:spec": IMAGE}, '.spec.containers[name="log"].image', {"f:spec": IMAGE}, id="another-item"),
        pytest.param(
            {"f:m": {'k:{"containerPort":80,"protocol":"TCP"}': {"f:name": {}}, "f:x": {}}},
            '.m[containerPort=80,protocol="TCP"].name',
            {"f:m": {"f:x": {}}},
            id="an-item-known-by-two-fields",
        ),
        pytest.param({"f:a": {"f:b.c/d": {}, "f:b": {}}}, ".a.b.c/d", {"f:a": {"f:b": {}}}, id="a-key-with-dots"),
        pytest.param({"f:a": {'v:"x"': {}, 'v:"y"': {}}}, '.a[="x"]', {"f:a": {'v:"y"': {}}}, id="an-entry-of-a-set"),
        pytest.param({"f:a": {"f:b": {}, "f:c": {}}}, ".a", {}, id="all-below-a-field"),
        pytest.param({"f:ab": {}}, ".a", {"f:ab": {}}, id="a-longer-name-is-another-field"),
    ],
)
def test_a_manager_lets_go_of_a_field(fields: dict[str, Any], path: str, left: dict[str, Any]) -> None:
    others = entry("ours", fields)
    found = released([entry("kubectl", fields, "Update", subresource="scale"), others], "kubectl", path)
    assert found == [*([entry("kubectl", left, "Update", subresource="scale")] if left else []), others]


def test_who_manages_a_status_alone_manages_no_field() -> None:
    assert manages([entry("helm", DATA)], "helm")
    assert not manages([entry("helm", DATA, subresource="status")], "helm")

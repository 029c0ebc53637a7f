"""Fields that change hands, in the server's own notation."""

from typing import Any

import pytest

from stackwright.controllers.release.field_owners import handed, manages


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


def test_who_manages_a_status_alone_manages_no_field() -> None:
    assert manages([entry("helm", DATA)], "helm")
    assert not manages([entry("helm", DATA, subresource="status")], "helm")

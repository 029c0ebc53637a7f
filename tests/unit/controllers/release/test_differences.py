"""What two manifests of a release say differently."""

from typing import Any

import pytest

from stackwright.controllers.release.differences import MADE, differences
from stackwright.kube import fields


def thing(kind: str = "Deployment", name: str = "api", **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **more}


def containers(*items: dict[str, Any]) -> dict[str, Any]:
    return thing(spec={"containers": list(items)})


@pytest.mark.parametrize(
    ("theirs", "ours", "expected"),
    [
        pytest.param([thing(spec={"a": 1})], [thing(spec={"a": 1})], [], id="nothing"),
        pytest.param(
            [thing(spec={"a": 1})], [thing(spec={"a": 2})], [("Deployment/api", ".spec.a", "2")], id="a-value"
        ),
        pytest.param([thing(spec={"a": 1})], [thing(spec={})], [("Deployment/api", ".spec.a", "")], id="one-too-many"),
        pytest.param([thing(spec={})], [thing(spec={"a": 1})], [("Deployment/api", ".spec.a", "1")], id="one-missing"),
        pytest.param(
            [containers({"name": "a", "image": "1"}, {"name": "b"})],
            [containers({"name": "b"}, {"name": "a", "image": "2"})],
            [("Deployment/api", '.spec.containers[name="a"].image', '"2"')],
            id="items-are-known-by-their-name-and-not-by-their-place",
        ),
        pytest.param(
            [containers({"name": "a", "args": ["x"]})],
            [containers({"name": "a", "args": ["x", "y"]})],
            [("Deployment/api", '.spec.containers[name="a"].args', '["x","y"]')],
            id="a-list-of-plain-values-is-one-field",
        ),
        pytest.param([thing(), thing("Job", "x")], [thing()], [("Job/x", ".", "")], id="an-object-that-only-helm-has"),
        pytest.param([thing()], [thing(), thing("Job", "x")], [("Job/x", ".", MADE)], id="an-object-that-only-we-have"),
        pytest.param(
            [thing("Secret", data={"key": "b2xk"})],
            [thing("Secret", data={"key": "bmV3"})],
            [("Secret/api", ".data.key", "")],
            id="what-is-in-a-secret-is-not-told",
        ),
        pytest.param(
            [thing()],
            [
                {
                    **thing(),
                    "metadata": {
                        "name": "api",
                        "namespace": "here",
                        "labels": {"app.kubernetes.io/managed-by": "Helm"},
                        "annotations": {"meta.helm.sh/release-name": "a", "meta.helm.sh/release-namespace": "here"},
                    },
                }
            ],
            [],
            id="what-helm-adds-by-itself-is-no-difference",
        ),
        pytest.param([thing(data=None)], [thing()], [], id="null-is-as-good-as-nothing"),
    ],
)
def test_differences(
    theirs: list[dict[str, Any]], ours: list[dict[str, Any]], expected: list[tuple[str, str, str]]
) -> None:
    found = differences(theirs, ours)
    assert [(entry.resource, entry.field, entry.wanted) for entry in found] == expected
    assert {entry.manager for entry in found} <= {"helm"}
    # A path means the field in the object itself, too.
    for entry in found:
        if entry.wanted not in ("", MADE):
            body = next(item for item in ours if entry.resource == f"{item['kind']}/{item['metadata']['name']}")
            assert fields.shown(fields.value_at(body, entry.field)) == entry.wanted

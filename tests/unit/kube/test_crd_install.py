"""What installing tells: which fields changed, and whose a definition seems to be."""

from typing import Any

import msgspec
import pytest

from stackwright.kube.crd import install
from stackwright.kube.crd.install import DefinitionChange


@pytest.mark.parametrize(
    ("before", "after", "paths"),
    [
        pytest.param({"a": 1}, {"a": 1}, [], id="the-same-differs-nowhere"),
        pytest.param({"a": {"b": 1}}, {"a": {"b": 2}}, ["a.b"], id="a-changed-field"),
        pytest.param({"a": {}}, {"a": {"b": 2}}, ["a.b"], id="a-new-field"),
        pytest.param({"a": {"b": 1}}, {"a": {}}, ["a.b"], id="a-field-that-is-gone"),
        pytest.param(
            {"v": [{"name": "v1", "x": 1}]},
            {"v": [{"name": "v2", "x": 1}, {"name": "v1", "x": 2}]},
            ["v[v1].x", "v[v2]"],
            id="items-with-names-are-compared-by-name",
        ),
        pytest.param({"a": [1, 2]}, {"a": [2, 1]}, ["a"], id="other-lists-are-compared-as-a-whole"),
    ],
)
def test_differences_are_told_by_path(before: Any, after: Any, paths: list[str]) -> None:
    assert list(install.differences(before, after)) == paths


LABELS = {"app.kubernetes.io/managed-by": "stackwright"}
WANTED: dict[str, Any] = {
    "metadata": {"name": "a.b", "labels": LABELS},
    "spec": {"group": "b", "versions": [{"name": "v1"}]},
}


@pytest.mark.parametrize(
    ("labels", "spec", "same"),
    [
        pytest.param({}, {}, True, id="as-it-is-wanted"),
        pytest.param(
            {"theirs": "too"}, {"conversion": {"strategy": "None"}}, True, id="what-others-and-the-server-add"
        ),
        pytest.param({"app.kubernetes.io/managed-by": "helm"}, {}, False, id="a-changed-label"),
        pytest.param({}, {"versions": [{"name": "v1", "served": False}]}, False, id="a-field-that-somebody-added"),
        pytest.param({}, {"conversion": {"strategy": "Webhook"}}, False, id="a-conversion-that-nobody-asked-for"),
    ],
)
def test_a_definition_that_is_the_wanted_one_is_left_alone(
    labels: dict[str, str], spec: dict[str, Any], same: bool
) -> None:
    body = {"metadata": {"name": "a.b", "labels": LABELS | labels}, "spec": WANTED["spec"] | spec}
    assert install.matches(msgspec.convert(body, install.Installed), WANTED) is same


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        pytest.param(DefinitionChange("a.b", "created"), "a.b created", id="a-new-one"),
        pytest.param(DefinitionChange("a.b", "updated", ("x", "y")), "a.b updated: x, y", id="a-changed-one"),
        pytest.param(
            DefinitionChange("a.b", "updated", tuple("abcdefghijklmn")),
            "a.b updated: a, b, c, d, e, f, g, h, i, j, k, l and 2 more",
            id="one-with-many-changes",
        ),
    ],
)
def test_a_change_reads_as_a_line(change: DefinitionChange, sentence: str) -> None:
    assert str(change) == sentence


@pytest.mark.parametrize(
    ("metadata", "owner"),
    [
        pytest.param({"labels": {"app.kubernetes.io/managed-by": "Tiller"}}, "managed by Tiller", id="by-its-label"),
        pytest.param(
            {"annotations": {"meta.helm.sh/release-name": "infra"}}, "of the Helm release infra", id="by-its-release"
        ),
        pytest.param(
            {"labels": {"operators.coreos.com/some-operator.openstack": ""}},
            "of the operator some-operator.openstack",
            id="by-the-lifecycle-manager",
        ),
        pytest.param(
            {"managedFields": [{"manager": "kubectl"}, {"manager": "kube-apiserver"}]},
            "written by kubectl",
            id="by-who-wrote-it",
        ),
        pytest.param({}, "of unknown origin", id="not-at-all"),
    ],
)
def test_the_owner_of_a_foreign_definition_is_named(metadata: Any, owner: str) -> None:
    definition = msgspec.convert({"metadata": {"name": "things.example.org", **metadata}}, install.Installed)

    assert f"things.example.org ({owner})" in install._refusal([definition], "stackwright")

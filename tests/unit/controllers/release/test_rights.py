"""Whether rules of roles give more than others."""

from typing import Any

import pytest

from stackwright.controllers.release import rights


def rule(groups: str, resources: str, verbs: str, names: str = "") -> dict[str, Any]:
    """Return a rule; `-` is the group without a name."""
    found: dict[str, Any] = {
        "apiGroups": ["" if group == "-" else group for group in groups.split()],
        "resources": resources.split(),
        "verbs": verbs.split(),
    }
    return {**found, "resourceNames": names.split()} if names else found


def urls(paths: str, verbs: str) -> dict[str, Any]:
    return {"nonResourceURLs": paths.split(), "verbs": verbs.split()}


PODS = rule("-", "pods", "get patch")
ONE = rule("-", "configmaps", "get", "a b")


@pytest.mark.parametrize(
    ("asked", "given", "beyond"),
    [
        pytest.param([], [], [], id="nothing-of-nothing"),
        pytest.param([PODS], [PODS], [], id="the-same"),
        pytest.param([PODS], [], ["get of pods", "patch of pods"], id="all-of-nothing"),
        pytest.param([rule("-", "pods", "get")], [PODS], [], id="fewer-verbs"),
        pytest.param([rule("-", "pods", "get delete")], [PODS], ["delete of pods"], id="one-verb-more"),
        pytest.param([rule("-", "pods secrets", "get")], [PODS], ["get of secrets"], id="one-resource-more"),
        pytest.param([rule("apps", "pods", "get")], [PODS], ["get of pods.apps"], id="another-group"),
        pytest.param([rule("-", "pods/exec", "get")], [PODS], ["get of pods/exec"], id="a-subresource"),
        pytest.param([rule("-", "pods", "*")], [PODS], ["* of pods"], id="all-verbs"),
        pytest.param([rule("-", "*", "get")], [PODS], ["get of *"], id="all-resources"),
        pytest.param([rule("*", "pods", "get")], [PODS], ["get of pods.*"], id="all-groups"),
        pytest.param([PODS], [rule("*", "*", "*")], [], id="of-all"),
        pytest.param([rule("*", "*", "*")], [rule("*", "*", "*")], [], id="all-of-all"),
        pytest.param([rule("-", "pods/exec", "get")], [rule("-", "*", "get")], [], id="a-subresource-of-all"),
        pytest.param([rule("-", "pods/scale", "get")], [rule("-", "*/scale", "get")], [], id="a-subresource-of-any"),
        pytest.param([rule("-", "pods", "get")], [rule("-", "*/scale", "get")], ["get of pods"], id="not-the-whole"),
        pytest.param([rule("-", "*/scale", "get")], [PODS], ["get of */scale"], id="any-subresource"),
        pytest.param([rule("-", "configmaps", "get", "a")], [ONE], [], id="one-of-the-names"),
        pytest.param([rule("-", "configmaps", "get", "c")], [ONE], ["get of configmaps c"], id="another-name"),
        pytest.param([rule("-", "configmaps", "get")], [ONE], ["get of configmaps"], id="all-names"),
        pytest.param([rule("-", "configmaps", "get", "*")], [ONE], ["get of configmaps *"], id="a-star-is-a-name"),
        pytest.param([rule("-", "pods", "get", "x")], [PODS], [], id="a-name-of-all"),
        pytest.param(
            [rule("- apps", "pods", "get")], [PODS, rule("apps", "pods", "get")], [], id="by-two-rules-together"
        ),
        pytest.param(
            [rule("-", "pods secrets", "get")],
            [rule("-", "pods", "get"), rule("apps", "secrets", "get")],
            ["get of secrets"],
            id="by-two-rules-not-crosswise",
        ),
        pytest.param([urls("/healthz", "get")], [], ["get of /healthz"], id="an-address"),
        pytest.param([urls("/healthz", "get")], [rule("*", "*", "*")], ["get of /healthz"], id="not-by-resources"),
        pytest.param([urls("/a/b", "get")], [urls("/a/*", "get")], [], id="below"),
        pytest.param([urls("/ab", "get")], [urls("/a/*", "get")], ["get of /ab"], id="beside"),
        pytest.param([urls("*", "get")], [urls("/a/*", "get")], ["get of *"], id="all-addresses"),
        pytest.param([urls("/a", "post")], [urls("*", "get")], ["post of /a"], id="another-verb-of-an-address"),
        pytest.param([{"verbs": "get", "resources": None}], [], [], id="no-rule"),
    ],
)
def test_what_is_beyond_is_named(asked: Any, given: Any, beyond: list[str]) -> None:
    assert list(rights.beyond(asked, given)) == beyond


def test_a_rule_of_very_many_rights_is_refused_without_looking() -> None:
    many = " ".join(f"n{number}" for number in range(300))
    assert list(rights.beyond([rule(many, many, many, many)], [rule("*", "*", "*")])) == [
        "more than 5000 rights in one rule"
    ]

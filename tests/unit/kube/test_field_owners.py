"""Fields that change hands, in the server's own notation."""

from typing import Any

import pytest

from stackwright.kube.field_owners import added, handed, has, is_stranger, manages, owned, released, taken


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


def pods(container: dict[str, Any], **beside: Any) -> dict[str, Any]:
    """Return the fields of a workload with one container, and of what else its template has."""
    spec = {"f:containers": {'k:{"name":"api"}': container, **beside.pop("containers", {})}, **beside.pop("spec", {})}
    return {"f:spec": {"f:template": {"f:spec": spec, **beside}}}


OURS = entry("ours", pods({".": {}, "f:name": {}, "f:image": {}, "f:env": {'k:{"name":"A"}': {".": {}}}}))
AT = ".spec.template"
ENV: dict[str, Any] = {'k:{"name":"B"}': {".": {}, "f:name": {}, "f:value": {}}}


@pytest.mark.parametrize(
    ("theirs", "paths"),
    [
        pytest.param(pods({"f:image": {}}), [], id="a-value-that-both-have-is-no-addition"),
        pytest.param(
            pods({"f:env": {**ENV, ".": {}}}),
            [f'{AT}.spec.containers[name="api"].env[name="B"]'],
            id="an-environment-variable",
        ),
        pytest.param(
            pods({}, containers={'k:{"name":"side"}': {".": {}, "f:image": {}, "f:name": {}, "f:resources": {}}}),
            [f'{AT}.spec.containers[name="side"]'],
            id="a-sidecar-is-one-line",
        ),
        pytest.param(
            pods({}, **{"f:metadata": {"f:annotations": {".": {}, "f:a/b": {}, "f:c": {}}}}),
            [f"{AT}.metadata.annotations.a/b", f"{AT}.metadata.annotations.c"],
            id="annotations-of-pods-each-on-its-own",
        ),
        pytest.param(
            pods({}, **{"f:metadata": {"f:annotations": {".": {}, "f:kubectl.kubernetes.io/restartedAt": {}}}}),
            [],
            id="a-restart-is-a-deed-and-over",
        ),
        pytest.param(
            pods({"f:livenessProbe": {".": {}, "f:httpGet": {".": {}, "f:path": {}}}}),
            [f'{AT}.spec.containers[name="api"].livenessProbe'],
            id="a-block-is-one-line",
        ),
        pytest.param(
            pods({}, spec={"f:hostNetwork": {}, "f:tolerations": {}}),
            [f"{AT}.spec.hostNetwork", f"{AT}.spec.tolerations"],
            id="fields-that-we-do-not-speak-of",
        ),
        pytest.param(
            {"f:metadata": {"f:annotations": {"f:mine": {}}, "f:labels": {"f:mine": {}}}, "f:status": {"f:x": {}}},
            [],
            id="what-the-object-itself-is-labelled-with-runs-nothing",
        ),
        pytest.param({"f:data": {".": {}, "f:mine": {}}}, [".data"], id="content-of-an-object-that-had-none"),
    ],
)
def test_what_others_added(theirs: dict[str, Any], paths: list[str]) -> None:
    assert added([OURS, entry("kubectl-edit", theirs, "Update")], "ours") == tuple(
        (path, "kubectl-edit") for path in paths
    )


@pytest.mark.parametrize(
    ("manager", "operation", "subresource", "expected"),
    [
        pytest.param("kubectl-edit", "Update", "", True, id="a-hand"),
        pytest.param("kubectl", "Apply", "", True, id="a-hand-that-applies"),
        pytest.param("helm", "Update", "", True, id="another-program"),
        pytest.param("ours", "Apply", "", False, id="we-ourselves"),
        pytest.param("ours", "Update", "", True, id="a-hand-under-our-name"),
        pytest.param("kube-controller-manager", "Update", "", False, id="kubernetes"),
        pytest.param("openshift-controller-manager", "Update", "", False, id="a-platform"),
        pytest.param("before-first-apply", "Update", "", False, id="nobody-knows-whose-it-was"),
        pytest.param("somebody", "Update", "status", False, id="a-status"),
        pytest.param("ours", "Update", "status", False, id="our-own-status"),
    ],
)
def test_who_is_a_stranger(manager: str, operation: str, subresource: str, expected: bool) -> None:
    assert is_stranger(manager, subresource, "ours", operation) is expected
    fields = pods({}, spec={"f:hostNetwork": {}})
    assert bool(added([OURS, entry(manager, fields, operation, subresource=subresource)], "ours")) is expected


@pytest.mark.parametrize(
    ("theirs", "paths"),
    [
        pytest.param(entry("hand", pods({"f:image": {}}), "Update"), {"image"}, id="a-value-that-both-have"),
        pytest.param(entry("kube-x", pods({".": {}, "f:image": {}})), {"image"}, id="a-component-is-another-too"),
        pytest.param(entry("ours", pods({"f:image": {}}), "Update"), {"image"}, id="a-hand-under-our-name"),
        pytest.param(entry("ours", pods({"f:image": {}})), set(), id="what-we-apply"),
    ],
)
def test_which_values_an_apply_has_to_leave_out(theirs: dict[str, Any], paths: set[str]) -> None:
    assert owned([OURS, theirs], "ours") == {f'{AT}.spec.containers[name="api"].{path}' for path in paths}


def test_what_was_added_under_our_name_is_taken_back() -> None:
    path = ".spec.template.spec.hostNetwork"
    theirs = entry("ours", pods({}, spec={"f:hostNetwork": {}}), "Update")
    after = taken([OURS, theirs], "ours", path, "ours")
    assert added(after, "ours") == ()
    (applied,) = (one for one in after if one["operation"] == "Apply")
    assert "f:hostNetwork" in applied["fieldsV1"]["f:spec"]["f:template"]["f:spec"]


def test_two_entries_of_one_manager_tell_a_path_once() -> None:
    fields = pods({}, spec={"f:hostNetwork": {}})
    assert len(added([OURS, entry("a", fields, "Update"), entry("a", fields)], "ours")) == 1


@pytest.mark.parametrize(
    ("theirs", "path"),
    [
        pytest.param(pods({"f:env": ENV}), f'{AT}.spec.containers[name="api"].env[name="B"]', id="an-item"),
        pytest.param(pods({}, spec={"f:hostNetwork": {}}), f"{AT}.spec.hostNetwork", id="a-value"),
        pytest.param({"f:data": {"f:a.b": {}, "f:a": {}}}, ".data.a.b", id="a-key-with-a-dot"),
    ],
)
def test_what_is_taken_is_what_the_taker_applied(theirs: dict[str, Any], path: str) -> None:
    before = [OURS, entry("hand", theirs, "Update")]
    after = taken(before, "hand", path, "ours")
    assert path not in dict(added(after, "ours"))
    # Ours from now on: with the next apply it goes, or becomes what we ask for.
    (ours,) = [item for item in after if item["manager"] == "ours"]
    assert released([ours], "ours", path) == [OURS]


def test_a_field_that_nobody_has_is_taken_too() -> None:
    (after,) = taken([OURS], "scale", ".spec.replicas", "ours")
    assert has([after], "f:spec", "f:replicas")
    assert not has([OURS], "f:spec", "f:replicas")

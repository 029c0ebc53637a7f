"""A question of the API server in, an answer out."""

import base64
import json
from typing import Any, ClassVar

import msgspec
import pytest

from stackwright.kube.admission import reviews
from stackwright.kube.admission.checks import FieldError, Objections, Webhook
from stackwright.kube.admission.reviews import AdmissionResponse
from stackwright.kube.resource import JsonObject, Kind, Resource, Value


class WidgetSpec(Value, frozen=True, kw_only=True):
    size: int = 0
    mode: str = ""


class Widget(Resource, frozen=True, kw_only=True):
    kind: ClassVar[Kind] = Kind("example.org", "v1", "Widget", "widgets")

    spec: WidgetSpec = WidgetSpec()


def check(old: Widget | None, new: Widget) -> Objections:
    errors: tuple[FieldError, ...] = ()
    if new.spec.size > 10:
        errors += (FieldError("spec.size", "too big", value=new.spec.size),)
    if old is not None and old.spec.mode != new.spec.mode:
        errors += (FieldError("spec.mode", "cannot change", reason="FieldValueForbidden"),)
    return Objections(errors, warnings=("mode is old",) if new.spec.mode else ())


def fill_in(body: JsonObject) -> JsonObject:
    body["spec"].setdefault("size", 3)
    return body


WEBHOOK = Webhook(Widget, mutate=fill_in, validate=check)


def asked(new: Any, old: Any = None) -> reviews.AdmissionRequest:
    request = {"uid": "u1", "name": "a", "namespace": "n", "operation": "CREATE" if old is None else "UPDATE"}
    review = {"kind": "AdmissionReview", "request": {**request, "object": new, "oldObject": old, "options": {}}}
    return reviews.decode(json.dumps(review).encode())


def deleted(old: Any) -> reviews.AdmissionRequest:
    request = {"uid": "u1", "name": "a", "namespace": "n", "operation": "DELETE", "object": None, "oldObject": old}
    return reviews.decode(json.dumps({"kind": "AdmissionReview", "request": request}).encode())


def widget(spec: Any, **metadata: Any) -> JsonObject:
    return {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "a", **metadata}, "spec": spec}


def fields(response: AdmissionResponse) -> list[str]:
    return [] if response.status is None else [cause["field"] for cause in response.status["details"]["causes"]]


@pytest.mark.parametrize(
    ("new", "old", "refused"),
    [
        pytest.param(widget({"size": 1}), None, [], id="what-is-right-is-allowed"),
        pytest.param(widget({"size": 11}), None, ["spec.size"], id="what-is-wrong-is-refused"),
        pytest.param(
            widget({"size": 11, "mode": "b"}),
            widget({"size": 1, "mode": "a"}),
            ["spec.size", "spec.mode"],
            id="all-that-is-wrong-is-said-at-once",
        ),
        pytest.param(
            widget({"size": 11}, finalizers=[], resourceVersion="2", managedFields=[{"manager": "x"}]),
            widget({"size": 11}, finalizers=["a"], resourceVersion="1", generation=1),
            [],
            id="an-object-that-was-wrong-before-can-lose-its-finalizers",
        ),
        pytest.param(
            widget({"size": 12}, deletionTimestamp="2026-11-15T00:00:00Z"),
            widget({"size": 11}, deletionTimestamp="2026-11-15T00:00:00Z"),
            [],
            id="an-object-that-is-going-is-left-alone",
        ),
        pytest.param(
            widget({"size": 11}, labels={"a": "b"}),
            widget({"size": 11}),
            ["spec.size"],
            id="a-new-label-is-the-users-change",
        ),
        pytest.param(
            widget({"size": 1}, annotations=None),
            widget({"size": 1}, annotations={"a": "b"}),
            [],
            id="the-last-annotation-can-be-taken-away",
        ),
        pytest.param(widget({"size": "x"}), None, ["spec.size"], id="a-type-that-does-not-fit-names-its-field"),
        pytest.param(
            widget({"size": 1, "mode": "b"}),
            widget({"size": "x", "mode": "a"}),
            [],
            id="an-old-object-that-fits-no-type",
        ),
    ],
)
def test_validation(new: JsonObject, old: JsonObject | None, refused: list[str]) -> None:
    response = reviews.validation(WEBHOOK, asked(new, old))
    assert response.uid == "u1"
    assert response.allowed is not bool(refused)
    assert fields(response) == refused


def test_warnings_come_with_a_refusal_and_without() -> None:
    assert reviews.validation(WEBHOOK, asked(widget({"mode": "x"}))).warnings == ("mode is old",)
    assert reviews.validation(WEBHOOK, asked(widget({"mode": "x", "size": 11}))).warnings == ("mode is old",)


@pytest.mark.parametrize(
    ("spec", "patch"),
    [
        pytest.param({}, [{"op": "add", "path": "/spec/size", "value": 3}], id="what-is-missing-is-filled-in"),
        pytest.param({"size": 5, "unknown": {"x": 1}}, None, id="what-is-there-is-left-alone"),
        pytest.param("nonsense", None, id="what-fits-no-schema-is-left-to-the-schema"),
    ],
)
def test_mutation(spec: Any, patch: list[JsonObject] | None) -> None:
    response = reviews.mutation(WEBHOOK, asked(widget(spec)))
    assert response.allowed
    assert response.patchType == ("JSONPatch" if patch else None)
    assert (json.loads(base64.b64decode(response.patch)) if response.patch else None) == patch


def test_a_bug_in_a_mutation_is_not_taken_for_a_wrong_object() -> None:
    def broken(_body: JsonObject) -> JsonObject:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        reviews.mutation(Webhook(Widget, mutate=broken), asked(widget({"size": 1})))


def test_the_answer_is_an_admission_review() -> None:
    body = json.loads(reviews.encode(reviews.validation(WEBHOOK, asked(widget({"size": 11})))))
    assert (body["apiVersion"], body["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert body["response"]["uid"] == "u1"
    assert body["response"]["allowed"] is False
    assert body["response"]["status"]["code"] == 422
    assert "patch" not in body["response"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", b'{"request": {}}'])
def test_what_is_no_review_is_said_so(body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        reviews.decode(body)


def test_an_object_that_is_held_cannot_be_deleted_and_the_answer_says_why() -> None:
    held = Webhook(Widget, validate=check, hold=lambda present: "a gadget uses it" if present.spec.size else "")

    response = reviews.validation(held, deleted(widget({"size": 1})))
    assert not response.allowed
    assert response.status is not None
    assert response.status["code"] == 409
    assert response.status["message"] == 'Widget.example.org "a" cannot be deleted: a gadget uses it'
    assert reviews.validation(held, deleted(widget({}))).allowed
    assert reviews.validation(WEBHOOK, deleted(widget({"size": 11}))).allowed

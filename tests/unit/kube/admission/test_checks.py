"""Refusals in the API server's own words."""

from typing import Any

import pytest

from stackwright.kube.admission.checks import FieldError, Objections, refusal
from stackwright.kube.resource import Kind

WIDGET = Kind("example.org", "v1", "Widget", "widgets")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        pytest.param(
            FieldError("spec.size", "must be at most 10", value=11),
            "Invalid value: 11: must be at most 10",
            id="a-number-stands-bare",
        ),
        pytest.param(
            FieldError("spec.mode", "no such mode", value='a "b"'),
            'Invalid value: "a \\"b\\"": no such mode',
            id="a-text-is-quoted",
        ),
        pytest.param(
            FieldError("spec.password", "must not be empty"),
            "Invalid value: must not be empty",
            id="a-value-that-was-not-given-is-not-shown",
        ),
        pytest.param(
            FieldError("spec.size", "pick one", reason="FieldValueRequired", value=1),
            "Required value: pick one",
            id="what-is-required-has-no-value",
        ),
        pytest.param(
            FieldError("spec.cells[a]", "", reason="FieldValueDuplicate", value={"b": [True, None]}),
            'Duplicate value: {"b":[true,null]}',
            id="an-object-is-shown-as-json",
        ),
        pytest.param(
            FieldError("spec.mode", 'supported values: "a"', reason="FieldValueNotSupported", value="b"),
            'Unsupported value: "b": supported values: "a"',
            id="another-reason-has-its-own-words",
        ),
        pytest.param(
            FieldError("spec.text", "too odd", value="x" * 5000),
            'Invalid value: "' + "x" * 199 + "...: too odd",
            id="a-long-value-is-cut",
        ),
    ],
)
def test_a_cause_is_worded_as_the_api_server_does(error: FieldError, message: str) -> None:
    assert error.cause.message == message
    assert error.cause.field == error.field
    assert error.cause.reason == error.reason


def test_one_error_stands_bare_in_the_message() -> None:
    status = refusal(WIDGET, "a", (FieldError("spec.size", "too big", value=11),))
    assert status["message"] == 'Widget.example.org "a" is invalid: spec.size: Invalid value: 11: too big'
    assert (status["code"], status["reason"], status["status"]) == (422, "Invalid", "Failure")


def test_several_errors_are_one_refusal_with_a_cause_each() -> None:
    errors = (FieldError("spec.size", "too big", value=11), FieldError("spec.mode", "", reason="FieldValueRequired"))
    status = refusal(WIDGET, "a", errors)
    assert status["message"] == (
        'Widget.example.org "a" is invalid: [spec.size: Invalid value: 11: too big, spec.mode: Required value]'
    )
    assert status["details"] == {
        "group": "example.org",
        "kind": "Widget",
        "name": "a",
        "causes": [
            {"reason": "FieldValueInvalid", "message": "Invalid value: 11: too big", "field": "spec.size"},
            {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.mode"},
        ],
    }


def test_a_sentence_that_is_found_twice_is_said_once() -> None:
    error = FieldError("spec.size", "too big", value=11)
    assert refusal(WIDGET, "a", (error, error))["message"].count("too big") == 1


def test_findings_add_up() -> None:
    first = Objections(errors=(FieldError("a", "x"),), warnings=("one",))
    second: Any = Objections(warnings=("two",))
    assert first + second == Objections(errors=(FieldError("a", "x"),), warnings=("one", "two"))

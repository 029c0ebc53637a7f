"""What oslo.config's types allow; tests/images/test_options.py asks oslo.config itself by the same table."""

from typing import Any

import msgspec
import pytest

from stackwright.blueprint.option_types import OptionType, allowed
from tests.option_values import REFUSED, TAKEN


def kind(said: dict[str, Any]) -> OptionType:
    return msgspec.convert(said, OptionType)


@pytest.mark.parametrize(("said", "value"), TAKEN)
def test_what_oslo_takes_is_taken(said: dict[str, Any], value: str) -> None:
    assert allowed(kind(said), value) == ""


@pytest.mark.parametrize(("said", "value"), REFUSED)
def test_what_oslo_refuses_is_refused_without_the_value(said: dict[str, Any], value: str) -> None:
    sentence = allowed(kind(said), value)
    assert sentence
    assert len(value) < 4 or value not in sentence


@pytest.mark.parametrize(
    ("said", "value", "sentence"),
    [
        ({"type": "integer", "least": 0, "most": 65535}, "soon", "must be a whole number from 0 to 65535"),
        ({"type": "integer", "least": 1}, "0", "must be a whole number, 1 or more"),
        ({"type": "float", "most": 2.5}, "3", "must be a number, at most 2.5"),
        ({"type": "boolean"}, "maybe", "must be true or false"),
        ({"type": "string", "choices": ["a", "b"]}, "c", "must be one of a, b"),
        (
            {"type": "list", "of": {"type": "integer"}},
            "1,x",
            "every entry, with commas between them, must be a whole number",
        ),
        ({"type": "url", "schemes": ["https"]}, "http://a", "must be a URL that begins with https://"),
    ],
)
def test_what_is_allowed_is_said(said: dict[str, Any], value: str, sentence: str) -> None:
    assert allowed(kind(said), value) == sentence


def test_a_type_that_is_not_known_takes_everything() -> None:
    assert allowed(kind({"type": "any"}), "whatever") == ""
    assert allowed(kind({"type": "of tomorrow"}), "whatever") == ""

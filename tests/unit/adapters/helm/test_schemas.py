"""What a schema of values refers to."""

import json
from typing import Any

import pytest

from stackwright.adapters.helm import schemas


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        pytest.param({}, "", id="nothing"),
        pytest.param({"$ref": "#/definitions/a", "definitions": {"a": {"type": "string"}}}, "", id="itself"),
        pytest.param({"$schema": "https://json-schema.org/draft/2020-12/schema"}, "", id="a-draft"),
        pytest.param({"properties": {"$ref": {"type": "string"}}}, "", id="a-property-of-that-name"),
        pytest.param({"allOf": [{"$ref": "http://10.0.0.1/a"}]}, "http://10.0.0.1/a", id="an-address"),
        pytest.param({"$ref": "file:///etc/passwd"}, "file:///etc/passwd", id="a-file"),
        pytest.param({"$ref": "other.json"}, "other.json", id="a-neighbour"),
        pytest.param({"a": {"$dynamicRef": "http://x/"}}, "http://x/", id="a-dynamic-one"),
        pytest.param({"$schema": "http://10.0.0.1/a"}, "http://10.0.0.1/a", id="a-draft-from-elsewhere"),
        pytest.param([], "", id="no-schema"),
    ],
)
def test_what_is_outside_is_named(schema: Any, found: str) -> None:
    assert schemas.outside(json.dumps(schema).encode()) == found


def test_what_is_no_json_is_left_to_helm() -> None:
    assert schemas.outside(b"{") == schemas.outside(b"\xff") == schemas.outside(b"[" * 100_000) == ""

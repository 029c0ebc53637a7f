"""What a schema of values refers to."""

import json
import tracemalloc
from typing import Any

import pytest

from stackwright.adapters.errors import Rejected
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


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        pytest.param(b"{", "not JSON that can be read", id="cut-off"),
        pytest.param(b"[" * 100_000, "not JSON that can be read", id="too-deep-for-us"),
        # Helm reads both, and follows the reference.
        pytest.param(b'{"title": "\xff", "$ref": "http://10.0.0.1/a"}', "not JSON that can be read", id="no-text"),
        pytest.param(
            b'{"minimum": %b, "$ref": "http://10.0.0.1/a"}' % (b"9" * 5000), "not JSON that can be read", id="digits"
        ),
        pytest.param(b'{"a": [' + b"{}," * 2**20 + b"{}]}", "may have 131072 values", id="millions-of-values"),
    ],
)
def test_what_cannot_be_read_is_refused(schema: bytes, said: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(Rejected, match=said):
            schemas.outside(schema)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 * 2**20

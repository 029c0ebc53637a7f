"""Values for options of each type: what oslo.config takes, and what it refuses. Two rings read them."""

from typing import Any

import pytest

INTEGER, PORT = {"type": "integer"}, {"type": "integer", "least": 0, "most": 65535}
CHOICE = {"type": "string", "choices": ["fernet", "jws"]}
ANY_CASE = {"type": "string", "choices": ["Interval", "none"], "ignoreCase": True}
PATTERN = {"type": "string", "pattern": "^[a-z]+$"}
QUOTED = {"type": "string", "quotes": True}
NUMBERS = {"type": "list", "of": INTEGER}
BOUNDED = {"type": "list", "of": {"type": "string"}, "bounds": True, "fewest": 1}
PAIRS = {"type": "map", "of": {"type": "string"}}
COUNTS = {"type": "map", "of": INTEGER}
URL = {"type": "url"}


def _cases(*cases: tuple[dict[str, Any], str]) -> list[Any]:
    return [pytest.param(said, value, id=f"{said['type']}-{value[:20]}") for said, value in cases]


TAKEN = _cases(
    (INTEGER, "3600"),
    (INTEGER, " 7 "),
    (INTEGER, "-1"),
    (INTEGER, "1_000"),
    (INTEGER, ""),
    (PORT, "65535"),
    ({"type": "integer", "choices": [1, 2]}, "2"),
    ({"type": "float", "least": 0}, "0.5"),
    ({"type": "float"}, "1e3"),
    ({"type": "boolean"}, "True"),
    ({"type": "boolean"}, "oN"),
    ({"type": "boolean"}, "0"),
    ({"type": "string"}, "{{ anything }}"),
    ({"type": "string", "longest": 3}, "abc"),
    (CHOICE, "jws"),
    (ANY_CASE, "INTERVAL"),
    (PATTERN, "abc"),
    (QUOTED, "'a b'"),
    (NUMBERS, "1, 2,3,"),
    (NUMBERS, ""),
    (BOUNDED, "[a,b]"),
    (PAIRS, "a:b,c:d:e"),
    (PAIRS, ""),
    (COUNTS, "a:1, b:2"),
    ({"type": "range", "least": 1, "most": 9}, "2-8"),
    ({"type": "range"}, "5"),
    ({"type": "address"}, "::1"),
    ({"type": "address", "version": 4}, "10.0.0.1"),
    ({"type": "hostname"}, "a.example"),
    ({"type": "host"}, "10.0.0.1"),
    ({"type": "host"}, "db.openstack.svc."),
    ({"type": "domain"}, "a_b.example"),
    (URL, "http://keystone.example:5000/v3"),
    (URL, "http://[::1]:5000"),
    (URL, "https://:5000/v3"),
    ({"type": "url", "schemes": ["http", "https"]}, "https://a"),
)
REFUSED = _cases(
    (INTEGER, "soon"),
    (INTEGER, "1.5"),
    (INTEGER, "9" * 5000),
    (PORT, "65536"),
    (PORT, "-1"),
    ({"type": "integer", "choices": [1, 2]}, "3"),
    ({"type": "float"}, "fast"),
    ({"type": "float", "least": 0}, "-0.5"),
    ({"type": "boolean"}, "perhaps"),
    ({"type": "boolean"}, ""),
    ({"type": "string", "longest": 3}, "abcd"),
    (CHOICE, "Fernet"),
    (ANY_CASE, "always"),
    (PATTERN, "ABC1"),
    (QUOTED, "'open"),
    (NUMBERS, "1,two"),
    (BOUNDED, "a,b"),
    (BOUNDED, "[]"),
    (PAIRS, "plain"),
    (PAIRS, "a:b,c"),
    (PAIRS, "a:1,a:2"),
    (PAIRS, ":empty"),
    (COUNTS, "a:one"),
    ({"type": "range", "least": 1, "most": 9}, "0-8"),
    ({"type": "range"}, "a-b"),
    ({"type": "address"}, "10.0.0"),
    ({"type": "address", "version": 6}, "10.0.0.1"),
    ({"type": "hostname"}, "a_b"),
    ({"type": "hostname"}, "10.0.0.1"),
    ({"type": "host"}, "10.0.0.256"),
    ({"type": "domain"}, "-a"),
    (URL, "keystone:5000"),
    (URL, "mailto:someone"),
    ({"type": "url", "schemes": ["https"]}, "http://a"),
)

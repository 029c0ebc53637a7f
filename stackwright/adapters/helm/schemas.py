"""References in the schemas of values, which helm would read from the operator's own network or files. Pure."""

import json
from typing import Any

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
# The drafts that are built into helm.
_DRAFTS = ("http://json-schema.org/", "https://json-schema.org/")


def outside(schema: bytes) -> str:
    """Return the first reference to something outside of a schema; "" if there is none."""
    try:
        return _outside(json.loads(schema))
    except (ValueError, RecursionError):
        # It is not a schema, and helm has the better message for that.
        return ""


def _outside(value: Any) -> str:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        if name in _REFERENCES and isinstance(part, str) and not part.startswith("#"):
            return part
        if name == "$schema" and isinstance(part, str) and not part.startswith(_DRAFTS):
            return part
        if found := _outside(part):
            return found
    return ""

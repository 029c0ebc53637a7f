"""References in the schemas of values, which helm would read from the operator's own network or files. Pure."""

import json
from typing import Any

from stackwright.adapters.errors import Rejected
from stackwright.adapters.helm.measures import count_marks

# How many values a schema may have, the commas, colons and brackets in its texts included: it is read in our own
# process, and each may take 100 bytes there. Our longest has 2,000.
VALUES = 2**17
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
# The drafts that are built into helm.
_DRAFTS = ("http://json-schema.org/", "https://json-schema.org/")


def outside(schema: bytes) -> str:
    """Return the first reference to something outside of a schema; "" if there is none.

    Raises Rejected for one that cannot be read: helm may be able to, and would follow its references.
    """
    if count_marks(schema) > VALUES:
        raise Rejected(f"a schema may have {VALUES} values, and this one has more")
    try:
        return _outside(json.loads(schema))
    except (ValueError, RecursionError) as error:
        raise Rejected("it is not JSON that can be read") from error


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

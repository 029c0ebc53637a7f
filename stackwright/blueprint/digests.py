"""Short names for contents."""

import hashlib

import msgspec

from stackwright.api.base import JsonObject


def digest(content: JsonObject) -> str:
    """Return a short name for a content, the same for the same content; secrets cannot be read from it."""
    return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()[:10]

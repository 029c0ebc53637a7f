"""YAML that programs wrote, read quickly: definitions of kinds, manifests of charts.

What people write is read where it is used, by the slower reader in Python, whose messages the commands pass on.
"""

from typing import Any

import yaml

# The reader in C takes a seventh of the time of the one in Python; PyYAML may have been built without it.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read(text: str) -> list[Any]:
    """Return the documents of a text, without the empty ones."""
    return [body for body in yaml.load_all(text, Loader=_Loader) if body is not None]

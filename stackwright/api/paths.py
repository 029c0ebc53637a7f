"""Paths of fields, with dots between them: one notation for everything that names a field.

`databaseInstance`, `passwordSelectors.service`, `cellTemplates.*.cellDatabaseInstance`: `*` stands for every entry of a
map. The values are those of a typed resource, or of its JSON.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from stackwright.kube.resource import JsonObject

EVERY = "*"


def find(value: Any, path: str) -> Any:
    """Return what stands at a path without `*`; None where there is nothing. An empty path is the value itself."""
    for step in path.split(".") if path else ():
        value = _field(value, step)
    return value


def find_all(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the paths without `*` that a path stands for, each with what stands there; nothing where there is none."""
    first, _, rest = path.partition(".")
    for step in _entries(value) if first == EVERY else (first,):
        found = _field(value, step)
        if found is None:
            continue
        if not rest:
            yield step, found
        else:
            yield from ((f"{step}.{below}", entry) for below, entry in find_all(found, rest))


def put(body: JsonObject, path: str, value: Any) -> JsonObject:
    """Return a copy of the body with a value at a path without `*`."""
    first, _, rest = path.partition(".")
    return {**body, first: put(body.get(first) or {}, rest, value) if rest else value}


def merge(below: JsonObject, above: JsonObject) -> JsonObject:
    """Return both in one, field by field; what stands above wins."""
    both = {**below, **above}
    for name in below.keys() & above.keys():
        if isinstance(below[name], dict) and isinstance(above[name], dict):
            both[name] = merge(below[name], above[name])
    return both


def _field(value: Any, step: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(step)
    return getattr(value, step, None)


def _entries(value: Any) -> tuple[str, ...]:
    return tuple(value) if isinstance(value, Mapping) else ()

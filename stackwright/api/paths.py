"""Paths of fields, with dots between them: one notation for everything that names a field.

`databaseInstance`, `passwordSelectors.service`, `cellTemplates.*.cellDatabaseInstance`: `*` stands for every entry of a
map. The values are those of a typed resource, or of its JSON. Where the key of an entry may have a dot itself, a path
is given as its steps: `("cellTemplates", "cell1", "cellDatabaseInstance")`.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from stackwright.kube.resource import JsonObject

EVERY = "*"

Steps = tuple[str, ...]


def find(value: Any, path: str | Steps) -> Any:
    """Return what stands at a path without `*`; None where there is nothing. An empty path is the value itself."""
    for step in split(path):
        value = _field(value, step)
    return value


def find_all(value: Any, path: str | Steps) -> Iterator[tuple[str, Any]]:
    """Yield the paths without `*` that a path stands for, each with what stands there; nothing where there is none."""
    for place in places(value, path):
        found = find(value, place)
        if found is not None:
            yield ".".join(place), found


def places(value: Any, path: str | Steps) -> Iterator[Steps]:
    """Yield the places that a path stands for: one for each entry that is there for a `*`, whatever stands below it."""
    steps = split(path)
    if EVERY not in steps:
        yield steps
        return
    position = steps.index(EVERY)
    above, below = steps[:position], steps[position + 1 :]
    entries = find(value, above)
    for key in entries if isinstance(entries, Mapping) else ():
        yield from ((*above, key, *rest) for rest in places(entries[key], below))


def keys(path: str | Steps, place: Steps) -> Steps:
    """Return the keys of the entries that the `*` of a path are at one of its places."""
    return tuple(step for step, wanted in zip(place, split(path), strict=True) if wanted == EVERY)


def fill(path: str | Steps, entries: Steps) -> Steps:
    """Return a path with the given keys in place of its `*`, from the first on; those left over stay."""
    left = list(entries)
    return tuple(left.pop(0) if step == EVERY and left else step for step in split(path))


def put(body: JsonObject, path: str | Steps, value: Any) -> JsonObject:
    """Return a copy of the body with a value at a path; for a `*`, in every entry that is there."""
    for place in tuple(places(body, path)):
        body = _put(body, place, value)
    return body


def merge(below: JsonObject, above: JsonObject) -> JsonObject:
    """Return both in one, field by field; what stands above wins."""
    both = {**below, **above}
    for name in below.keys() & above.keys():
        if isinstance(below[name], dict) and isinstance(above[name], dict):
            both[name] = merge(below[name], above[name])
    return both


def split(path: str | Steps) -> Steps:
    """Return the steps of a path."""
    if isinstance(path, str):
        return tuple(path.split(".")) if path else ()
    return path


def _put(body: JsonObject, place: Steps, value: Any) -> JsonObject:
    first, *rest = place
    return {**body, first: _put(body.get(first) or {}, tuple(rest), value) if rest else value}


def _field(value: Any, step: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(step)
    # In YAML a field may have a name that Python cannot write, such as external-ids.
    names = _attributes(type(value))  # type: ignore[arg-type]  # a class is hashable
    return getattr(value, names.get(step, step), None)


@cache
def _attributes(of: type[Any]) -> dict[str, str]:
    """Return the attributes of a type whose names in YAML differ."""
    pairs = zip(getattr(of, "__struct_encode_fields__", ()), getattr(of, "__struct_fields__", ()), strict=True)
    return {encoded: name for encoded, name in pairs if encoded != name}

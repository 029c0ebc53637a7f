"""The difference of two JSON values as a JSON patch (RFC 6902)."""

from collections.abc import Iterator
from typing import Any

from stackwright.kube.resource import JsonObject


def difference(before: Any, after: Any) -> list[JsonObject]:
    """Return the operations that turn `before` into `after`; none when they are the same."""
    return list(_operations("", before, after))


def _operations(path: str, before: Any, after: Any) -> Iterator[JsonObject]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _of_objects(path, before, after)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _of_arrays(path, before, after)
    elif not _same(before, after):
        yield {"op": "replace", "path": path, "value": after}


def _of_objects(path: str, before: JsonObject, after: JsonObject) -> Iterator[JsonObject]:
    for name in before.keys() - after.keys():
        yield {"op": "remove", "path": f"{path}/{_escaped(name)}"}
    for name, value in after.items():
        place = f"{path}/{_escaped(name)}"
        if name in before:
            yield from _operations(place, before[name], value)
        else:
            yield {"op": "add", "path": place, "value": value}


def _of_arrays(path: str, before: list[Any], after: list[Any]) -> Iterator[JsonObject]:
    # The common beginning and end stay, so that one item more or less is one operation.
    start = 0
    while start < min(len(before), len(after)) and _same(before[start], after[start]):
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and _same(before[-1 - end], after[-1 - end]):
        end += 1
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    shared = min(len(old), len(new))
    for offset in range(shared):
        yield from _operations(f"{path}/{start + offset}", old[offset], new[offset])
    # Remove from the last to the first, because each removal moves the items behind it.
    for offset in reversed(range(shared, len(old))):
        yield {"op": "remove", "path": f"{path}/{start + offset}"}
    for offset in range(shared, len(new)):
        yield {"op": "add", "path": f"{path}/{start + offset}", "value": new[offset]}


def _same(one: Any, other: Any) -> bool:
    """Return whether both are the same JSON; for Python, True equals 1 and 1 equals 1.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(value, other[name]) for name, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _escaped(name: str) -> str:
    """Return a member's name as a JSON pointer (RFC 6901) holds it."""
    return name.replace("~", "~0").replace("/", "~1")

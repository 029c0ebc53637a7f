"""Whose the fields of an object are, in the server's own notation, and how they change hands. Pure.

`metadata.managedFields` has an entry for each manager, with its fields as a tree. Fields change hands by renaming: what
an entry of the one manager holds moves to that of the other. Nothing else of the object is sent, so nothing restarts
and an immutable template does not matter; and the new owner's next apply takes away what it no longer asks for, as if
it had always been the owner. A write that names the version it read cannot undo what somebody else did meanwhile.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from stackwright.kube.resource import JsonObject

APPLY = "Apply"


def handed(entries: Sequence[JsonObject], giver: str, taker: str, *, less: Iterable[tuple[str, ...]] = ()) -> list[Any]:
    """Return the entries after all that `giver` manages has gone to `taker`, as something applied.

    What a controller wrote to a subresource, such as a status, stays its own. The paths in `less` go to nobody.
    """
    result: list[JsonObject] = []
    for entry in entries:
        mine = entry.get("manager") == giver and not entry.get("subresource")
        moved = _less({**entry, "manager": taker, "operation": APPLY}, less) if mine else entry
        same = next((place for place, other in enumerate(result) if _identity(other) == _identity(moved)), None)
        if same is None:
            result.append(moved)
        else:
            fields = _union(result[same].get("fieldsV1", {}), moved.get("fieldsV1", {}))
            result[same] = {**result[same], "fieldsV1": fields}
    return result


def released(entries: Sequence[JsonObject], manager: str, path: str) -> list[Any]:
    """Return the entries after a manager has let go of the field at a path, written as the server writes it.

    Its value stays until somebody applies another one. What was written through a subresource, as by `kubectl scale`,
    is let go of too.
    """
    result: list[JsonObject] = []
    for entry in entries:
        if entry.get("manager") != manager:
            result.append(entry)
        elif smaller := _without_text(entry.get("fieldsV1", {}), path):
            result.append({**entry, "fieldsV1": smaller})
    return result


def manages(entries: Iterable[JsonObject], name: str) -> bool:
    """Return whether a manager has any field, but for those of subresources."""
    return any(entry.get("manager") == name and not entry.get("subresource") for entry in entries)


def _identity(entry: JsonObject) -> tuple[Any, ...]:
    """Return what the server keeps one entry for."""
    return tuple(entry.get(name, "") for name in ("manager", "operation", "apiVersion", "subresource"))


def _union(one: JsonObject, other: JsonObject) -> JsonObject:
    common = {name: _union(one[name], other[name]) for name in one.keys() & other.keys()}
    return {**one, **other, **common}


def _less(entry: JsonObject, paths: Iterable[tuple[str, ...]]) -> JsonObject:
    fields = entry.get("fieldsV1", {})
    for path in paths:
        fields = _without(fields, path)
    return {**entry, "fieldsV1": fields}


def _without_text(tree: JsonObject, path: str) -> JsonObject:
    """Return a tree less the field that a path in words means."""
    result: JsonObject = {}
    for name, branch in tree.items():
        text = _text(name)
        rest = path.removeprefix(text)
        if name == "." or rest == path or (rest and rest[0] not in ".["):
            result[name] = branch
        elif rest:
            smaller = _without_text(branch, rest)
            # A branch that held nothing else has nothing left to hold; one that held nothing was another field.
            if not branch or (smaller and smaller.keys() != {"."}):
                result[name] = smaller
    return result


def _text(name: str) -> str:
    """Return a step of a tree as the server writes it in a conflict: `.image`, `[name="api"]`, `[="x"]`, `[0]`."""
    kind, _, rest = name.partition(":")
    match kind:
        case "k":
            keys = msgspec.json.decode(rest)
            pairs = (f"{key}={msgspec.json.encode(value).decode()}" for key, value in sorted(keys.items()))
            return f"[{','.join(pairs)}]"
        case "v":
            return f"[={rest}]"
        case "i":
            return f"[{rest}]"
        case _:
            return f".{rest}"


def _without(tree: JsonObject, path: tuple[str, ...]) -> JsonObject:
    first, *rest = path
    if first not in tree:
        return tree
    smaller = _without(tree[first], tuple(rest)) if rest else {}
    kept = {name: branch for name, branch in tree.items() if name != first}
    # "." stands for the parent itself, which has nothing left to hold.
    return {**kept, first: smaller} if smaller and smaller.keys() != {"."} else kept

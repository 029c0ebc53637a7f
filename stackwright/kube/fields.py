"""Fields of manifests: whether an object has what is asked for, what stands at a path, a manifest without it. Pure."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from stackwright.kube.quantities import amount
from stackwright.kube.resource import JsonObject

# How much of a value is shown in a line.
SHOWN = 200

# Maps whose values are quantities.
_QUANTITIES = ("limits", "requests")
_KEYED_ITEM = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|[^,\]]+)')


def digest(body: Any) -> str:
    """Return a short name for a content, the same for the same content; secrets cannot be read from it."""
    return hashlib.sha256(msgspec.json.encode(body, order="deterministic")).hexdigest()[:16]


def covers(actual: Any, desired: Any) -> bool:
    """Return whether `actual` has everything that `desired` names; what it has besides (defaults) is its own.

    Of a typed object only the fields that its type knows can be compared; the others count as had. Quantities are
    compared as numbers, because the server writes them anew: 2000m becomes 2.
    """
    if isinstance(actual, msgspec.Struct) and isinstance(desired, Mapping):
        names = zip(actual.__struct_fields__, actual.__struct_encode_fields__, strict=True)
        return all(covers(getattr(actual, name), desired[key]) for name, key in names if key in desired)
    if actual == desired:
        # Mostly it is, or the lengths differ: then this costs nothing.
        return True
    if isinstance(desired, Mapping):
        return isinstance(actual, Mapping) and all(
            key in actual and (covers_quantities if key in _QUANTITIES else covers)(actual[key], value)
            for key, value in desired.items()
        )
    if isinstance(desired, list | tuple):
        return (
            isinstance(actual, list | tuple)
            and len(actual) == len(desired)
            and all(covers(have, want) for have, want in zip(actual, desired, strict=True))
        )
    return False


def covers_quantities(actual: Any, desired: Any) -> bool:
    """Return whether a map of quantities has all that `desired` names."""
    if not isinstance(actual, Mapping) or not isinstance(desired, Mapping):
        return covers(actual, desired)
    return all(
        key in actual and (actual[key] == value or None is not amount(value) == amount(actual[key]))
        for key, value in desired.items()
    )


def without(body: JsonObject, paths: Iterable[str]) -> JsonObject:
    """Return the manifest less the fields at `paths`, written as the server writes them in a conflict.

    `.spec.replicas`, `.spec.containers[name="api"].image`, `.metadata.finalizers[="a/b"]`; keys may hold dots.
    """
    result: Any = body
    for path in paths:
        result = _without(result, path)
    return result if isinstance(result, dict) else {}


def value_at(body: Any, path: str) -> Any:
    """Return what stands at a path, written as the server writes it in a conflict; raise KeyError where nothing does.

    The path `.` is all of it.
    """
    if path in ("", "."):
        return body
    if isinstance(body, list) and path.startswith("["):
        selector, _, rest = path[1:].partition("]")
        found = [item for position, item in enumerate(body) if _selected(item, position, selector)]
        if len(found) == 1:
            return value_at(found[0], rest)
    elif isinstance(body, Mapping):
        for key in sorted(body, key=len, reverse=True):
            rest = path.removeprefix(f".{key}")
            if rest != path and rest[:1] in ("", ".", "["):
                return value_at(body[key], rest)
    raise KeyError(path)


def shown(value: Any) -> str:
    """Return a value as a person reads it in one line: JSON, cut where it is long."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def _without(value: Any, path: str) -> Any:
    if isinstance(value, Mapping):
        return _without_key(value, path)
    if isinstance(value, list) and path.startswith("["):
        selector, _, rest = path[1:].partition("]")
        return _without_item(value, selector, rest)
    return value


def _without_key(value: Mapping[str, Any], path: str) -> JsonObject:
    # The longest key first: of ".a.b", the key "a.b" is meant where both it and "a" are there.
    for key in sorted(value, key=len, reverse=True):
        prefix = f".{key}"
        if path == prefix:
            return {other: content for other, content in value.items() if other != key}
        rest = path.removeprefix(prefix)
        if rest != path and rest[0] in ".[":
            smaller = _without(value[key], rest)
            kept = {**value, key: smaller}
            if smaller in ({}, []):
                # An emptied parent would still claim the field; it goes too.
                del kept[key]
            return kept
    return dict(value)


def _without_item(items: list[Any], selector: str, rest: str) -> list[Any]:
    kept = []
    for position, item in enumerate(items):
        if not _selected(item, position, selector):
            kept.append(item)
        elif rest:
            kept.append(_without(item, rest))
    return kept


def _selected(item: Any, position: int, selector: str) -> bool:
    if selector.startswith("="):
        return bool(item == _literal(selector[1:]))
    if selector.isdigit():
        return position == int(selector)
    pairs = _KEYED_ITEM.findall(selector)
    return isinstance(item, Mapping) and all(item.get(key) == _literal(text) for key, text in pairs)


def _literal(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text

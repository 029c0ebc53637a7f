"""How much an object may hold by the definition of its kind.

The API server has compared every object with that before it asks us, but others can ask us too. What is longer than its
kind allows is not checked any further: our checks are made for what the definition lets through. Pure.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from stackwright.kube.crd import generate
from stackwright.kube.markers import Definition
from stackwright.kube.resource import JsonObject, Resource

_MOST = ("maxItems", "maxProperties", "maxLength")


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much a value may hold; None stands for as much as it likes."""

    most: int | None
    parts: dict[str, "Bounds"]
    each: "Bounds | None"


@dataclass(frozen=True)
class Excess:
    """A value that holds too much."""

    path: str
    most: int


@cache
def of_kind(kind: type[Resource]) -> Bounds | None:
    """Return the bounds of a kind's objects, or None if nothing of it has any; only kinds of ours are known."""
    if not isinstance(getattr(kind, "definition", None), Definition):
        return None
    (version,) = generate.manifest(kind)["spec"]["versions"]
    return of_schema(version["schema"]["openAPIV3Schema"])


def of_schema(schema: JsonObject) -> Bounds | None:
    """Return the bounds that a schema has, or None if it has none."""
    most = min((schema[name] for name in _MOST if name in schema), default=None)
    parts = {name: found for name, part in schema.get("properties", {}).items() if (found := of_schema(part))}
    inner = schema.get("items") or schema.get("additionalProperties")
    each = of_schema(inner) if isinstance(inner, dict) else None
    return Bounds(most, parts, each) if most is not None or parts or each is not None else None


def find_excess(bounds: Bounds | None, value: Any, path: str = "") -> Excess | None:
    """Return the first value that holds more than it may."""
    if bounds is None or not isinstance(value, str | list | dict):
        return None
    if bounds.most is not None and len(value) > bounds.most:
        return Excess(path, bounds.most)
    if isinstance(value, dict):
        for name, part in value.items():
            inner = bounds.parts.get(name, bounds.each)
            place = f"{path}[{name}]" if name not in bounds.parts else f"{path}.{name}" if path else name
            if inner is not None and (found := find_excess(inner, part, place)):
                return found
    elif isinstance(value, list) and bounds.each is not None:
        for number, part in enumerate(value):
            if found := find_excess(bounds.each, part, f"{path}[{number}]"):
                return found
    return None

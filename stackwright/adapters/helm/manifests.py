"""Manifests: the objects in a text that helm rendered, within limits, because any user may have written it. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import yaml

from stackwright import yaml_words
from stackwright.adapters.errors import Rejected
from stackwright.adapters.helm.measures import DEEPEST, find_excess

JsonObject = dict[str, Any]


@dataclass(frozen=True)
class Limits:
    """How much a manifest may hold. Ours have 20 objects and 2,000 values; a value takes 500 bytes of memory here."""

    objects: int = 256
    values: int = 64 * 2**10


DEFAULT = Limits()


def objects_of(manifest: str) -> tuple[JsonObject, ...]:
    """Return the objects of a manifest in their order; raise Rejected if it is not a manifest."""
    try:
        return tuple(body for body in yaml.load_all(manifest, yaml_words.Loader) if isinstance(body, dict))
    except (yaml.YAMLError, RecursionError) as error:
        raise Rejected("the manifest is not YAML") from error


def bounded(manifest: str, limits: Limits = DEFAULT) -> tuple[JsonObject, ...]:
    """Return the objects of a manifest; raise Rejected if there is more in it than allowed."""
    try:
        excess = find_excess(manifest, limits.values)
    except yaml.YAMLError as error:
        raise Rejected("the manifest is not YAML") from error
    if excess:
        raise Rejected(f"it renders {excess}")
    objects = objects_of(manifest)
    if len(objects) > limits.objects:
        raise Rejected(f"it renders {len(objects)} objects; it may render {limits.objects}")
    if count_values(objects, limits.values) > limits.values:
        raise Rejected(f"it renders more than {limits.values} values, all aliases counted")
    if odd := next(filter(None, map(find_odd, objects)), ""):
        raise Rejected(f"it renders {odd}")
    return objects


def find_odd(body: JsonObject) -> str:
    """Return what is not of the type that every object has there; "" if nothing is.

    The server would refuse it, but everything that looks at the object before relies on these types.
    """
    what = f"a {body.get('kind')}" if isinstance(body.get("kind"), str) else "an object"
    for name in ("apiVersion", "kind"):
        if not _is_text(body.get(name)):
            return f"an object whose {name} is no text"
    metadata = body.get("metadata")
    if not isinstance(metadata, dict | None):
        return f"{what} whose metadata is not a map"
    for name in ("name", "namespace"):
        if not _is_text((metadata or {}).get(name)):
            return f"{what} whose metadata.{name} is no text"
    for name in ("labels", "annotations"):
        found = (metadata or {}).get(name)
        if not isinstance(found, dict | None):
            return f"{what} whose metadata.{name} is not a map"
        if odd := next((key for key, value in (found or {}).items() if not _is_text(value)), None):
            return f"{what} whose metadata.{name} has a value for {odd} that is no text; put it in quotes"
    return ""


def _is_text(value: Any) -> bool:
    # Of nothing the server makes an empty text.
    return isinstance(value, str | None)


def count_values(objects: Iterable[Any], most: int = DEFAULT.values) -> int:
    """Return how many values there are, or some number above `most`.

    An alias stands for all that it names, and aliases of aliases multiply: a value that is named often is counted as
    often, and looked at once.
    """
    known: dict[int, int] = {}

    def count(value: Any, depth: int = 0) -> int:
        parts: Iterable[Any]
        if isinstance(value, dict):
            parts = value.values()
        elif isinstance(value, list):
            parts = value
        else:
            return 1
        if id(value) not in known:
            if depth >= DEEPEST:
                raise Rejected(f"it nests values deeper than {DEEPEST} levels")
            # One that holds itself has no end.
            known[id(value)] = most + 1
            known[id(value)] = min(most + 1, 1 + sum(count(part, depth + 1) for part in parts))
        return known[id(value)]

    return sum(map(count, objects))

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
    return objects


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

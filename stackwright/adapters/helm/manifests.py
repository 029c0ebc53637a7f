"""Manifests: the objects in a text that helm rendered, within limits, because any user may have written it. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import yaml

from stackwright import yaml_words
from stackwright.adapters.errors import Rejected
from stackwright.adapters.helm.charts import JsonObject


@dataclass(frozen=True)
class Limits:
    """How much a manifest may hold. Ours have 20 objects and 2,000 values; a value takes 500 bytes of memory here.

    A manifest that is shorter than `length` cannot hold more values than that, so they are not counted beforehand.
    """

    objects: int = 256
    values: int = 64 * 2**10
    length: int = 128 * 2**10


DEFAULT = Limits()
# Deeper than any object of Kubernetes, and not so deep that a walk through it fails.
DEEPEST = 64


def objects_of(manifest: str) -> tuple[JsonObject, ...]:
    """Return the objects of a manifest in their order; raise Rejected if it is not a manifest."""
    try:
        return tuple(body for body in yaml.load_all(manifest, yaml_words.Loader) if isinstance(body, dict))
    except (yaml.YAMLError, RecursionError) as error:
        raise Rejected("the manifest is not YAML") from error


def bounded(manifest: str, limits: Limits = DEFAULT) -> tuple[JsonObject, ...]:
    """Return the objects of a manifest; raise Rejected if there is more in it than allowed."""
    if len(manifest) > limits.length:
        _count_beforehand(manifest, limits)
    objects = objects_of(manifest)
    if len(objects) > limits.objects:
        raise Rejected(f"it renders {len(objects)} objects; it may render {limits.objects}")
    if _values(objects, limits.values) > limits.values:
        raise Rejected(f"it renders more than {limits.values} values, all aliases counted")
    return objects


def _count_beforehand(manifest: str, limits: Limits) -> None:
    """Raise Rejected if a text holds too many values; it is read piece by piece, and nothing of it is kept."""
    found = 0
    try:
        for event in yaml.parse(manifest, yaml_words.Loader):
            found += isinstance(event, yaml.NodeEvent)
            if found > limits.values:
                raise Rejected(f"it renders more than {limits.values} values")
    except yaml.YAMLError as error:
        raise Rejected("the manifest is not YAML") from error


def count_values(objects: Iterable[Any]) -> int:
    """Return how many values objects hold that are within the limits."""
    return _values(objects, DEFAULT.values)


def _values(objects: Iterable[Any], most: int) -> int:
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

"""Older fields that another field of the same object replaces: what is warned of, and which changes are refused. Pure.

The words are those of upstream's operators. A field takes part if its `deprecated` marker names the path of its
successor, such as `messagingBus.cluster`. What is stored may stay as it is: only a change is refused.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec

from stackwright.blueprint import structs
from stackwright.blueprint.refusal import FORBIDDEN, Problem, Refusal
from stackwright.kube.markers import Deprecation

_PATH = re.compile(r"[A-Za-z]+(\.[A-Za-z]+)+")


class _Older(NamedTuple):
    """An older field: where it stands, what it says, and its successor's path and value."""

    path: str
    value: str
    successor: str
    newer: str


def problems(old: object, new: object) -> Iterator[Problem]:
    """Yield what is wrong with a change of older fields; nothing is wrong with a resource that is created."""
    if old is None:
        return
    before = {each.path: each for each in _olders(getattr(old, "spec", None))}
    for each in _olders(getattr(new, "spec", None)):
        if each.value and each.newer and each.value != each.newer:
            yield (
                each.path,
                Refusal(
                    f'cannot set both deprecated field "{each.path}" and new field "{each.successor}" with different '
                    f'values (deprecated: "{each.value}", new: "{each.newer}"). Use "{each.successor}" only',
                    each.value,
                ),
            )
        if each.value and each.path in before and before[each.path].value != each.value:
            yield (
                each.path,
                Refusal(
                    f'field "{each.path}" is deprecated, use "{each.successor}" instead. To migrate, first set '
                    f'"{each.successor}", then clear this field',
                    reason=FORBIDDEN,
                ),
            )


def warnings(resource: object) -> Iterator[str]:
    """Yield a sentence for each older field that is set."""
    for each in _olders(getattr(resource, "spec", None)):
        if each.value and not each.newer:
            yield f'field "{each.path}" is deprecated, please use "{each.successor}" instead'
        elif each.value and each.value == each.newer:
            yield (
                f'both "{each.path}" and "{each.successor}" are set with the same value. Please migrate to using only '
                f'"{each.successor}" and clear "{each.path}"'
            )


def _olders(spec: object) -> Iterator[_Older]:
    for at, struct in structs.structured("spec", spec):
        for name, successor in _successors(type(struct)).items():
            newer: Any = struct
            for step in successor.split("."):
                newer = getattr(newer, step, None)
            yield _Older(f"{at}.{name}", getattr(struct, name) or "", f"{at}.{successor}", newer or "")


@cache
def _successors(struct: type[msgspec.Struct]) -> dict[str, str]:
    """Return the older fields of a struct, each with the path of its successor."""
    marked = {name: structs.markers(annotation) for name, annotation in structs.hints(struct).items()}
    return {
        name: marker.instead
        for name, markers in marked.items()
        for marker in markers
        if isinstance(marker, Deprecation) and _PATH.fullmatch(marker.instead)
    }

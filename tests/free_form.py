"""Finds the free-form fields of every kind, and builds resources that have a value in one of them."""

import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from stackwright import services
from stackwright.api.embedded import Embedded
from stackwright.kube.resource import CustomResource, JsonObject
from tests.functional.crds.samples import LEAST

# The key of a map, wherever one is needed.
KEY = "one"
ENTRY, EVERY = "[0]", f"[{KEY}]"


@dataclass(frozen=True)
class Place:
    """A free-form field of a kind: its steps below the resource, and the part of Kubernetes that it becomes, if any."""

    kind: type[CustomResource]
    steps: tuple[str, ...]
    part: type[Any] | None

    def __str__(self) -> str:
        return f"{self.kind.kind.name}.{self.path}"

    @property
    def path(self) -> str:
        """The path as a message names it."""
        return "".join(step if step.startswith("[") else f".{step}" for step in self.steps).removeprefix(".")

    @property
    def field(self) -> str:
        """The name of the field, without entries."""
        return [step for step in self.steps if not step.startswith("[")][-1]

    def resource(self, value: Any) -> CustomResource:
        """Return a resource of the kind that says little more than a value at this place."""
        hints = typing.get_type_hints(self.kind, include_extras=True)
        spec = _planted(hints["spec"], self.steps[1:], value, LEAST[self.kind.kind.name])
        return msgspec.convert({"metadata": {"name": "sample", "namespace": "here"}, "spec": spec}, self.kind)


def places() -> Iterator[Place]:
    """Yield the free-form fields of all kinds."""
    for kind in services.kinds():
        hints = typing.get_type_hints(kind, include_extras=True)
        if "spec" in hints:
            yield from (Place(kind, steps, part) for steps, part in _find(hints["spec"], ("spec",)))


def _find(annotation: Any, steps: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], type[Any] | None]]:
    bare, markers = _open(annotation)
    origin, arguments = typing.get_origin(bare), typing.get_args(bare)
    if origin is dict and arguments[1] is Any:
        parts = [marker.part for marker in markers if isinstance(marker, Embedded)]
        yield steps, parts[-1] if parts else None
    elif origin is dict:
        yield from _find(arguments[1], (*steps, EVERY))
    elif origin in (tuple, list):
        yield from _find(arguments[0], (*steps, ENTRY))
    elif isinstance(bare, type) and issubclass(bare, msgspec.Struct):
        for name, hint in typing.get_type_hints(bare, include_extras=True).items():
            if name in bare.__struct_fields__:
                yield from _find(hint, (*steps, name))


def _open(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a type without None, and its markers."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        bare, markers = _open(arguments[0])
        return bare, (*markers, *arguments[1:])
    if origin in (typing.Union, types.UnionType):
        choices = [choice for choice in arguments if choice is not types.NoneType]
        return _open(choices[0]) if len(choices) == 1 else (str, ())
    return annotation, ()


def _planted(annotation: Any, steps: tuple[str, ...], value: Any, below: JsonObject | None = None) -> Any:
    """Return the least that a type takes, with a value at a place in it."""
    bare, _ = _open(annotation)
    if not steps:
        return value
    first, *rest = steps
    arguments = typing.get_args(bare)
    if first == ENTRY:
        return [_planted(arguments[0], tuple(rest), value)]
    if first == EVERY:
        return {KEY: _planted(arguments[1], tuple(rest), value)}
    hints = typing.get_type_hints(bare, include_extras=True)
    said = {**_least(bare), **(below or {})}
    own = said.get(first)
    return {**said, first: _planted(hints[first], tuple(rest), value, own if isinstance(own, dict) else None)}


def _least(struct: type[msgspec.Struct]) -> JsonObject:
    hints = typing.get_type_hints(struct, include_extras=True)
    return {field.name: _smallest(hints[field.name]) for field in msgspec.structs.fields(struct) if field.required}


def _smallest(annotation: Any) -> Any:
    bare, _ = _open(annotation)
    origin = typing.get_origin(bare) or bare
    if isinstance(origin, type) and issubclass(origin, msgspec.Struct):
        return _least(origin)
    return {tuple: [], dict: {}, str: "a", int: 1, bool: False}[origin]

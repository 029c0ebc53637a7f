"""Walks through a resource, struct by struct, with the markers of each field. Pure."""

import functools
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec


@dataclass(frozen=True)
class Field:
    """A value in a resource: its path, and what its type says about it."""

    path: str
    value: Any
    markers: tuple[Any, ...]


def structured(path: str, value: object) -> Iterator[tuple[str, msgspec.Struct]]:
    """Yield every struct in a value, with its path."""
    match value:
        case msgspec.Struct():
            yield path, value
            for name, encoded in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True):
                yield from structured(f"{path}.{encoded}", getattr(value, name))
        case dict():
            for key, entry in value.items():
                yield from structured(f"{path}[{key}]", entry)
        case tuple() | list():
            for position, entry in enumerate(value):
                yield from structured(f"{path}[{position}]", entry)


def fields(path: str, value: object) -> Iterator[Field]:
    """Yield every field that is set in a value, recursively, and every entry of its maps and lists."""
    for at, struct in structured(path, value):
        for name, (own, inner) in _marked(type(struct)).items():
            said = getattr(struct, name)
            if said is None:
                continue
            yield Field(f"{at}.{name}", said, own)
            if inner and isinstance(said, dict):
                yield from (Field(f"{at}.{name}[{key}]", entry, inner) for key, entry in said.items())
            elif inner and isinstance(said, tuple | list):
                yield from (Field(f"{at}.{name}[{place}]", entry, inner) for place, entry in enumerate(said))


@functools.cache
def hints(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the annotations of a struct's fields, without class variables."""
    found = typing.get_type_hints(struct, include_extras=True)
    return {name: found[name] for name in struct.__struct_fields__}


@functools.cache
def _marked(struct: type[msgspec.Struct]) -> dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Return the markers of each field, and those of the entries of a map or list."""
    found = {name: (markers(annotation), markers(_entry(annotation))) for name, annotation in hints(struct).items()}
    return {name: markers for name, markers in found.items() if any(markers)}


def markers(annotation: Any) -> tuple[Any, ...]:
    """Return the markers on a type, also on one that may be None; the outer ones hold, and come last."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return (*markers(arguments[0]), *arguments[1:])
    if origin in (typing.Union, types.UnionType):
        return tuple(marker for choice in arguments for marker in markers(choice))
    return ()


def _entry(annotation: Any) -> Any:
    """Return the type of a map's values or a list's items; None for a type that has none."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return _entry(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return next((found for choice in arguments if (found := _entry(choice)) is not None), None)
    if origin is dict:
        return arguments[1]
    return arguments[0] if origin in (tuple, list) else None

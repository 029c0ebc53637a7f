"""Whether free-form parts of a resource fit what they become: a toleration, a volume, the spec of a Service. Pure.

If a pod has a key that Kubernetes does not know, the API server answers an apply with a failure of its own, and names
fields that the user never wrote. The types of such parts are in `api.embedded`; a marker on a field says which it
becomes.
"""

import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec

from stackwright.api.embedded import Embedded
from stackwright.blueprint import agreements, structs
from stackwright.blueprint.refusal import Problem
from stackwright.blueprint.structs import Field

# How much of a key that is none stands in a message.
_SHOWN = 63
_WORDS: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
}


@dataclass(frozen=True)
class _Misfit:
    """A value that cannot stand where it is."""

    path: str
    sentence: str


def fields(path: str, value: object) -> Iterator[Field]:
    """Yield every field that is set in the free-form parts of a value and has the type that it should have."""
    return (found for found in _walk_all(path, value) if isinstance(found, Field))


def misfits(path: str, value: object) -> Iterator[Problem]:
    """Yield what Kubernetes would not know, miss or not understand in the free-form parts of a value."""
    return ((found.path, found.sentence) for found in _walk_all(path, value) if isinstance(found, _Misfit))


def _walk_all(path: str, value: object) -> Iterator[Field | _Misfit]:
    for field in structs.fields(path, value):
        for marker in field.markers:
            if isinstance(marker, Embedded) and field.value:
                yield from _walk(marker.part, field.path, field.value)


def _walk(annotation: Any, path: str, value: Any) -> Iterator[Field | _Misfit]:
    bare = _bare(annotation)
    if sentence := _mistyped(bare, value):
        yield _Misfit(path, sentence)
        return
    inner = tuple(_walk_below(bare, path, value))
    if not any(isinstance(each, _Misfit) for each in inner):
        # What a marker says of a map or a list is about entries that are what they should be.
        yield Field(path, value, structs.markers(annotation))
    yield from inner


def _walk_below(bare: Any, path: str, value: Any) -> Iterator[Field | _Misfit]:
    origin, arguments = typing.get_origin(bare), typing.get_args(bare)
    if origin is dict:
        for key, item in value.items():
            yield from _walk(arguments[1], f"{path}[{key[:_SHOWN]}]", item)
    elif origin is tuple:
        for place, item in enumerate(value):
            yield from _walk(arguments[0], f"{path}[{place}]", item)
    elif isinstance(bare, type) and issubclass(bare, msgspec.Struct):
        yield from _walk_part(bare, path, value)


def _walk_part(part: type[msgspec.Struct], path: str, value: dict[str, Any]) -> Iterator[Field | _Misfit]:
    known = structs.hints(part)
    for key in value:
        if key not in known:
            place = f"{path}.{key}" if key.isidentifier() and len(key) <= _SHOWN else f"{path}[{key[:_SHOWN]}]"
            yield _Misfit(place, f"is not a field that Kubernetes knows here; there are: {', '.join(known)}")
    # Null means the same as nothing.
    said = {name: entry for name, entry in value.items() if name in known and entry is not None}
    missing = [field.name for field in msgspec.structs.fields(part) if field.required and field.name not in said]
    yield from (_Misfit(f"{path}.{name}", "is missing; add it") for name in missing)
    found = [each for name, entry in said.items() for each in _walk(known[name], f"{path}.{name}", entry)]
    yield from found
    yield from _choose(part, path, said)
    if not missing and not any(isinstance(each, _Misfit) for each in found):
        # Only of fields that are what they should be it makes sense to ask whether they fit together.
        yield from (_Misfit(f"{path}{at}", sentence) for at, sentence in agreements.problems(known, said))


def _choose(part: type[msgspec.Struct], path: str, said: dict[str, Any]) -> Iterator[_Misfit]:
    choices: tuple[str, ...] = getattr(part, "one_of", ())
    chosen = [name for name in choices if name in said]
    if len(chosen) > 1:
        yield _Misfit(path, f"must have only one of {', '.join(chosen)}")
    elif choices and not chosen and not getattr(part, "may_be_none", False):
        yield _Misfit(path, f"must have one of {', '.join(choices)}")


def _bare(annotation: Any) -> Any:
    """Return a type without markers and without None; an int or a str as the union of both."""
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        return _bare(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        choices = tuple(_bare(choice) for choice in typing.get_args(annotation) if choice is not types.NoneType)
        return choices[0] if len(choices) == 1 else int | str
    return annotation


def _mistyped(bare: Any, value: Any) -> str:
    """Return why a value cannot have a type; an empty text if it can."""
    origin = typing.get_origin(bare)
    if origin is Literal:
        choices = typing.get_args(bare)
        return "" if value in choices else f"must be one of {', '.join(choice for choice in choices if choice)}"
    if bare == int | str:
        fits = isinstance(value, int | str) and not isinstance(value, bool)
        return "" if fits else f"must be a number or a text, and is {_word(value)}"
    wanted = origin or bare
    if wanted is tuple:
        wanted = list
    elif isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
        wanted = dict
    fits = isinstance(value, wanted) and not (wanted is int and isinstance(value, bool))
    return "" if fits else f"must be {_WORDS[wanted]}, and is {_word(value)}"


def _word(value: Any) -> str:
    return next((word for kind, word in _WORDS.items() if isinstance(value, kind)), "nothing")

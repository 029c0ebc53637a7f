"""From the spec of a kind to a template of it: the same fields, but none is defaulted, so what was said can be told.

A template holds what a user said and nothing else. It is handed to a resource of the kind, and the server checks
the whole there; so what cannot be checked of a part is not checked here: rules over the whole spec, and rules
about changes.
"""

import types
import typing
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any

import msgspec

from stackwright.api import paths
from stackwright.api.base import Rule, Value
from stackwright.kube.markers import Immutable, Keyword, pattern


@cache
def template_of(spec: type[msgspec.Struct], filled: frozenset[str] = frozenset()) -> type[Value]:
    """Return the template of a spec; the fields that are `filled` by somebody else, by path, may be left out."""
    return _partial(spec, f"{spec.__name__.removesuffix('Spec')}Template", filled, ())


@cache
def part_of(struct: type[msgspec.Struct], filled: frozenset[str] = frozenset()) -> type[Value]:
    """Return a struct within a spec as it stands in a template."""
    stated = (rule for base in reversed(struct.__mro__) for rule in vars(base).get("validations", ()))
    return _partial(struct, struct.__name__, filled, tuple(rule for rule in stated if not _of_changes(rule)))


def _partial(
    struct: type[msgspec.Struct], name: str, filled: frozenset[str], validations: tuple[Rule, ...]
) -> type[Value]:
    return msgspec.defstruct(  # type: ignore[return-value]  # a subclass of its base, which the stub does not say
        name,
        list(_fields(struct, filled)),
        bases=(Value,),
        namespace={"__doc__": struct.__doc__, "validations": validations},
        module=__name__,
        # A field whose name in YAML is no name in Python keeps it.
        rename={field.name: field.encode_name for field in msgspec.structs.fields(struct)},
        frozen=True,
        kw_only=True,
    )


def _fields(struct: type[msgspec.Struct], filled: frozenset[str]) -> Iterator[Any]:
    hints = typing.get_type_hints(struct, include_extras=True)
    for field in msgspec.structs.fields(struct):
        annotation = _undefaulted(hints[field.name], _below(filled, field.name))
        if field.required and field.name not in filled:
            yield field.name, annotation
        else:
            taken = _emptied(annotation) if field.name in filled and _refuses_empty(annotation) else annotation
            yield field.name, _optional(taken), None


def _optional(annotation: Any) -> Any:
    """Return a type that may be None; its markers stay outermost, where whoever reads a field's markers looks."""
    if typing.get_origin(annotation) is Annotated:
        base, *markers = typing.get_args(annotation)
        return Annotated[(base | None, *markers)]
    return annotation | None


def refuses_empty(struct: Any, path: str) -> bool:
    """Return whether the field of a struct at a path takes no empty text: in a template, that is one not said."""
    *above, last = paths.split(path)
    for step in above:
        struct = _bare(struct if step == paths.EVERY else typing.get_type_hints(struct).get(step))
    if not (isinstance(struct, type) and issubclass(struct, msgspec.Struct)):
        return False
    return _refuses_empty(typing.get_type_hints(struct, include_extras=True).get(last))


def _bare(annotation: Any) -> Any:
    """Return a type without None, or the type of a map's values."""
    if typing.get_origin(annotation) is dict:
        return typing.get_args(annotation)[1]
    choices = [choice for choice in typing.get_args(annotation) if choice is not types.NoneType]
    return choices[0] if choices else annotation


def _refuses_empty(annotation: Any) -> bool:
    return any(isinstance(marker, Keyword) and marker.name == "minLength" for marker in _markers(annotation))


def _markers(annotation: Any) -> tuple[Any, ...]:
    return typing.get_args(annotation)[1:] if typing.get_origin(annotation) is Annotated else ()


def _emptied(annotation: Any) -> Any:
    """Return a type of texts that takes an empty one as well."""
    base, *markers = typing.get_args(annotation)
    kept = [
        pattern(f"^$|{marker.value}") if isinstance(marker, Keyword) and marker.name == "pattern" else marker
        for marker in markers
        if not (isinstance(marker, Keyword) and marker.name == "minLength")
    ]
    return Annotated[(base, *kept)]


def _below(filled: frozenset[str], step: str) -> frozenset[str]:
    """Return the rest of those paths that begin with a step."""
    found = (paths.split(path) for path in filled)
    return frozenset(".".join(steps[1:]) for steps in found if steps[0] == step and len(steps) > 1)


def _undefaulted(annotation: Any, filled: frozenset[str]) -> Any:
    """Return a type with every struct in it as a template, and without what speaks of changes."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        base, *markers = arguments
        kept = [marker for marker in markers if not _of_changes(marker)]
        inner = _undefaulted(base, filled)
        return Annotated[(inner, *kept)] if kept else inner
    if origin in (typing.Union, types.UnionType):
        return typing.Union[tuple(_undefaulted(choice, filled) for choice in arguments)]  # noqa: UP007  made at run time
    if origin is tuple:
        return types.GenericAlias(tuple, (_undefaulted(arguments[0], frozenset()), ...))
    if origin in (dict, list):
        below = _below(filled, paths.EVERY) if origin is dict else frozenset()
        return origin[tuple(_undefaulted(argument, below) for argument in arguments)]
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return part_of(annotation, filled)
    return annotation


def _of_changes(marker: object) -> bool:
    return isinstance(marker, Immutable) or (isinstance(marker, Rule) and "oldSelf" in marker.expression)

"""From a type to the structural schema of a definition. Pure.

What Python says becomes what the server checks: a field without a default is required, a default is the
server's default, `T | None` is simply not required (never nullable: an apply of null would own the field),
`Literal` is an enum, `dict[str, T]` a map, `tuple[T, ...]` a list, a struct an object. There are no references
in such a schema, so a type may not contain itself. Empty defaults are not written into objects: an absent
string, list or map means the same and keeps `kubectl get -o yaml` short.
"""

import inspect
import re
import types
import typing
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec

from stackwright.kube.markers import LARGEST, Deprecation, Description, Immutable, Keyword, Marker, Rule
from stackwright.kube.resource import JsonObject

_SCALARS: dict[Any, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}
_INT_OR_STRING = "int-or-string"

# Which keyword fits which type: a bound on the wrong field would be refused by the server, or ignored by it.
_FITS = {
    "minimum": ("integer", "number", _INT_OR_STRING),
    "maximum": ("integer", "number"),
    "pattern": ("string", _INT_OR_STRING),
    "format": ("string",),
    "minLength": ("string",),
    "maxLength": ("string",),
    "minItems": ("array",),
    "maxItems": ("array",),
    "maxProperties": ("object",),
    "x-kubernetes-list-type": ("array",),
    "x-kubernetes-list-map-keys": ("array",),
    "x-kubernetes-preserve-unknown-fields": ("object",),
}

# Words of CEL that a rule must write between two underscores when a field is called so.
_RESERVED = frozenset(
    re.findall(
        r"\w+",
        "true false null in as break const continue else for function if import let loop package namespace return"
        " var void while",
    )
)


class SchemaError(TypeError):
    """A type that cannot become a schema: a mistake in the type, found when its definition is generated."""


@dataclass(frozen=True)
class _Place:
    """Where the walk is: the path for messages, whether defaults are written, and the structs it is inside of."""

    path: str
    defaults: bool
    inside: tuple[type, ...] = ()

    def at(self, step: str) -> "_Place":
        return replace(self, path=f"{self.path}{step}")


@dataclass(frozen=True)
class _Unwrapped:
    """An annotation taken apart: the bare type, the markers on it from the inside out, and whether it may be None."""

    bare: Any
    markers: tuple[Marker, ...] = ()
    optional: bool = False


def of_struct(struct: type[msgspec.Struct], *, defaults: bool = True) -> JsonObject:
    """Return the schema of a struct with all that it contains; `defaults=False` suits what controllers write."""
    return _struct(struct, _Place(struct.__name__, defaults))


def description_of(struct: type) -> str:
    """Return what a class says of itself in its own docstring."""
    text = vars(struct).get("__doc__")
    if not text:
        raise SchemaError(f"{struct.__name__} has no docstring; it is the description that users read")
    return inspect.cleandoc(text)


def rules_of(struct: type) -> list[JsonObject]:
    """Return the rules that a struct and its bases state in `validations`, the bases' first."""
    stated = [rule for base in reversed(struct.__mro__) for rule in vars(base).get("validations", ())]
    return [_rule(rule) for rule in stated]


def _schema(annotation: Any, place: _Place) -> JsonObject:
    """Return the schema of a value that is no field: an item of a list or a value of a map."""
    unwrapped = _unwrap(annotation, place)
    schema = _shape(unwrapped.bare, place)
    _mark(schema, unwrapped, place)
    return schema


def _unwrap(annotation: Any, place: _Place) -> _Unwrapped:
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        base, *markers = typing.get_args(annotation)
        inner = _unwrap(base, place)
        own = tuple(marker for marker in markers if isinstance(marker, Marker))
        return replace(inner, markers=(*inner.markers, *own))
    if origin in (typing.Union, types.UnionType):
        choices = [choice for choice in typing.get_args(annotation) if choice is not types.NoneType]
        optional = len(choices) < len(typing.get_args(annotation))
        if set(choices) == {int, str}:
            return _Unwrapped(_INT_OR_STRING, optional=optional)
        if len(choices) != 1:
            raise SchemaError(f"{place.path} is a union of several types, which a structural schema cannot say")
        return replace(_unwrap(choices[0], place), optional=optional)
    return _Unwrapped(annotation)


def _shape(bare: Any, place: _Place) -> JsonObject:
    origin, arguments = typing.get_origin(bare), typing.get_args(bare)
    if bare in _SCALARS:
        return {"type": _SCALARS[bare]}
    if bare == _INT_OR_STRING:
        return {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
    if origin is Literal:
        return _enum(arguments, place)
    if origin is list or (origin is tuple and arguments[1:] == (...,)):
        return {"type": "array", "items": _schema(arguments[0], place.at("[]"))}
    if origin is dict and arguments[0] is str:
        return _map(arguments[1], place)
    if isinstance(bare, type) and issubclass(bare, msgspec.Struct):
        return _struct(bare, place)
    raise SchemaError(f"{place.path} has the type {bare!r}, which has no structural schema")


def _enum(values: tuple[Any, ...], place: _Place) -> JsonObject:
    kinds = {type(value) for value in values}
    if len(kinds) != 1 or not kinds <= set(_SCALARS):
        raise SchemaError(f"{place.path} allows values of several types; an enum has one")
    return {"type": _SCALARS[kinds.pop()], "enum": list(values)}


def _map(value: Any, place: _Place) -> JsonObject:
    if value is Any:
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"type": "object", "additionalProperties": _schema(value, place.at("[*]"))}


def _struct(struct: type[msgspec.Struct], place: _Place) -> JsonObject:
    if struct in place.inside:
        raise SchemaError(f"{place.path} contains {struct.__name__} again; a structural schema cannot refer to itself")
    inner = replace(place, inside=(*place.inside, struct))
    hints = typing.get_type_hints(struct, include_extras=True)
    properties: JsonObject = {}
    required: list[str] = []
    rules = rules_of(struct)
    for field in msgspec.structs.fields(struct):
        name = field.encode_name
        where = inner.at(f".{name}")
        unwrapped = _unwrap(hints[field.name], where)
        properties[name] = _field(field, unwrapped, where)
        if field.required:
            required.append(name)
        elif "default" not in properties[name]:
            rules += [_presence(name, marker) for marker in unwrapped.markers if isinstance(marker, Immutable)]
    schema: JsonObject = {"type": "object", "description": description_of(struct), "properties": properties}
    if required:
        schema["required"] = sorted(required)
    if rules:
        schema["x-kubernetes-validations"] = rules
    return schema


def _field(field: msgspec.structs.FieldInfo, unwrapped: _Unwrapped, place: _Place) -> JsonObject:
    schema = _shape(unwrapped.bare, place)
    _mark(schema, unwrapped, place)
    if not schema.get("description"):
        raise SchemaError(f"{place.path} has no description; say what it means with describe(...)")
    if place.defaults and not field.required:
        value = _default(field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory())
        if value is not None:
            schema["default"] = value
    if limits := _limits(schema, unwrapped.markers):
        schema["description"] = f"{schema['description']} {limits}"
    return schema


def _limits(schema: JsonObject, markers: tuple[Marker, ...]) -> str:
    """Return bounds, default and immutability as a sentence: `kubectl explain` shows the description alone."""
    lowest, highest, default = (schema.get(keyword) for keyword in ("minimum", "maximum", "default"))
    said = []
    highest = None if highest == LARGEST else highest
    if lowest is not None and highest is not None:
        said.append(f"from {lowest} to {highest}")
    elif lowest is not None:
        said.append(f"at least {lowest}")
    elif highest is not None:
        said.append(f"at most {highest}")
    if isinstance(default, str | int | float):
        said.append(f"default: {str(default).lower() if isinstance(default, bool) else default}")
    if any(isinstance(marker, Immutable) for marker in markers):
        said.append("cannot be changed later")
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}." if said else ""


def _mark(schema: JsonObject, unwrapped: _Unwrapped, place: _Place) -> None:
    """Write what the markers say into the schema; of two that say the same thing, the outer one holds."""
    rules: list[JsonObject] = []
    deprecation = ""
    for marker in unwrapped.markers:
        match marker:
            case Keyword(name, value):
                _keyword(schema, name, value, place)
            case Description(text):
                schema["description"] = text
            case Deprecation(instead):
                deprecation = f"Deprecated: {instead} "
            case Rule():
                rules.append(_rule(marker))
            case Immutable(message):
                rules.append({"rule": "self == oldSelf", "message": message})
    if deprecation:
        schema["description"] = f"{deprecation}{schema.get('description', '')}".rstrip()
    if rules:
        schema["x-kubernetes-validations"] = [*schema.get("x-kubernetes-validations", []), *rules]


def _keyword(schema: JsonObject, name: str, value: Any, place: _Place) -> None:
    kind = schema.get("type", _INT_OR_STRING)
    if kind not in _FITS[name]:
        raise SchemaError(f"{place.path} is of type {kind}, which {name} does not fit")
    if name == "x-kubernetes-list-map-keys":
        _check_map_keys(schema["items"], value, place)
        schema["x-kubernetes-list-type"] = "map"
        value = list(value)
    schema[name] = value


def _check_map_keys(items: JsonObject, keys: tuple[str, ...], place: _Place) -> None:
    for key in keys:
        known = key in items.get("properties", {})
        if not known or not (key in items.get("required", ()) or "default" in items["properties"][key]):
            raise SchemaError(f"{place.path} is merged by {key}, so its items need that field: required, or defaulted")


def _default(value: Any) -> Any:
    """Return a default as the schema has it, or None when there is nothing to write."""
    if isinstance(value, msgspec.Struct):
        fields = zip(value.__struct_encode_fields__, msgspec.structs.astuple(value), strict=True)
        value = {name: _default(content) for name, content in fields}
        value = {name: content for name, content in value.items() if content is not None}
    elif isinstance(value, dict):
        # An entry of a map stays, also one that says nothing.
        value = {key: _default(entry) if _default(entry) is not None else entry for key, entry in value.items()}
        value = {key: {} if isinstance(entry, msgspec.Struct) else entry for key, entry in value.items()}
    if isinstance(value, tuple | list):
        value = [msgspec.to_builtins(item) for item in value]
    return None if value in ("", {}, []) else value


def _rule(rule: Rule) -> JsonObject:
    stated = {"rule": rule.expression, "message": rule.message}
    if rule.field_path:
        stated["fieldPath"] = rule.field_path
    if rule.reason:
        stated["reason"] = rule.reason
    return stated


def _presence(name: str, marker: Immutable) -> JsonObject:
    """Return the rule for a field that may be absent: the field's own rule sees neither its first nor its last day."""
    escaped = cel_name(name)
    expression = f"has(self.{escaped}) == has(oldSelf.{escaped})"
    return {"rule": expression, "message": marker.message, "fieldPath": f".{name}"}


def cel_name(name: str) -> str:
    """Return how a CEL expression spells a field of that name."""
    if name in _RESERVED:
        return f"__{name}__"
    escaped = name.replace("__", "__underscores__")
    for character, word in ((".", "dot"), ("-", "dash"), ("/", "slash")):
        escaped = escaped.replace(character, f"__{word}__")
    return escaped

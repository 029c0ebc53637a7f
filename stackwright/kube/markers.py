"""What a type says about its fields beyond their Python types. Pure data.

A marker stands in `Annotated[...]` and becomes part of the definition's schema, where the server checks it:

    replicas: Annotated[int, minimum(0), maximum(32), describe("How many pods run the service.")] = 1

Markers are not msgspec constraints on purpose: what the server has stored must always decode, also when it
was written under an older or a newer schema than ours. A rule of several fields stands in a struct's
`validations: ClassVar[tuple[Rule, ...]]`; a kind's names and columns stand in its `definition`.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal

Reason = Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"]


@dataclass(frozen=True)
class Keyword:
    """A keyword of the schema and its value, as they stand in the definition."""

    name: str
    value: Any


@dataclass(frozen=True)
class Description:
    """What a field means; `kubectl explain` prints it."""

    text: str


@dataclass(frozen=True)
class Deprecation:
    """A field that is still accepted; `instead` says what to use. CRD schemas have no keyword for it."""

    instead: str


@dataclass(frozen=True)
class Rule:
    """A CEL expression that must hold. `self` is the value, `oldSelf` in it makes it a rule about changes."""

    expression: str
    message: str
    field_path: str = ""
    reason: Reason | None = None


@dataclass(frozen=True)
class Immutable:
    """A field that keeps its first value: it is not changed, not removed, and not added later."""

    message: str


Marker = Keyword | Description | Deprecation | Rule | Immutable


def describe(text: str) -> Description:
    """Say what the field means; every field has to."""
    return Description(text)


def deprecated(instead: str) -> Deprecation:
    """Mark a field as one that people should move away from."""
    return Deprecation(instead)


def rule(expression: str, *, message: str, field_path: str = "", reason: Reason | None = None) -> Rule:
    """State in CEL what must hold, and in a sentence what to do when it does not."""
    return Rule(expression, message, field_path, reason)


def immutable(message: str) -> Immutable:
    """Refuse every change of the field with this sentence, which says what to do instead."""
    return Immutable(message)


def minimum(value: int) -> Keyword:
    """Set the smallest number that is accepted."""
    return Keyword("minimum", value)


def maximum(value: int) -> Keyword:
    """Set the largest number that is accepted."""
    return Keyword("maximum", value)


# The largest number that Kubernetes itself takes in most of its fields; no bound that a person has to know.
LARGEST = 2**31 - 1
INT32 = maximum(LARGEST)


def pattern(expression: str) -> Keyword:
    """Require a string to match; the expression has to be anchored by whoever means the whole string."""
    re.compile(expression)
    return Keyword("pattern", expression)


def min_length(value: int) -> Keyword:
    """Set how many characters a string has at least."""
    return Keyword("minLength", value)


def max_length(value: int) -> Keyword:
    """Set how many characters a string has at most. CEL rules over strings need it to be affordable."""
    return Keyword("maxLength", value)


def min_items(value: int) -> Keyword:
    """Set how many items a list has at least."""
    return Keyword("minItems", value)


def max_items(value: int) -> Keyword:
    """Set how many items a list has at most. CEL rules over lists need it to be affordable."""
    return Keyword("maxItems", value)


def max_properties(value: int) -> Keyword:
    """Set how many keys a map has at most. CEL rules over maps need it to be affordable."""
    return Keyword("maxProperties", value)


def string_format(name: str) -> Keyword:
    """Name the format of a string, such as date-time."""
    return Keyword("format", name)


def list_map(*keys: str) -> Keyword:
    """Make a list of objects one that is merged by these keys, each combination of which occurs once."""
    return Keyword("x-kubernetes-list-map-keys", keys)


def keys(*allowed: str) -> Rule:
    """Allow a map these keys and no others."""
    listed = ", ".join(f"'{key}'" for key in allowed)
    return Rule(f"self.all(key, key in [{listed}])", f"must only have the keys {', '.join(allowed)}")


# A list whose items are unique and merged one by one.
list_set = Keyword("x-kubernetes-list-type", "set")
# A list that has one owner as a whole, whatever its items are.
atomic = Keyword("x-kubernetes-list-type", "atomic")
# An object with fields that the schema does not name, such as a piece of a Pod; they are kept as they are.
free_form = Keyword("x-kubernetes-preserve-unknown-fields", True)  # noqa: FBT003  a value, not a switch

# An amount as Kubernetes writes it: 500m, 2Gi, 10. Numbers come as numbers or as strings.
QUANTITY = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]{1,3}))?$"
Quantity = Annotated[int | str, pattern(QUANTITY)]
# The same without those below 0, and without 0 itself.
NOT_NEGATIVE = QUANTITY.replace(r"(\+|-)?", r"\+?", 1)
POSITIVE = NOT_NEGATIVE.replace(
    r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))", r"(0*[1-9][0-9]*(\.[0-9]*)?|0*\.[0-9]*[1-9][0-9]*)", 1
)


@dataclass(frozen=True)
class Column:
    """A column of `kubectl get`; a priority above zero shows it with `-o wide` only."""

    name: str
    path: str
    type: Literal["string", "integer", "number", "boolean", "date"] = "string"
    priority: int = 0
    description: str = ""


@dataclass(frozen=True, kw_only=True)
class Definition:
    """How a kind is called and shown, beside what its `Kind` says."""

    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    # A warning to everybody who uses the kind at this version; empty while it is current.
    deprecation: str = ""


def condition_column(name: str, condition: str, field: str, *, priority: int = 0, description: str = "") -> Column:
    """Return a column that shows one field of the condition of that type, wherever it stands in the list."""
    path = f'.status.conditions[?(@.type=="{condition}")].{field}'
    return Column(name, path, priority=priority, description=description)

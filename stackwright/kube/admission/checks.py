"""What the author of a kind writes: a pure function that fills in, and one that finds faults.

SIZES = Webhook(Widget, mutate=fill_in, validate=check)

def check(old: Widget | None, new: Widget) -> Objections:
    if new.spec.size > 10:
        return Objections(errors=(FieldError("spec.size", "must be at most 10", value=new.spec.size),))
    return Objections()
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal

import msgspec

from stackwright.kube.errors import Cause
from stackwright.kube.resource import JsonObject, Kind, R

Operation = Literal["CREATE", "UPDATE"]

# How the API server phrases each reason; causes carry the reason itself.
_WORDS = {
    "FieldValueNotFound": "Not found",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueInvalid": "Invalid value",
    "FieldValueTypeInvalid": "Invalid value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many",
}

# For these the API server does not repeat the value, because there is none or it says nothing.
_WITHOUT_VALUE = frozenset({"FieldValueRequired", "FieldValueForbidden", "FieldValueTooLong", "FieldValueTooMany"})

# A longer value is cut in the message; the reader knows the path of the field.
_LONGEST_VALUE = 200


@dataclass(frozen=True)
class FieldError:
    """One field that cannot be accepted. `field` is its exact path, such as `spec.cells[cell1].replicas`.

    Leave `value` out where it may be a secret: it stands in the answer, and in what the user's tools log. `foremost`
    are errors that clients know word for word: while there is one, others are not told.
    """

    field: str
    message: str
    reason: str = "FieldValueInvalid"
    value: Any = msgspec.UNSET
    foremost: bool = dataclasses.field(default=False, compare=False)

    @property
    def cause(self) -> Cause:
        """The error as one of Status.details.causes, in the API server's own words."""
        parts = [_WORDS.get(self.reason, "Invalid value")]
        if self.value is not msgspec.UNSET and self.reason not in _WITHOUT_VALUE:
            parts.append(_shown(self.value))
        if self.message:
            parts.append(self.message)
        return Cause(field=self.field, reason=self.reason, message=": ".join(parts))


@dataclass(frozen=True)
class Objections:
    """What a validation objects to: errors refuse the object, warnings are shown to its author."""

    errors: tuple[FieldError, ...] = ()
    warnings: tuple[str, ...] = ()

    def __add__(self, other: "Objections") -> "Objections":
        return Objections(self.errors + other.errors, self.warnings + other.warnings)


@dataclass(frozen=True)
class Webhook(Generic[R]):
    """What admission does for one kind. Both functions are pure.

    `mutate` gets the manifest as the user wrote it, before its schema was checked, and returns the one that it
    should have been; it is called on each write, so what it returns must be left alone by itself. `validate`
    gets the object as it was (None on a create) and as it will be, after its schema was checked. `hold` gets an object
    that somebody deletes, and returns why it has to stay; "" where it may go.
    """

    kind: type[R]
    mutate: Callable[[JsonObject], JsonObject] | None = None
    validate: Callable[[R | None, R], Objections] | None = None
    operations: tuple[Operation, ...] = ("CREATE", "UPDATE")
    hold: Callable[[R], str] | None = None


def refusal(kind: Kind, name: str, errors: tuple[FieldError, ...]) -> JsonObject:
    """Return the Status that refuses an object: one 422 with a cause for each field, as the API server makes it."""
    causes = [error.cause for error in errors]
    # The API server says each sentence once, and puts several into brackets.
    sentences = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    text = sentences[0] if len(sentences) == 1 else f"[{', '.join(sentences)}]"
    return {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": f'{kind} "{name}" is invalid: {text}',
        "details": {
            "group": kind.group,
            "kind": kind.name,
            "name": name,
            "causes": [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes],
        },
    }


def conflict(kind: Kind, name: str, sentence: str) -> JsonObject:
    """Return the Status that refuses a deletion."""
    return {
        "status": "Failure",
        "code": 409,
        "reason": "Conflict",
        "message": f'{kind} "{name}" cannot be deleted: {sentence}',
        "details": {"group": kind.group, "kind": kind.name, "name": name},
    }


def _shown(value: Any) -> str:
    """Return a value as it stands in a message: as JSON, cut when it is long."""
    text = msgspec.json.encode(value, enc_hook=str).decode()
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."

"""A refusal in upstream's own words: which value, for which reason, and upstream's sentence. Pure.

Most refusals are ours, and say what to do in a sentence. Where upstream refuses the same thing, people and scripts know
its words: the path, the value, the message. There a `Refusal` stands in place of the sentence. It is a text like any
other, so that conditions and `check` tell it as they tell the rest; only admission takes it apart.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from stackwright.kube.admission.checks import FieldError, Objections

# The path of a field, and what is wrong there: words, or a Refusal.
Problem = tuple[str, str]

INVALID, REQUIRED, FORBIDDEN = "FieldValueInvalid", "FieldValueRequired", "FieldValueForbidden"


class Refusal(str):
    """What upstream says of a field; as a text, with the reason and the value before it."""

    __slots__ = ("reason", "value", "words")
    words: str
    value: Any
    reason: str

    def __new__(cls, words: str, value: Any = msgspec.UNSET, reason: str = INVALID) -> "Refusal":
        """Make the text; leave `value` out where upstream prints none."""
        made = super().__new__(cls, FieldError("", words, reason, value).cause.message)
        made.words, made.value, made.reason = words, value, reason
        return made


def as_error(path: str, sentence: str) -> FieldError:
    """Return a problem as admission tells it."""
    if isinstance(sentence, Refusal):
        return FieldError(path, sentence.words, sentence.reason, sentence.value, foremost=True)
    return FieldError(path, sentence)


def as_errors(problems: Iterable[Problem]) -> Objections:
    """Return problems as admission tells them."""
    return Objections(errors=tuple(as_error(path, sentence) for path, sentence in problems))


def tell(found: Objections) -> Objections:
    """Return what is told: where upstream refuses something, nothing else is said until it is mended.

    Its answer has one cause for each of its own refusals, and a client may compare the message as a whole.
    """
    foremost = tuple(error for error in found.errors if error.foremost)
    return Objections(foremost, found.warnings) if foremost else found

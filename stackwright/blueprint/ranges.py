"""Whether the values in a resource are in the range and of the form that their types ask for. Pure.

The server has asked most of it, by the schema; it is asked again because a resource may be older than its schema. What
no schema says is asked here alone: it is found by the markers of `api.forms`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import msgspec

from stackwright.api import forms
from stackwright.api.forms import Form
from stackwright.blueprint import cron, node_ports, quantities, structs
from stackwright.kube.markers import Keyword

Problem = tuple[str, str]

_LABEL_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
# The part before the slash in the key of a label.
_LONGEST_PREFIX = 253


def problems(resource: object) -> Iterator[Problem]:
    """Yield the path of each value that is not allowed, and what to do about it."""
    spec = getattr(resource, "spec", None)
    found: dict[str, str] = {}
    for path, struct in structs.structured("spec", spec):
        found.update((f"{path}.{at}", sentence) for at, sentence in _of_requirements(struct))
    for field in structs.fields("spec", spec):
        for at, sentence in (problem for marker in field.markers for problem in _of(marker, field.value)):
            # One sentence for each value is enough.
            found.setdefault(f"{field.path}{at}", sentence)
    yield from found.items()


def _of(marker: object, value: Any) -> Iterator[Problem]:
    match marker:
        case Keyword(name, bound) if name in _KEYWORDS:
            if sentence := _KEYWORDS[name](value, bound):
                yield "", sentence
        case Form() if marker in _FORMS:
            yield from _FORMS[marker](value)
        case _:
            return


def _of_requirements(struct: msgspec.Struct) -> Iterator[Problem]:
    """Yield what is wrong with requests and limits, in a kind or in a template of the umbrella."""
    if not {"requests", "limits", "claims"} <= set(struct.__struct_fields__):
        return
    requests, limits, claims = (getattr(struct, name) for name in ("requests", "limits", "claims"))
    yield from quantities.requirement_problems(requests or {}, limits or {})
    if claims:
        yield "claims", "is not supported yet: the pods have no resourceClaims that it could name; leave it out"


# Keywords of the schema.


def _minimum(value: Any, bound: int) -> str:
    return f"must be {bound} or more, and is {value}" if isinstance(value, int) and value < bound else ""


def _maximum(value: Any, bound: int) -> str:
    return f"must be {bound} or less, and is {value}" if isinstance(value, int) and value > bound else ""


def _shortest(value: Any, bound: int) -> str:
    if not isinstance(value, str) or len(value) >= bound:
        return ""
    return "must not be empty" if bound == 1 else f"must have {bound} characters or more"


def _longest(value: Any, bound: int) -> str:
    return f"must have {bound} characters or less" if isinstance(value, str) and len(value) > bound else ""


def _matches(value: Any, expression: str) -> str:
    if not isinstance(value, str) or _compiled(expression).search(value):
        return ""
    return f"must match {expression}"


@cache
def _compiled(expression: str) -> "re.Pattern[str]":
    """Return a regular expression with the server's meaning: ASCII classes, and $ only at the end of the text."""
    ending = re.sub(r"(?<!\\)\$$", r"\\Z", expression)
    return re.compile(ending, re.ASCII)


_KEYWORDS: Mapping[str, Callable[[Any, Any], str]] = {
    "minimum": _minimum,
    "maximum": _maximum,
    "minLength": _shortest,
    "maxLength": _longest,
    "pattern": _matches,
}


# Forms.


def _schedule(value: str) -> Iterator[Problem]:
    if sentence := cron.problem(value):
        yield "", sentence


def _image(value: str) -> Iterator[Problem]:
    if not _compiled(forms.IMAGE).search(value):
        yield "", "is not an image reference; write [HOST/]PATH[:TAG][@sha256:DIGEST], the path in lower case"


def _size(value: object) -> Iterator[Problem]:
    if sentence := quantities.size_problem(value):
        yield "", sentence


def _node_port(value: int) -> Iterator[Problem]:
    if sentence := node_ports.problem(value):
        yield "", sentence


def _label_keys(labels: Mapping[str, str], what: str) -> Iterator[Problem]:
    for key in labels:
        prefix, slash, _ = key.rpartition("/")
        if not _LABEL_KEY.fullmatch(key) or (slash and len(prefix) > _LONGEST_PREFIX):
            yield (
                f"[{key}]",
                f"is not a valid key of {what}; write [DOMAIN/]NAME of letters, digits, dashes and dots, 63 at most",
            )


def _labels(value: Mapping[str, str]) -> Iterator[Problem]:
    yield from _label_keys(value, "a label")
    for key, text in value.items():
        if not _LABEL_VALUE.fullmatch(text):
            yield (
                f"[{key}]",
                "is not a valid label value; write letters, digits, dashes, dots and underscores, 63 at most",
            )


def _annotations(value: Mapping[str, str]) -> Iterator[Problem]:
    yield from _label_keys(value, "an annotation")


_FORMS: Mapping[Form, Callable[[Any], Iterator[Problem]]] = {
    Form.CRON: _schedule,
    Form.IMAGE: _image,
    Form.LABELS: _labels,
    Form.ANNOTATIONS: _annotations,
    Form.NODE_PORT: _node_port,
    Form.SIZE: _size,
}

"""Whether one value is in the range and of the form that a marker of its type asks for. Pure.

What no schema says is asked here alone: it is found by the markers of `api.forms`.
"""

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from stackwright.api import forms
from stackwright.api.forms import Form
from stackwright.blueprint import cron, node_ports, quantities
from stackwright.blueprint.refusal import Problem, Refusal
from stackwright.kube.markers import Keyword
from stackwright.kube.quantities import amount

_LABEL_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_SEARCH_DOMAIN = re.compile(r"[.]|[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?([.][a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*[.]?")
# The name of a port has a letter, and no two dashes in a row.
_PORT_NAME = re.compile(r"(?=.*[a-z])(?!.*--)[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?")
_VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
# The part before the slash in the key of a label.
_LONGEST_PREFIX = 253
_WRONG_KEY = "write [DOMAIN/]NAME of letters, digits, dashes and dots, 63 at most"


def problems(marker: object, value: Any) -> Iterator[Problem]:
    """Yield what a marker objects to in a value of the right type, by the path below the value."""
    match marker:
        case Keyword(name, bound) if name in _KEYWORDS:
            if sentence := _KEYWORDS[name](value, bound):
                yield "", sentence
        case Form() if marker in _FORMS:
            yield from _FORMS[marker](value)
        case _:
            return


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


def _fewest(value: Any, bound: int) -> str:
    if not isinstance(value, list | tuple) or len(value) >= bound:
        return ""
    return "must not be empty" if bound == 1 else f"must have {bound} entries or more"


def _most(value: Any, bound: int) -> str:
    return f"must have {bound} entries or less" if isinstance(value, list | tuple) and len(value) > bound else ""


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
    "minItems": _fewest,
    "maxItems": _most,
}


# Forms.


def _schedule(value: str) -> Iterator[Problem]:
    if sentence := cron.problem(value):
        yield "", Refusal(sentence, value)


def _image(value: str) -> Iterator[Problem]:
    if not _compiled(forms.IMAGE).search(value):
        yield "", "is not an image reference; write [HOST/]PATH[:TAG][@sha256:DIGEST], the path in lower case"


def _size(value: object) -> Iterator[Problem]:
    if sentence := quantities.size_problem(value):
        yield "", sentence


def _node_port(value: int) -> Iterator[Problem]:
    if sentence := node_ports.problem(value):
        yield "", sentence


def _is_label_key(key: str) -> bool:
    prefix, slash, _ = key.rpartition("/")
    return _LABEL_KEY.fullmatch(key) is not None and not (slash and len(prefix) > _LONGEST_PREFIX)


def _label_keys(labels: Mapping[str, str], what: str) -> Iterator[Problem]:
    for key in labels:
        if not _is_label_key(key):
            yield f"[{key}]", f"is not a valid key of {what}; {_WRONG_KEY}"


def _labels(value: Mapping[str, str]) -> Iterator[Problem]:
    yield from _label_keys(value, "a label")
    for key, text in value.items():
        yield from ((f"[{key}]", sentence) for _, sentence in _label_value(text))


def is_label_value(value: str) -> bool:
    """Return whether a text can be the value of a label."""
    return _LABEL_VALUE.fullmatch(value) is not None


def _label_value(value: str) -> Iterator[Problem]:
    if not is_label_value(value):
        yield "", "is not a valid label value; write letters, digits, dashes, dots and underscores, 63 at most"


def _annotations(value: Mapping[str, str]) -> Iterator[Problem]:
    yield from _label_keys(value, "an annotation")


def _label_key(value: str) -> Iterator[Problem]:
    if not _is_label_key(value):
        yield "", f"is not a valid key of a label; {_WRONG_KEY}"


def _optional_label_key(value: str) -> Iterator[Problem]:
    yield from _label_key(value) if value else ()


def _address(value: str) -> Iterator[Problem]:
    if not _parses(ipaddress.ip_address, value):
        yield "", "is not an IP address"


def _cluster_address(value: str) -> Iterator[Problem]:
    yield from _address(value) if value not in ("", "None") else ()


def _address_range(value: str) -> Iterator[Problem]:
    if "/" not in value or not _parses(ipaddress.ip_interface, value.strip()):
        yield "", "is not a range of IP addresses; write ADDRESS/LENGTH, such as 10.0.0.0/8"


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _target_port(value: int | str) -> Iterator[Problem]:
    if isinstance(value, int):
        if not 1 <= value <= 65535:
            yield "", f"must be from 1 to 65535, and is {value}"
    elif not _PORT_NAME.fullmatch(value):
        yield "", "is not a port; write a number, or the name of a port of the container"


def _quantity(value: object) -> Iterator[Problem]:
    number = amount(value)
    if number is None:
        yield "", "is not a quantity; write a number with a unit, such as 500m or 2Gi"
    elif number < 0:
        yield "", "must be 0 or more"


def steps_up(path: str) -> bool:
    """Return whether a path leaves a folder on its way."""
    return ".." in path.split("/")


def _relative_path(value: str) -> Iterator[Problem]:
    if value.startswith("/") or steps_up(value):
        yield "", "must be a relative path without .."


def _no_steps_up(value: str) -> Iterator[Problem]:
    if steps_up(value):
        yield "", "must be a path without .."


def _matching(
    expression: "re.Pattern[str]", sentence: str, *, empty: bool = False
) -> Callable[[str], Iterator[Problem]]:
    """Return a check of texts that a regular expression can tell."""

    def check(value: str) -> Iterator[Problem]:
        if not expression.fullmatch(value) and not (empty and not value):
            yield "", sentence

    return check


_FORMS: Mapping[Form, Callable[[Any], Iterator[Problem]]] = {
    Form.CRON: _schedule,
    Form.IMAGE: _image,
    Form.LABELS: _labels,
    Form.ANNOTATIONS: _annotations,
    Form.NODE_PORT: _node_port,
    Form.SIZE: _size,
    Form.LABEL_KEY: _label_key,
    Form.OPTIONAL_LABEL_KEY: _optional_label_key,
    Form.LABEL_VALUE: _label_value,
    Form.CONFIG_KEY: _matching(_CONFIG_KEY, "is not a key; write letters, digits, dashes, dots and underscores"),
    Form.DNS_LABEL: _matching(
        _DNS_LABEL, "must be lower case letters, digits and dashes, 63 at most, not beginning with a dash", empty=True
    ),
    Form.SEARCH_DOMAIN: _matching(_SEARCH_DOMAIN, "is not a DNS domain"),
    Form.ADDRESS: _address,
    Form.CLUSTER_ADDRESS: _cluster_address,
    Form.ADDRESS_RANGE: _address_range,
    Form.TARGET_PORT: _target_port,
    Form.QUANTITY: _quantity,
    Form.RELATIVE_PATH: _relative_path,
    Form.NO_STEPS_UP: _no_steps_up,
    Form.VARIABLE: _matching(
        _VARIABLE, "is not the name of a variable; write letters, digits, dashes, dots and underscores, no digit first"
    ),
}
